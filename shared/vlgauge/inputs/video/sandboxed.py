"""Decoding of videos in sandbox workers, which read the file and return pixels."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
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
    (part,) = _run("extent", path, place, 0)
    return dict(part.facts)


def clip_frames(
    path: str, place: str, indices: Sequence[int], room: float
) -> Iterator[tuple[int, npt.NDArray[np.uint8] | None]]:
    """Decode some frames of a video. See `vlgauge.inputs.video.decoder.VideoSource.selected_frames`.

    The iterator must be consumed completely.

    Args:
        path: Path of the file.
        place: Position of the video in the input, for error messages.
        indices: Indices of the frames, ascending.
        room: Maximum size of the returned pixels in bytes, after which no more frames are returned.

    Raises:
        UsageError: If the video cannot be opened, or not decoded up to the last frame.
    """
    why = ""
    for part in _run("frames", path, place, int(room) + 3 * MAX_FRAME_PIXELS, indices=list(indices), room=room):
        if "index" in part.facts:
            width, height = part.facts["size"]
            yield part.facts["index"], np.frombuffer(part.body, np.uint8).reshape(height, width, 3)
        else:
            why = part.facts["why"]
            yield part.facts["decoded"] - 1, None
    if why:
        raise UsageError(why)


def _run(task: str, path: str, place: str, most_bytes: int, **settings: Any) -> Iterator[Part]:
    n_bytes = check_file_size(path, place)
    return run(
        f"vlgauge.inputs.video.sandbox_tasks:{task}",
        {"place": place, "path": path, **settings},
        subject=f"`{place}`",
        most_bytes=most_bytes + MEGABYTE,
        seconds=min(_SECONDS + n_bytes / _BYTES_PER_SECOND, _MOST_SECONDS),
    )
