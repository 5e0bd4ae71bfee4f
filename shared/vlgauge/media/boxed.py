"""Pictures and clips decoded in a box: files go in, pixels of an announced size come out."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from vlgauge.box import Answer, Beyond, Box, Garbled, bounds
from vlgauge.errors import UsageError
from vlgauge.files import read_bytes
from vlgauge.media.limits import MAX_FRAME_PIXELS, MAX_FRAMES

BOX = Box({name: f"vlgauge.media.box_jobs:{name}" for name in ("picture", "whole", "head", "extent", "frames")})

# Bytes that a pixel of each mode has between the two sides.
_BYTES = {"1": 1, "L": 1, "P": 1, "LA": 2, "PA": 2, "RGB": 3, "YCbCr": 3, "LAB": 3, "HSV": 3, "RGBA": 4, "CMYK": 4}
_BYTES |= {"RGBX": 4, "RGBa": 4, "La": 2}
_MOST_BYTES_PER_PIXEL = 4
# A second decodes some 4 Mbit of a clip of few changes, and more of all others; no clip takes minutes that is small.
_CLIP_SECONDS, _CLIP_BYTES_PER_SECOND, _MOST_CLIP_SECONDS = 10.0, 500_000, 120.0
_MOST_ANYWAY = 2**20


class Decoded(NamedTuple):
    """A picture, and what was seen while it was decoded."""

    image: Image.Image
    is_animated: bool


def picture(content: bytes, place: str, **how: Any) -> Decoded:
    """A decoded picture, see `vlgauge.media.images.open_image`."""
    bands = _Bands(how["max_pixels"])
    most = _MOST_BYTES_PER_PIXEL * how["max_pixels"] + _MOST_ANYWAY
    BOX.run("picture", {"place": place, **how}, content, what=f"`{place}`", most=most, take=bands.take)
    return bands.decoded()


def is_animated(content: bytes, place: str, **how: Any) -> bool:
    """Whether a picture, which is decoded, has several frames; its pixels stay where they are."""
    parts = BOX.run("whole", {"place": place, **how}, content, what=f"`{place}`", most=0)
    with _believed(place):
        return bool(parts[0].head["part"]["animated"])


def picture_head(content: bytes, place: str, shown: str) -> tuple[tuple[int, int], str]:
    """Width and height of a picture, upright, and the mode of its pixels."""
    parts = BOX.run("head", {"place": place, "shown": shown}, content, what=f"`{place}`", most=0)
    with _believed(place):
        (width, height), mode = parts[0].head["part"]["size"], parts[0].head["part"]["mode"]
        return (int(width), int(height)), str(mode)


@contextmanager
def _believed(place: str) -> Iterator[None]:
    """Say that a file cannot be read where a child answered something else than it was asked.

    Raises:
        Beyond: If it did.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise Beyond(f"`{place}` cannot be read ({error})") from None


class _Bands:
    """A picture that comes in bands, so that no copy of all of it stands beside it."""

    def __init__(self, max_pixels: int) -> None:
        self._max_pixels = max_pixels
        self._image: Image.Image | None = None
        self._is_animated = False
        self._top = 0

    def take(self, part: Answer) -> None:
        """Begin with a head, go on with bands."""
        try:
            if self._image is None:
                self._begin(part.head["part"])
            else:
                self._go_on(self._image, part)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise Garbled(f"no picture ({error})") from None

    def _begin(self, told: Mapping[str, Any]) -> None:
        (width, height), mode = told["size"], told["mode"]
        if not 0 < width * height <= self._max_pixels or min(width, height) < 1 or mode not in _BYTES:
            raise UsageError("of another size or mode")
        self._image = Image.new(mode, (int(width), int(height)))
        self._is_animated = bool(told["animated"])
        if told.get("palette") is not None:
            self._image.putpalette(bytes.fromhex(told["palette"]), told["palette_mode"])
        transparency = told.get("transparency")
        if transparency is not None:
            is_bytes = isinstance(transparency, str)
            self._image.info["transparency"] = bytes.fromhex(transparency) if is_bytes else transparency
            if isinstance(transparency, list):
                self._image.info["transparency"] = tuple(map(int, transparency))

    def _go_on(self, image: Image.Image, part: Answer) -> None:
        n_rows = int(part.head["part"]["rows"])
        band = Image.frombytes(image.mode, (image.width, n_rows), bytes(part.body))
        if n_rows < 1 or self._top + n_rows > image.height:
            raise UsageError("more rows than it has")
        image.paste(band, (0, self._top))
        self._top += n_rows

    def decoded(self) -> Decoded:
        """The whole of it."""
        if self._image is None or self._top != self._image.height:
            raise UsageError("a picture came without its rows")
        return Decoded(self._image, self._is_animated)


