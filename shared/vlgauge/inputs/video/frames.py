"""Conversion of videos and video segments to frames, which are handled like other images."""

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from PIL import Image

from vlgauge.core.errors import UsageError, is_of_item
from vlgauge.core.lru_cache import LRUCache
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.core.validation import warn
from vlgauge.inputs.images.large_images import decode_alone_if_large
from vlgauge.inputs.images.lazy_images import LazyImage, WholeImage
from vlgauge.inputs.limits import MAX_FRAME_PIXELS
from vlgauge.inputs.video.decoder import COMPLETE, ChosenFrames, Extent, VideoSource

FrameCount: TypeAlias = int | Literal["all"] | None
"""Number of evenly spaced frames, "all", or None for `DEFAULT_FRAMES` of a file and all frames of a list."""

# Number of frames in VATEX-EVAL (Shi et al., 2022).
DEFAULT_FRAMES = 10

_MAX_THREADS = 8

Plan: TypeAlias = tuple[int, int, bool]
"""First frame, end frame (exclusive), and whether the file is truncated."""

# Frames selected from files seen before, so that a file with cached features need not be decoded again.
_PLANS: LRUCache[tuple[bytes, int | Literal["all"], float | None, float | None], Plan] = LRUCache(2**14)


# -- Which frames -----------------------------------------------------------------------------------------------------
def sample_indices(first: int, stop: int, n_frames: int | Literal["all"]) -> list[int]:
    """Return indices of evenly spaced frames from ``first`` to ``stop - 1``, inclusive, repeated if there are fewer.

    Indices are truncated to integers, not rounded, like ``np.linspace(0, n - 1, n_frames).astype(int)``.
    """
    if n_frames == "all" or stop <= first:
        return list(range(first, stop))
    return [int(index) for index in np.linspace(first, stop - 1, n_frames)]


def segment_frames(n: int, seconds: float, start: float, end: float) -> tuple[int, int]:
    """Return the first frame and the end frame (exclusive) of a segment, with at least one frame.

    The values are floor(start n / duration) and floor(end n / duration), limited to the frames of the video.

    Args:
        n: Number of frames of the video.
        seconds: Duration of the video, in seconds.
        start: Start of the segment in seconds, before the end of the video.
        end: End of the segment in seconds. Values beyond the end of the video are limited to it.
    """
    first = min(math.floor(start * n / seconds), n - 1)
    return first, max(first + 1, min(math.floor(end * n / seconds), n))


def check_n_frames(n_frames: Any) -> FrameCount:
    """Check the setting `n_frames` and return it as an int, "all" or None.

    Raises:
        ValueError: If the setting is not an integer of at least 1, "all" or None.
    """
    if n_frames is None or n_frames == "all":
        return n_frames
    if isinstance(n_frames, (int, np.integer)) and not isinstance(n_frames, bool) and n_frames >= 1:
        return int(n_frames)
    raise UsageError.about("n_frames", f"must be an integer of at least 1 or 'all', got {n_frames!r}")


# -- Frames as images -------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class FrameImage:
    """Frame of a video file, in upright RGB because frames are resized after the conversion.

    Attributes:
        chosen: Selected frames of the file, which is decoded once, up to the last of them.
        index: Index of the frame in its file, starting at 0.
    """

    convert: ClassVar[Literal["early", "late"]] = "early"

    chosen: ChosenFrames
    index: int

    @property
    def key(self) -> bytes:
        """SHA-256 digest of file, index and decoder, 32 bytes."""
        return self.chosen.source.key(self.index)

    @property
    def order(self) -> bytes:
        """Sort key that keeps the frames of a file together, in decoding order."""
        return self.chosen.source.digest + self.index.to_bytes(8, "big")

    @property
    def place(self) -> str:
        """Position of the frame, for error messages."""
        return f"{self.chosen.source.place} frame {self.index}"

    def open(self) -> Image.Image:
        """Return the frame. Opening it a second time decodes the file again.

        Raises:
            ValueError: If the frame cannot be decoded.
        """
        return self.chosen.fetch(self.index)


