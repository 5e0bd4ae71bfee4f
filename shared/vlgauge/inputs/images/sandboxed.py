"""Decoding of images in sandbox workers, which read the file and return pixels."""

import os
from ast import literal_eval
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any

from PIL import Image

from vlgauge.core.errors import UsageError
from vlgauge.core.files import current_limits, refuse
from vlgauge.inputs.images.large_images import LargeImageError, decode_alone
from vlgauge.inputs.sandbox import MEGABYTE, Part, run

_TASKS = "vlgauge.inputs.images.sandbox_tasks"
_BYTES_PER_PIXEL = 4
# Maximum size of a file in bytes. An uncompressed image of `MAX_PIXELS` has at most 200 MiB.
MOST_FILE_BYTES = 256 * MEGABYTE


def decode(cell: Mapping[str, Any], place: str, **how: Any) -> tuple[Image.Image, bool]:
    """Decode an image in a worker process. See `vlgauge.inputs.images.cells.open_image`.

    Args:
        cell: Image cell.
        place: Position of the image in the input, for error messages.
        **how: ``convert``, ``max_pixels``, and ``pixels``, without which the returned image is empty.

    Returns:
        The image, and whether its file has several frames.

    Raises:
        UsageError: If the image cannot be read or is too large.
    """
    try:
        return _decode(cell, place, may_be_large=False, **how)
    except LargeImageError:
        # Wait before the task begins, because its time is limited.
        with decode_alone():
            return _decode(cell, place, may_be_large=True, **how)


def _decode(cell: Mapping[str, Any], place: str, **how: Any) -> tuple[Image.Image, bool]:
    with closing(_run("decode", cell, place, _BYTES_PER_PIXEL * how["max_pixels"], **how)) as parts:
        facts = next(parts).facts
        image = Image.new(facts["mode"], facts["size"])
        if facts["palette"] is not None:
            image.putpalette(bytes.fromhex(facts["palette"]), facts["palette_mode"])
        if (transparency := literal_eval(facts["transparency"])) is not None:
            image.info["transparency"] = transparency
        # Paste bands to avoid a second copy of all pixels.
        for (top, n_rows), band in parts:
            image.paste(Image.frombytes(image.mode, (image.width, n_rows), band), (0, top))
    return image, facts["animated"]


def read_head(cell: Mapping[str, Any], place: str) -> tuple[tuple[int, int], str]:
    """Return width and height in pixels of an upright image, and the mode of its pixels, such as "RGB".

    Raises:
        UsageError: If the image cannot be read or is too large.
    """
    (part,) = _run("head", cell, place)
    width, height, mode = part.facts
    return (width, height), mode


def _run(task: str, cell: Mapping[str, Any], place: str, most_bytes: int = 0, **how: Any) -> Generator[Part]:
    content, path = cell.get("bytes") or b"", cell.get("path")
    if not content:
        check_file_size(str(path), place)
    settings = {"place": place, "path": path, **how}
    return run(f"{_TASKS}:{task}", settings, content, subject=f"`{place}`", most_bytes=most_bytes + MEGABYTE)


def check_file_size(path: str, place: str) -> int:
    """Check the size of a file before a worker reads it, and return it. A missing file is left to its reader.

    Raises:
        UsageError: If the file is too large for a worker, or larger than the limit of the current context.
    """
    size = os.stat(path).st_size if os.path.exists(path) else 0
    if size > (limit := current_limits().max_bytes):
        refuse(f"`{place}`", limit, "bytes", "max_bytes", path)
    if size > MOST_FILE_BYTES:
        raise UsageError.about(
            place,
            f"must be a file of at most {MOST_FILE_BYTES:,} bytes to be decoded in a worker process, "
            f"got {size:,} bytes in {path!r}",
        )
    return size