# -- Clips ------------------------------------------------------------------------------------------------------------
def clip_extent(path: str, place: str) -> Mapping[str, Any]:
    """What a file of a clip holds, see `vlgauge.media.video_decoder.Extent`."""
    parts = _of_clip("extent", path, place, {}, 0)
    with _believed(place):
        told = parts[0].head["part"]
        n_frames, pixels, seconds = int(told["n_frames"]), int(told["pixels"]), told["seconds"]
        if not 0 <= n_frames <= MAX_FRAMES or not 0 <= pixels <= MAX_FRAME_PIXELS:
            raise UsageError("no number of frames or pixels")
        if seconds is not None and not math.isfinite(seconds):
            raise UsageError("no duration")
        return {"n_frames": n_frames, "is_complete": bool(told["is_complete"]), "seconds": seconds, "pixels": pixels}


def clip_frames(
    path: str, place: str, indices: Sequence[int], room: int, keep: Callable[[int, npt.NDArray[np.uint8]], object]
) -> tuple[int, str]:
    """Decode chosen frames of a file, upright RGB of shape ``(height, width, 3)``.

    Args:
        path: The file.
        place: Where it stands, for messages.
        indices: Which frames, ascending.
        room: Bytes of pixels after which no more come.
        keep: Takes each.

    Returns:
        How many frames were decoded, and why not more; empty if the last one was reached.
    """
    wanted = set(indices)

    def take(part: Answer) -> None:
        told = part.head["part"]
        try:
            width, height = told["size"]
            if not 0 < width * height <= MAX_FRAME_PIXELS:
                raise UsageError("of another size")
            if told["index"] not in wanted:
                raise UsageError("of another number")
            keep(int(told["index"]), np.frombuffer(part.body, np.uint8).reshape(height, width, 3))
        except (ValueError, TypeError, KeyError) as error:
            raise Garbled(f"no frame ({error})") from None

    last: list[Mapping[str, Any]] = []
    settings = {"indices": list(indices), "room": room}
    _of_clip(
        "frames",
        path,
        place,
        settings,
        room + 3 * MAX_FRAME_PIXELS,
        lambda part: last.append(part.head["part"]) if "decoded" in part.head["part"] else take(part),
    )
    with _believed(place):
        return int(last[0]["decoded"]), str(last[0]["why"])


def _of_clip(
    job: str,
    path: str,
    place: str,
    settings: Mapping[str, Any],
    most: int,
    take: Callable[[Answer], object] | None = None,
) -> list[Answer]:
    content = read_bytes(path, f"`{place}`")
    told = {"place": place, "shown": path, "ending": Path(path).suffix, **settings}
    seconds = min(_CLIP_SECONDS + len(content) / _CLIP_BYTES_PER_SECOND, _MOST_CLIP_SECONDS)
    with bounds(added_bytes=512 * 2**20 + 2 * len(content), seconds=seconds):
        return BOX.run(job, told, content, what=f"`{place}`", most=most + _MOST_ANYWAY, take=take)
