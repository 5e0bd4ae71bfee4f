"""Tasks of sandbox workers that decode untrusted videos."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vlgauge.inputs.video.decoder import VideoSource, upright_pixels


@contextmanager
def _clip(settings: dict[str, Any], content: bytes) -> Iterator[VideoSource]:
    """Write a video to a temporary file inside the context, because its decoder also uses the file name."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"clip{settings['ending']}")
        try:
            with open(path, "wb") as file:
                file.write(content)
        except OSError as error:
            raise OSError(f"`{settings['place']}` cannot be copied for its decoder ({error.strerror})") from None
        yield VideoSource(path, settings["place"], got=settings["got"])


def extent(settings: dict[str, Any], content: bytes) -> Iterator[tuple[dict[str, Any], bytes | memoryview]]:
    """Yield the extent of a video.

    Raises:
        UsageError: If the video cannot be read.
    """
    with _clip(settings, content) as source:
        yield vars(source.extent()), b""


def frames(settings: dict[str, Any], content: bytes) -> Iterator[tuple[dict[str, Any], bytes | memoryview]]:
    """Decode some frames and yield them, then the number of decoded frames and the error, if any.

    Raises:
        UsageError: If the video cannot be read.
    """
    wanted, room, count, why = set(settings["indices"]), settings["room"], 0, ""
    last = max(wanted, default=-1)
    with _clip(settings, content) as source:
        try:
            for index, frame in source.frames():
                count = index + 1
                if index in wanted and room > 0:
                    with source.readable():
                        pixels = upright_pixels(frame, source.place)
                    room -= pixels.nbytes
                    yield {"index": index, "size": (pixels.shape[1], pixels.shape[0])}, pixels.data.cast("B")
                if index == last:
                    break
        except ValueError as error:
            why = str(error)
    yield {"decoded": count, "why": why}, b""