def video_images(
    cells: Sequence[Mapping[str, Any]],
    *,
    n_frames: FrameCount = None,
    on_error: Literal["raise", "nan"] = "raise",
    progress: Progress = None,
) -> list[list[LazyImage] | None]:
    """Return the frames of all videos of a call.

    Args:
        cells: Video cells created by `video_cell`.
        n_frames: Number of frames. None for `DEFAULT_FRAMES` of a file, and for all frames of a list.
        on_error: ``"nan"`` to return None for a video that cannot be read.
        progress: See `vlgauge.core.progress`.

    Returns:
        One list of frames per video, or None for a video that cannot be read.

    Raises:
        ValueError: If a video cannot be read, unless `on_error` is ``"nan"``.
    """
    n_frames = check_n_frames(n_frames)

    def read(row: int) -> tuple[list[LazyImage] | None, bool]:
        try:
            return _cell_frames(cells[row], n_frames, f"videos[{row}]")
        except UsageError as error:
            if on_error == "raise" or not is_of_item(error):
                raise
            return None, False

    images: list[list[LazyImage] | None] = []
    n_cut = 0
    executor = ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1))
    try:
        with progress_bar(len(cells), "Reading videos", progress) as advance:
            # Run each in a copy of this context, which contains the sandbox setting.
            threads = [executor.submit(copy_context().run, read, row) for row in range(len(cells))]
            for frames, cut_short in (thread.result() for thread in threads):
                images.append(frames)
                n_cut += cut_short
                advance(1)
    finally:
        executor.shutdown(cancel_futures=True)
    if n_cut:
        warn(
            f"{n_cut} of {len(cells)} videos ended before their stated end; their frames are sampled from the "
            "decoded part"
        )
    return images


def check_video(cell: Mapping[str, Any], place: str) -> None:
    """Decode the frames that metrics use by default, to check that they are readable.

    Raises:
        ValueError: If they are not, or there are no frames.
    """
    if not _cell_frames(cell, None, place)[0]:
        raise UsageError.about(place, "must have at least one frame, got none")


def _cell_frames(cell: Mapping[str, Any], n_frames: FrameCount, place: str) -> tuple[list[LazyImage], bool]:
    """Return the frames of one cell, and whether its file is truncated."""
    frames = cell["frames"]
    if frames is not None:
        wanted = sample_indices(0, len(frames), n_frames or "all")
        return [WholeImage(frames[i], f"{place}[{i}]", "early") for i in wanted], False
    source, n_frames = VideoSource(cell["path"], place), n_frames or DEFAULT_FRAMES
    selection = (source.digest, n_frames, cell["start"], cell["end"])
    plan = _PLANS.get(selection)
    if plan is None:
        plan = _plan_frames(source, *selection[1:])
        _PLANS.put(selection, plan)
    first, stop, cut_short = plan
    indices = sample_indices(first, stop, n_frames)
    chosen = ChosenFrames(source, sorted(set(indices)))
    return [FrameImage(chosen, index) for index in indices], cut_short


def _plan_frames(source: VideoSource, n_frames: int | Literal["all"], start: float | None, end: float | None) -> Plan:
    """Return the range of frames that can be decoded."""
    extent = source.extent()
    if extent.n_frames == 0:
        return 0, 0, not extent.is_complete
    first, stop = _segment(extent, start, end, source.place)
    indices = sample_indices(first, stop, n_frames)
    source.check_pixels((indices[-1] + 1) * extent.pixels)
    with decode_alone_if_large(extent.pixels, MAX_FRAME_PIXELS):
        decoded, failed = ChosenFrames(source, sorted(set(indices))).decode_all()
    if decoded > indices[-1]:
        return first, stop, not extent.is_complete
    if decoded <= first:
        raise UsageError.about(
            source.place,
            f"must have decodable frames from {first} on, of at most {MAX_FRAME_PIXELS:,} pixels, got {decoded} frames",
        )
    # Some files have packets without an image, so only a much shorter video counts as truncated.
    return first, decoded, failed or decoded < COMPLETE * extent.n_frames


def _segment(extent: Extent, start: float | None, end: float | None, place: str) -> tuple[int, int]:
    """Return the first frame and the end frame (exclusive) of a segment."""
    if start is None and end is None:
        return 0, extent.n_frames
    if not extent.seconds:
        raise UsageError.about(
            place, "must have a duration for a segment, got a file without timestamps", "cut the segment out first"
        )
    if (start or 0.0) >= extent.seconds:
        raise UsageError.about(place, f"must have `start` before its end at {extent.seconds:.3f} s, got {start}")
    return segment_frames(extent.n_frames, extent.seconds, start or 0.0, extent.seconds if end is None else end)
