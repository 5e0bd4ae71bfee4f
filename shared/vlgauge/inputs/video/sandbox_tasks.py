"""Tasks of sandbox workers that decode untrusted videos."""

from collections.abc import Iterator
from typing import Any

from vlgauge.inputs.video.decoder import ChangedVideoError, VideoSource


def extent(content: bytes, path: str, place: str, digest: str) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the extent of a video.

    Raises:
        UsageError: If the video cannot be read.
    """
    yield vars(VideoSource(path, place, bytes.fromhex(digest)).extent()), b""


def frames(
    content: bytes, path: str, place: str, digest: str, *, indices: list[int], room: float
) -> Iterator[tuple[dict[str, Any], bytes | memoryview]]:
    """Decode some frames and yield them, then the number of decoded frames and the error, if any.

    Raises:
        UsageError: If the video cannot be read.
    """
    source = VideoSource(path, place, bytes.fromhex(digest))
    count, why = 0, ""
    try:
        for index, pixels in source.selected_frames(set(indices), indices[-1], room):
            count = index + 1
            if pixels is not None:
                yield {"index": index, "size": (pixels.shape[1], pixels.shape[0])}, pixels.data.cast("B")
    except ChangedVideoError:
        raise
    except ValueError as error:
        why = str(error)
    yield {"decoded": count, "why": why}, b""
