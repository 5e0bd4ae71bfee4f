"""Things to look at, each with a key of what is seen: images, and crops of images that are decoded once."""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from vlgauge.errors import UsageError
from vlgauge.media.images import image_head, open_image
from vlgauge.weights.files import sha256_of

# What resizes pictures for every encoder, for signatures: other libraries give other pixels.
PREPROCESSING = "pillow"

Box = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels; right and bottom are outside."""


class Picture(Protocol):
    """One thing to look at: an image, a crop, a frame of a video.

    A picture may also have ``order``, bytes by which pictures of one file stand together, and a method ``skip``, which
    is called instead of `open` when the picture is not needed.

    Attributes:
        key: SHA-256 of what is seen, 32 bytes; two pictures with one key look alike.
        place: Where the picture stands, such as ``"images[3][2]"``, for messages.
        convert: ``"early"``: to RGB before resizing; ``"late"``: resized in the stored mode, as `open` returns it.
    """

    @property
    def key(self) -> bytes: ...  # noqa: D102

    @property
    def place(self) -> str: ...  # noqa: D102

    @property
    def convert(self) -> Literal["early", "late"]: ...  # noqa: D102

    def open(self) -> Image.Image:
        """The picture, decoded.

        Raises:
            ValueError: If it cannot be read.
        """
        ...


def content_digest(cell: Mapping[str, Any], place: str) -> bytes:
    """SHA-256 of an image file as it is, 32 bytes; that of a path is remembered as long as the file stays."""
    data, path = cell.get("bytes"), cell.get("path")
    if data:
        return hashlib.sha256(data).digest()
    try:
        return bytes.fromhex(sha256_of(Path(str(path))))
    except OSError as error:
        raise UsageError.about(place, f"must be a readable image, got {path!r} (error: {error})") from error


class ImagePicture:
    """A whole image."""

    def __init__(self, cell: Mapping[str, Any], place: str, convert: Literal["early", "late"] = "late") -> None:
        self.place = place
        self.convert: Literal["early", "late"] = convert
        self._cell = cell
        self._key: bytes | None = None

    @property
    def key(self) -> bytes:
        """Digest of the file."""
        if self._key is None:
            self._key = content_digest(self._cell, self.place)
        return self._key

    def stored_mode(self) -> str | None:
        """Mode of its pixels, such as "RGB", from its header; None of a file that cannot be read."""
        try:
            return image_head(self._cell, self.place)[1]
        except ValueError:
            return None

    def open(self) -> Image.Image:
        """The decoded image, upright; see `vlgauge.media.images.open_image` for the errors."""
        return open_image(self._cell, self.place, convert=self.convert)


def distinct_images(images: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[list[ImagePicture], npt.NDArray[np.intp]]:
    """Rows of one image each as pictures, and the picture of each row, shape ``(n,)``; the same image is one picture.

    Args:
        images: One cell per row, as made by `vlgauge.media.images.image_cell`, in a list of its own.
    """
    pictures: list[ImagePicture] = []
    known: dict[str | bytes, int] = {}
    picture_of = np.empty(len(images), dtype=np.intp)
    for row in range(len(images)):
        cell = images[row][0]
        picture_of[row] = known.setdefault(cell["bytes"] or cell["path"], len(known))
        if len(known) > len(pictures):
            pictures.append(ImagePicture(cell, f"images[{row}]"))
    return pictures, picture_of


def distinct_in_rgb(
    images: Sequence[Sequence[Mapping[str, Any]]],
) -> tuple[list[ImagePicture], npt.NDArray[np.intp]]:
    """As `distinct_images`, but what has a palette, an alpha channel or CMYK turns to RGB before it is resized.

    Of colours and greys the order changes no pixel, so that these are the pictures that other metrics look at.
    """
    pictures, picture_of = distinct_images(images)
    for picture in pictures:
        if picture.stored_mode() not in ("RGB", "L", None):
            picture.convert = "early"
    return pictures, picture_of


class SharedImage:
    """An image of which several crops are looked at: decoded at the first, freed after the last.

    Args:
        cell: As made by `vlgauge.media.images.image_cell`.
        place: Where the image stands, for messages.
        n_uses: Number of crops.
    """

    def __init__(self, cell: Mapping[str, Any], place: str, n_uses: int) -> None:
        self.place = place
        self._whole = ImagePicture(cell, place, "early")
        self._left = n_uses
        self._image: Image.Image | None = None
        self._lock = threading.Lock()

    @property
    def key(self) -> bytes:
        """Digest of the file."""
        return self._whole.key

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, upright; decodes the image if nobody has yet."""
        with self._lock:
            return self._decoded().size

    def crop(self, box: Box) -> Image.Image:
        """One of the crops, as RGB."""
        with self._lock:
            try:
                return self._decoded().crop(box)
            finally:
                self._used()

    def skip(self) -> None:
        """Do without one of the crops."""
        with self._lock:
            self._used()

    def _decoded(self) -> Image.Image:
        if self._image is None:
            self._image = self._whole.open()
        return self._image

    def _used(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self._image = None


class CropPicture:
    """A rectangle of an image, seen as RGB."""

    convert: Literal["early", "late"] = "early"

    def __init__(self, whole: SharedImage, box: Sequence[int], place: str) -> None:
        self.place = place
        self.box: Box = (int(box[0]), int(box[1]), int(box[2]), int(box[3]))
        self._whole = whole

    @property
    def key(self) -> bytes:
        """Digest of the file and the box."""
        return hashlib.sha256(b"crop" + self._whole.key + repr(self.box).encode()).digest()

    @property
    def order(self) -> bytes:
        """Crops of one image stand together, so that few decoded images are held at a time."""
        return self._whole.key + self.key

    def open(self) -> Image.Image:
        """The crop."""
        left, top, right, bottom = self.box
        if left >= right or top >= bottom:
            raise UsageError.about(self.place, f"must have a box of at least one pixel, got {self.box}")
        return self._whole.crop(self.box)

    def skip(self) -> None:
        """Let the whole image go without this crop."""
        self._whole.skip()
