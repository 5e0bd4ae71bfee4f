"""Conversion of videos from all supported inputs to undecoded cells that `evaluate` can store."""

import math
import numbers
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.inputs.images.cells import as_numpy, image_cell, images_of, is_tensor, resolve_media_file

_KEYS = ("path", "start", "end", "frames")


def video_cell(video: Any, place: str, *, may_be_missing: bool = False) -> dict[str, Any]:
    """Convert a video to a cell ``{"path", "start", "end", "frames"}`` that `evaluate` can store, without decoding it.

    Args:
        video: Path of a file, mapping with ``path`` and optionally ``start`` and ``end`` of a segment in seconds,
            mapping with ``frames``, list of images, uint8 array of shape ``(n_frames, height, width, 3)`` of any
            library, or torch tensor.
        place: Position of the video in the input, such as ``"videos[3]"``, for error messages.
        may_be_missing: Whether a path may refer to a file that does not exist.

    Raises:
        ValueError: If the video, a frame or the segment is invalid, or the file is missing.
        TypeError: If the type, dtype or shape is not supported.
    """
    if isinstance(video, (str, os.PathLike)):
        video = {"path": video}
    if isinstance(video, Mapping):
        return _mapping_cell(video, place, may_be_missing)
    return _frames_cell(video, place, may_be_missing)


def _frames_cell(video: Any, place: str, may_be_missing: bool) -> dict[str, Any]:
    array = as_numpy(video)
    if (isinstance(array, np.ndarray) or is_tensor(array)) and array.ndim != 4:
        raise UsageTypeError.about(
            place,
            f"must be an array of shape (n_frames, height, width, 3), got shape {tuple(array.shape)}; "
            "a single frame is passed as a list of one image",
        )
    images = list(array) if isinstance(array, np.ndarray) else images_of(array)
    if images is None:
        raise UsageTypeError.about(
            place, f"must be a path, a mapping, or a list or array of frames, got {type(video).__name__}"
        )
    frames = [image_cell(frame, f"{place}[{i}]", may_be_missing=may_be_missing) for i, frame in enumerate(images)]
    return {"path": None, "start": None, "end": None, "frames": frames}


def _mapping_cell(video: Mapping[str, Any], place: str, may_be_missing: bool) -> dict[str, Any]:
    unknown = sorted(map(str, set(video) - set(_KEYS)))
    path, start, end, frames = map(video.get, _KEYS)
    if unknown or (path is None) == (frames is None):
        given = sorted(str(key) for key, value in video.items() if value is not None)
        raise UsageError.about(
            place, f"must have either `path`, optionally with `start` and `end`, or `frames`, got {given}"
        )
    if frames is not None:
        if start is not None or end is not None:
            raise UsageError.about(place, "must have `start` and `end` only with `path`, got them with `frames`")
        if images_of(frames) is None and not isinstance(as_numpy(frames), np.ndarray):
            raise UsageTypeError.about(place, f"must have a list or array as `frames`, got {type(frames).__name__}")
        return _frames_cell(frames, place, may_be_missing)
    if not isinstance(path, (str, os.PathLike)):
        raise UsageTypeError.about(place, f"must have a path as `path`, got {type(path).__name__}")
    file = resolve_media_file(path, place, "video", may_be_missing=may_be_missing)
    start, end = check_segment(start, end, place)
    return {"path": file, "start": start, "end": end, "frames": None}


def check_segment(start: Any, end: Any, place: str) -> tuple[float | None, float | None]:
    """Check start and end of a segment in seconds, and return them as floats. None for start or end of the video.

    Raises:
        ValueError: If 0 <= start < end does not hold.
        TypeError: If a value is not a number.
    """
    for name, value in (("start", start), ("end", end)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
            raise UsageTypeError.about(place, f"must have a number of seconds as `{name}`, got {type(value).__name__}")
    if not 0 <= (start or 0) < math.inf or not (start or 0) < (math.inf if end is None else end):
        raise UsageError.about(place, f"must have 0 <= `start` < `end` in seconds, got {start} and {end}")
    return None if start is None else float(start), None if end is None else float(end)
