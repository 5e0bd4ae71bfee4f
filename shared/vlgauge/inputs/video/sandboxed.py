"""Decoding of videos in sandbox workers, which receive the file and return pixels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.files import read_bytes
from vlgauge.inputs.images.sandboxed import check_file_size
from vlgauge.inputs.limits import MAX_FRAME_PIXELS
from vlgauge.inputs.sandbox import MEGABYTE, Part, run

# Time limits. One second is enough for about 4 Mbit of a video with few changes, and for more of other videos.
_SECONDS, _BYTES_PER_SECOND, _MOST_SECONDS = 10.0, 500_000, 60.0


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
        f"vlgauge.inputs.video.sandbox_tasks:{task}",
        {"place": place, "got": path, "ending": Path(path).suffix, **settings},
        content,
        subject=f"`{place}`",
        most_bytes=most_bytes + MEGABYTE,
        memory=512 * MEGABYTE + 2 * len(content),
        seconds=min(_SECONDS + len(content) / _BYTES_PER_SECOND, _MOST_SECONDS),
    )
