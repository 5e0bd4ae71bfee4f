"""Videos, whole or in part, -> frames that are pictures like any other."""

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from PIL import Image

from vlgauge.errors import UsageError, is_of_item
from vlgauge.media.large_images import decode_alone_if_large
from vlgauge.media.limits import MAX_FRAME_PIXELS
from vlgauge.media.pictures import ImagePicture, Picture
from vlgauge.media.video_decoder import COMPLETE, ChosenFrames, Extent, VideoSource
from vlgauge.progress import Progress, progress_bar
from vlgauge.remembered import Remembered
from vlgauge.settings import warn

FrameCount: TypeAlias = int | Literal["all"] | None
"""How many frames: a number, evenly spread; all; None: `DEFAULT_FRAMES` of a file, all of a list."""

# As VATEX-EVAL is scored (Shi et al., CVPR 2022).
DEFAULT_FRAMES = 10

_MAX_THREADS = 8

Plan: TypeAlias = tuple[int, int, bool]
"""First frame, the one after the last, and whether the file is cut short."""

# Which frames were chosen of files seen before: a file whose features are known need not be decoded again.
_PLANS: Remembered[tuple[bytes, int | Literal["all"], float | None, float | None], Plan] = Remembered(2**14)


# -- Which frames -----------------------------------------------------------------------------------------------------
def sampled(first: int, stop: int, n_frames: int | Literal["all"]) -> list[int]:
    """Indices of frames spread evenly from ``first`` to ``stop - 1``, both included; they repeat if there are fewer.

    Cut to whole numbers, not rounded, as `np.linspace(0, n - 1, n_frames).astype(int)` does.
    """
    if n_frames == "all" or stop <= first:
        return list(range(first, stop))
    return [int(index) for index in np.linspace(first, stop - 1, n_frames)]


def segment_frames(n: int, seconds: float, start: float, end: float) -> tuple[int, int]:
    """First frame of a segment and the one after its last: floor(start n / duration), floor(end n / duration).

    Args:
        n: Number of frames of the video.
        seconds: Duration of the video.
        start: Begin of the segment in seconds, before the end of the video.
        end: End of the segment in seconds; after the end of the video stands for it.

    Returns:
        At least one frame.
    """
    first = min(math.floor(start * n / seconds), n - 1)
    return first, max(first + 1, min(math.floor(end * n / seconds), n))


def check_n_frames(n_frames: Any) -> FrameCount:
    """The setting, if it can be one."""
    if n_frames is None or n_frames == "all":
        return n_frames
    if isinstance(n_frames, (int, np.integer)) and not isinstance(n_frames, bool) and n_frames >= 1:
        return int(n_frames)
    raise UsageError(f"`n_frames` must be a whole number of at least 1 or 'all', got {n_frames!r}")


# -- Frames as pictures -----------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class FramePicture:
    """A frame of a video file; upright RGB, as all frames are resized after the conversion.

    Attributes:
        chosen: The frames of the file that are wanted; it is decoded once, up to the last of them.
        index: Number of the frame in its file, from 0.
    """

    convert: ClassVar[Literal["early", "late"]] = "early"

    chosen: ChosenFrames
    index: int

    @property
    def key(self) -> bytes:
        """Digest of file, index and way of decoding."""
        return self.chosen.source.key(self.index)

    @property
    def order(self) -> bytes:
        """Frames of one file stand together in the order of decoding."""
        return self.chosen.source.digest + self.index.to_bytes(8, "big")

    @property
    def place(self) -> str:
        """Where the frame stands, for messages."""
        return f"{self.chosen.source.place} frame {self.index}"

    def open(self) -> Image.Image:
        """The frame; the second time the file is decoded again."""
        return self.chosen.fetch(self.index)


