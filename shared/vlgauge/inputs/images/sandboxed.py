"""Decoding of images and videos in sandbox workers, which receive the file and return pixels."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image

from vlgauge.core.errors import UsageError
from vlgauge.core.files import read_bytes
from vlgauge.inputs.images.large_images import decode_alone
from vlgauge.inputs.limits import MAX_FRAME_PIXELS
from vlgauge.inputs.sandbox import MEGABYTE, Part, run

Result = TypeVar("Result")

_TASKS = "vlgauge.inputs.images.sandbox_tasks"
_BYTES_PER_PIXEL = 4
# Maximum size of a file in bytes, because a worker receives the whole file within its memory. An uncompressed image of
# `MAX_PIXELS` has at most 200 MiB.
MOST_FILE_BYTES = 256 * MEGABYTE
# Time limits. One second is enough for about 4 Mbit of a video with few changes, and for more of other videos.
_SECONDS, _BYTES_PER_SECOND, _MOST_SECONDS = 10.0, 500_000, 60.0


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


# -- Videos -----------------------------------------------------------------------------------------------------------
def clip_extent(path: str, place: str) -> Mapping[str, Any]:
    """Return the fields of the extent of a video by name. See `vlgauge.inputs.video.decoder.Extent`.

    Raises:
        UsageError: If the video cannot be read.
    """
    (part,) = _of_clip("extent", path, place, {}, 0)
    return dict(part.facts)


def clip_frames(
    path: str, place: str, indices: Sequence[int], room: int, keep: Callable[[int, npt.NDArray[np.uint8]], object]
) -> tuple[int, str]:
    """Decode some frames of a video to upright RGB, shape ``(height, width, 3)``.

    Args:
        path: Path of the file.
        place: Position of the video in the input, for error messages.
        indices: Indices of the frames, ascending.
        room: Maximum size of the returned pixels in bytes, after which no more frames are returned.
        keep: Function that is called with the index and the pixels of each frame.

    Returns:
        Number of decoded frames, and the error that ended decoding. Empty if the last frame was reached.

    Raises:
        UsageError: If the video cannot be opened.
    """
    settings = {"indices": list(indices), "room": room}
    decoded, why = 0, ""
    for part in _of_clip("frames", path, place, settings, room + 3 * MAX_FRAME_PIXELS):
        if "decoded" in part.facts:
            decoded, why = part.facts["decoded"], part.facts["why"]
        else:
            width, height = part.facts["size"]
            keep(part.facts["index"], np.frombuffer(part.body, np.uint8).reshape(height, width, 3))
    return decoded, why


def _of_clip(task: str, path: str, place: str, settings: Mapping[str, Any], most_bytes: int) -> Iterator[Part]:
    check_file_size(path, place)
    content = read_bytes(path, f"`{place}`")
    return run(
        f"{_TASKS}:{task}",
        {"place": place, "got": path, "ending": Path(path).suffix, **settings},
        content,
        subject=f"`{place}`",
        most_bytes=most_bytes + MEGABYTE,
        memory=512 * MEGABYTE + 2 * len(content),
        seconds=min(_SECONDS + len(content) / _BYTES_PER_SECOND, _MOST_SECONDS),
    )
