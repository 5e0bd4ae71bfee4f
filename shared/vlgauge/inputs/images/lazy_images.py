"""Lazily decoded images and image crops, each identified by a hash of its content."""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from vlgauge.core.errors import UsageError
from vlgauge.inputs.images.cells import image_head, media_digest, open_image

# Library that resizes images for all encoders, used in signatures because other libraries produce other pixels.
PREPROCESSING = "pillow"

Box = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels. Right and bottom are exclusive."""


class LazyImage(Protocol):
    """Protocol for lazily decoded images, image crops and video frames.

    An implementation may also define ``order``, a bytes sort key that keeps images of the same file together, and
    ``skip()``, which is called instead of `open` if the image is not needed.

    Attributes:
        key: SHA-256 digest of the content, 32 bytes. Images with equal keys have equal pixels.
        place: Position in the input, such as ``"images[3][2]"``, for error messages.
        convert: ``"early"`` to convert to RGB before resizing, ``"late"`` to resize in the mode that `open` returns.
    """

    @property
    def key(self) -> bytes: ...  # noqa: D102

    @property
    def place(self) -> str: ...  # noqa: D102

    @property
    def convert(self) -> Literal["early", "late"]: ...  # noqa: D102

    def open(self) -> Image.Image:
        """Return the decoded image.

        Raises:
            ValueError: If the image cannot be read.
        """
        ...


def content_digest(cell: Mapping[str, Any], place: str) -> bytes:
    """Compute the SHA-256 digest of an image file, 32 bytes, cached for a path until the file changes.

    Raises:
        ValueError: If the file cannot be read.
    """
    data, path = cell.get("bytes"), cell.get("path")
    if data:
        return hashlib.sha256(data).digest()
    try:
        return media_digest(str(path))
    except OSError as error:
        raise UsageError.about(place, f"must be a readable image, got {path!r} (error: {error})") from error


class WholeImage:
    """Whole image."""

    def __init__(self, cell: Mapping[str, Any], place: str, convert: Literal["early", "late"] = "late") -> None:
        self.place = place
        self.convert: Literal["early", "late"] = convert
        self._cell = cell

    @cached_property
    def key(self) -> bytes:
        """SHA-256 digest of the file, 32 bytes."""
        return content_digest(self._cell, self.place)

    def find_stored_mode(self) -> str | None:
        """Return the mode of the pixels, such as "RGB", from the header. None if the file cannot be read."""
        try:
            return image_head(self._cell, self.place)[1]
        except ValueError:
            return None

    def open(self) -> Image.Image:
        """Return the decoded, upright image. See `vlgauge.inputs.images.cells.open_image` for the errors.

        Raises:
            UsageError: If the image cannot be read or is too large.
        """
        return open_image(self._cell, self.place, convert=self.convert)


def unique_images(images: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[list[WholeImage], npt.NDArray[np.intp]]:
    """Deduplicate the images of rows that have one image each.

    Args:
        images: One list per row with a single cell, created by `vlgauge.inputs.images.cells.image_cell`.

    Returns:
        The distinct images, and the index of the image of each row, shape ``(n,)``.
    """
    distinct: list[WholeImage] = []
    known: dict[str | bytes, int] = {}
    index_of_row = np.empty(len(images), dtype=np.intp)
    for row in range(len(images)):
        cell = images[row][0]
        index_of_row[row] = known.setdefault(cell["bytes"] or cell["path"], len(known))
        if len(known) > len(distinct):
            distinct.append(WholeImage(cell, f"images[{row}]"))
    return distinct, index_of_row


def unique_rgb_images(
    images: Sequence[Sequence[Mapping[str, Any]]],
) -> tuple[list[WholeImage], npt.NDArray[np.intp]]:
    """Deduplicate images like `unique_images`, and convert palette, alpha and CMYK images to RGB before resizing.

    For color and gray images, the order of conversion and resizing does not affect the pixels, so other metrics use the
    same images.

    Args:
        images: One list per row with a single cell, created by `vlgauge.inputs.images.cells.image_cell`.

    Returns:
        The distinct images, and the index of the image of each row, shape ``(n,)``.
    """
    distinct, index_of_row = unique_images(images)
    for image in distinct:
        if image.find_stored_mode() not in ("RGB", "L", None):
            image.convert = "early"
    return distinct, index_of_row


class SharedImage:
    """Image shared by several crops, decoded for the first crop and released after the last one.

    Args:
        cell: Image cell created by `vlgauge.inputs.images.cells.image_cell`.
        place: Position of the image in the input, for error messages.
        n_uses: Number of crops.
    """

    def __init__(self, cell: Mapping[str, Any], place: str, n_uses: int) -> None:
        self.place = place
        self._whole = WholeImage(cell, place, "early")
        self._left = n_uses
        self._image: Image.Image | None = None
        self._lock = threading.Lock()

    @property
    def key(self) -> bytes:
        """SHA-256 digest of the file, 32 bytes."""
        return self._whole.key

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the upright image in pixels. The image is decoded if needed."""
        with self._lock:
            return self._decode().size

    def crop(self, box: Box) -> Image.Image:
        """Return one of the crops in RGB.

        Raises:
            ValueError: If the image cannot be read.
        """
        with self._lock:
            try:
                return self._decode().crop(box)
            finally:
                self._mark_used()

    def skip(self) -> None:
        """Skip one of the crops."""
        with self._lock:
            self._mark_used()

    def _decode(self) -> Image.Image:
        if self._image is None:
            self._image = self._whole.open()
        return self._image

    def _mark_used(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self._image = None


class ImageCrop:
    """Rectangle of an image, in RGB."""

    convert: Literal["early", "late"] = "early"

    def __init__(self, whole: SharedImage, box: Sequence[int], place: str) -> None:
        self.place = place
        self.box: Box = (int(box[0]), int(box[1]), int(box[2]), int(box[3]))
        self._whole = whole

    @property
    def key(self) -> bytes:
        """SHA-256 digest of the file and the box, 32 bytes."""
        return hashlib.sha256(b"crop" + self._whole.key + repr(self.box).encode()).digest()

    @property
    def order(self) -> bytes:
        """Sort key that keeps crops of an image together, so that few decoded images are in memory at a time."""
        return self._whole.key + self.key

    def open(self) -> Image.Image:
        """Return the crop.

        Raises:
            ValueError: If the box is empty or the image cannot be read.
        """
        left, top, right, bottom = self.box
        if left >= right or top >= bottom:
            raise UsageError.about(self.place, f"must have a box of at least one pixel, got {self.box}")
        return self._whole.crop(self.box)

    def skip(self) -> None:
        """Skip this crop, so that the image can be released."""
        self._whole.skip()