def video_pictures(
    cells: Sequence[Mapping[str, Any]],
    *,
    n_frames: FrameCount = None,
    on_error: Literal["raise", "nan"] = "raise",
    progress: Progress = None,
) -> list[list[Picture] | None]:
    """Frames of every video of a call.

    Args:
        cells: As made by `video_cell`.
        n_frames: How many; None takes `DEFAULT_FRAMES` of a file and given frames as they are.
        on_error: ``"nan"`` gives None for a video that cannot be read.
        progress: See `vlgauge.progress`.
    """
    n_frames = check_n_frames(n_frames)

    def read(row: int) -> tuple[list[Picture] | None, bool]:
        try:
            return _cell_frames(cells[row], n_frames, f"videos[{row}]")
        except UsageError as error:
            if on_error == "raise" or not is_of_item(error):
                raise
            return None, False

    pictures: list[list[Picture] | None] = []
    n_cut = 0
    executor = ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1))
    try:
        with progress_bar(len(cells), "Reading videos", progress) as advance:
            # Each in a copy of this context, or it would not know how files are read here.
            threads = [executor.submit(copy_context().run, read, row) for row in range(len(cells))]
            for frames, cut_short in (thread.result() for thread in threads):
                pictures.append(frames)
                n_cut += cut_short
                advance(1)
    finally:
        executor.shutdown(cancel_futures=True)
    if n_cut:
        warn(f"{n_cut} of {len(cells)} videos ended before they should; frames are spread over what could be decoded")
    return pictures


def check_video(cell: Mapping[str, Any], place: str) -> None:
    """Decode what a metric usually looks at, to see that it can be."""
    if not _cell_frames(cell, None, place)[0]:
        raise UsageError(f"`{place}` must have at least one frame, got none")


def _cell_frames(cell: Mapping[str, Any], n_frames: FrameCount, place: str) -> tuple[list[Picture], bool]:
    """Pictures of one cell, and whether its file is cut short."""
    frames = cell["frames"]
    if frames is not None:
        wanted = sampled(0, len(frames), n_frames or "all")
        return [ImagePicture(frames[i], f"{place}[{i}]", "early") for i in wanted], False
    source, n_frames = VideoSource(cell["path"], place), n_frames or DEFAULT_FRAMES
    selection = (source.digest, n_frames, cell["start"], cell["end"])
    plan = _PLANS.get(selection)
    if plan is None:
        plan = _planned(source, *selection[1:])
        _PLANS.put(selection, plan)
    first, stop, cut_short = plan
    indices = sampled(first, stop, n_frames)
    chosen = ChosenFrames(source, sorted(set(indices)))
    return [FramePicture(chosen, index) for index in indices], cut_short


def _planned(source: VideoSource, n_frames: int | Literal["all"], start: float | None, end: float | None) -> Plan:
    """Where the frames lie that do decode."""
    extent = source.extent()
    if extent.n_frames == 0:
        return 0, 0, not extent.is_complete
    first, stop = _segment(extent, start, end, source.place)
    indices = sampled(first, stop, n_frames)
    source.check_pixels((indices[-1] + 1) * extent.pixels)
    with decode_alone_if_large(extent.pixels, MAX_FRAME_PIXELS):
        decoded, failed = ChosenFrames(source, sorted(set(indices))).decode_all()
    if decoded > indices[-1]:
        return first, stop, not extent.is_complete
    if decoded <= first:
        raise UsageError(
            f"`{source.place}` must have frames from {first} on that decode, of at most {MAX_FRAME_PIXELS:,} pixels, "
            f"got {decoded} frames"
        )
    # Some files hold packets without a picture; only what is far too short is worth a warning.
    return first, decoded, failed or decoded < COMPLETE * extent.n_frames


def _segment(extent: Extent, start: float | None, end: float | None, place: str) -> tuple[int, int]:
    """First frame of a segment and the one after its last."""
    if start is None and end is None:
        return 0, extent.n_frames
    if not extent.seconds:
        raise UsageError(f"`{place}` must have a duration for a segment, got a file without time stamps; cut it first")
    if (start or 0.0) >= extent.seconds:
        raise UsageError(f"`{place}` must have `start` before its end at {extent.seconds:.3f} s, got {start}")
    return segment_frames(extent.n_frames, extent.seconds, start or 0.0, extent.seconds if end is None else end)
