"""Decoding of images in sandbox workers, which receive the file and return pixels."""

import os
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

from PIL import Image

from vlgauge.core.errors import UsageError
from vlgauge.inputs.images.large_images import decode_alone
from vlgauge.inputs.sandbox import MEGABYTE, run

Result = TypeVar("Result")

_TASKS = "vlgauge.inputs.images.sandbox_tasks"
_BYTES_PER_PIXEL = 4
# Maximum size of a file in bytes, because a worker receives the whole file within its memory. An uncompressed image of
# `MAX_PIXELS` has at most 200 MiB.
MOST_FILE_BYTES = 256 * MEGABYTE


class Decoded(NamedTuple):
    """Decoded image, and whether its file has several frames."""

    image: Image.Image
    is_animated: bool


def picture(content: bytes, place: str, **how: Any) -> Decoded:
    """Decode an image in a worker process. See `vlgauge.inputs.images.cells.open_image`.

    Raises:
        UsageError: If the image cannot be read or is too large.
    """
    return _decode(_picture, content, place, **how)


def _decode(task: Callable[..., Result | None], content: bytes, place: str, **how: Any) -> Result:
    """Run a task that returns None for an image that is large and may not be, and repeat it alone for such an image."""
    found = task(content, place, may_be_large=False, **how)
    if found is None:
        # Wait before the task begins, because its time is limited.
        with decode_alone():
            found = task(content, place, may_be_large=True, **how)
        assert found is not None
    return found


def _picture(content: bytes, place: str, **how: Any) -> Decoded | None:
    most = _BYTES_PER_PIXEL * how["max_pixels"] + MEGABYTE
    parts = run(f"{_TASKS}:picture", {"place": place, **how}, content, subject=f"`{place}`", most_bytes=most)
    with closing(parts):
        facts = next(parts).facts
        if facts is None:
            next(parts, None)
            return None
        image = Image.new(facts["mode"], facts["size"])
        if facts["palette"] is not None:
            image.putpalette(bytes.fromhex(facts["palette"]), facts["palette_mode"])
        if (transparency := facts["transparency"]) is not None:
            read: dict[type, Any] = {str: bytes.fromhex, list: tuple, int: int}
            image.info["transparency"] = read[type(transparency)](transparency)
        # Paste bands to avoid a second copy of all pixels.
        for part in parts:
            size = (image.width, part.facts["n_rows"])
            image.paste(Image.frombytes(image.mode, size, part.body), (0, part.facts["top"]))
    return Decoded(image, facts["animated"])


def check_file_size(path: str, place: str) -> None:
    """Check the size of a file before it is read for a worker. A missing file is left to its reader.

    Raises:
        UsageError: If the file is too large.
    """
    size = os.stat(path).st_size if os.path.exists(path) else 0
    if size > MOST_FILE_BYTES:
        raise UsageError.about(
            place,
            f"must be a file of at most {MOST_FILE_BYTES:,} bytes to be decoded in a worker process, "
            f"got {size:,} bytes in {path!r}",
        )


def is_animated(content: bytes, place: str, **how: Any) -> bool:
    """Decode an image in a worker and return whether its file has several frames, without returning its pixels.

    Raises:
        UsageError: If the image cannot be read or is too large.
    """
    return _decode(_is_animated, content, place, **how)


def _is_animated(content: bytes, place: str, **how: Any) -> bool | None:
    (part,) = run(f"{_TASKS}:whole", {"place": place, **how}, content, subject=f"`{place}`")
    return None if part.facts is None else bool(part.facts["animated"])


def picture_head(content: bytes, place: str, got: str) -> tuple[tuple[int, int], str]:
    """Return width and height in pixels of an upright image, and the mode of its pixels, such as "RGB".

    Raises:
        UsageError: If the image cannot be read or is too large.
    """
    (part,) = run(f"{_TASKS}:head", {"place": place, "got": got}, content, subject=f"`{place}`")
    width, height = part.facts["size"]
    return (width, height), part.facts["mode"]
