"""Pictures as CLIP takes them: resized, cropped, RGB; decoded in threads, a few batches ahead of the model.

The order of the steps is that of the authors' code: RGB comes last, so a palette is resized by nearest neighbours and a
picture with alpha by its weighted colours; where the row says so, RGB comes first.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from itertools import islice
from typing import Any, TypeAlias, TypeVar

import numpy as np
from PIL import Image

from vlgauge.encoders.clip.architectures import ClipArchitecture
from vlgauge.errors import UsageError, is_of_item
from vlgauge.media.large_images import keep_large_until_done
from vlgauge.media.pictures import Picture

BATCHES_AHEAD = 2

Item = TypeVar("Item")

PictureId: TypeAlias = tuple[str, bytes]
"""When a picture turns to RGB, and its key: two pictures with one id look alike."""

_FILTERS = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}

# A picture of one column would be resized to hundreds of megabytes, of which the crop keeps a sliver.
_SLENDER = 100


def square(picture: Image.Image, row: ClipArchitecture) -> np.ndarray:
    """The square that the image tower takes, shape ``(size, size, 3)``, uint8.

    Shorter side to `size`, long side ``int(size * long / short)``, then the centre, whose offset is rounded to even.
    """
    if row.rgb_first:
        picture.info.pop("transparency", None)
        picture = picture.convert("RGB")
    width, height = picture.size
    size, kind = row.size, _FILTERS[row.interpolation]
    if row.resize == "squash":
        cut = picture.resize((size, size), kind)
    elif max(width, height) > _SLENDER * min(width, height):
        cut = picture.resize((size, size), kind, box=_centre(width, height, size))
    else:
        short = min(width, height)
        wide, high = int(size * width / short), int(size * height / short)
        left, top = int(round((wide - size) / 2.0)), int(round((high - size) / 2.0))  # noqa: RUF046
        cut = picture.resize((wide, high), kind).crop((left, top, left + size, top + size))
    # Pillow would warn of its loss; a picture is scored without its alpha channel, as everywhere.
    cut.info.pop("transparency", None)
    return np.asarray(cut.convert("RGB"))


def _centre(width: int, height: int, size: int) -> tuple[float, float, float, float]:
    """Box of a very long picture that the crop would keep, in its own pixels; rounding may change a grey level."""
    short, long = sorted((width, height))
    scaled = int(size * long / short)
    start = int(round((scaled - size) / 2.0)) * long / scaled  # noqa: RUF046
    end = start + size * long / scaled
    return (start, 0.0, end, float(height)) if width > height else (0.0, start, float(width), end)


def prepared(picture: Picture, row: ClipArchitecture) -> np.ndarray:
    """Open a picture and make its square."""
    opened = picture.open()
    try:
        return square(opened, row)
    except (ValueError, OSError) as error:
        raise UsageError.about(picture.place, f"must be a readable image, got one that fails with: {error}") from error


def distinct_pictures(
    pictures: Sequence[Picture], on_error: str
) -> tuple[list[PictureId | None], dict[PictureId, Picture]]:
    """Id of each picture, None where its file cannot be read, and one picture per id."""
    ids: list[PictureId | None] = []
    distinct: dict[PictureId, Picture] = {}
    for picture in pictures:
        try:
            name = (picture.convert, picture.key)
        except UsageError as error:
            if on_error == "raise" or not is_of_item(error):
                raise
            ids.append(None)
            continue
        distinct.setdefault(name, picture)
        ids.append(name)
    return ids, distinct


def sorted_ids(distinct: dict[PictureId, Picture], ids: Iterable[PictureId]) -> list[PictureId]:
    """Ids in an order that depends on contents only; what comes of one file stands together."""
    return sorted(ids, key=lambda name: (getattr(distinct[name], "order", name[1]), name))


def skip_rest(pictures: Sequence[Picture], needed: set[int]) -> None:
    """Tell the pictures that will not be opened, so that a shared image can be let go."""
    for picture in pictures:
        if id(picture) not in needed and hasattr(picture, "skip"):
            picture.skip()


def preprocessing(row: ClipArchitecture, convert: str) -> dict[str, Any]:
    """Everything between a decoded file and the image tower."""
    return {
        "size": row.size,
        "resize": row.resize,
        "interpolation": row.interpolation,
        "mean": row.mean,
        "std": row.std,
        "convert": "early" if row.rgb_first else convert,
        "orientation": "exif",
    }


@contextmanager
def decoded_batches(
    pictures: Sequence[Picture], row: ClipArchitecture, batch_size: int
) -> Iterator[Iterator[list[np.ndarray | UsageError]]]:
    """Squares of the pictures in batches, each a square or the error that stands for it.

    Threads work at most two batches ahead, so memory does not grow with the number of pictures. They end with the
    context, not when what an error left behind is collected as garbage: that may be while a thread starts, which would
    then wait for itself.
    """
    workers = max(1, min(8, os.cpu_count() or 1, len(pictures)))
    executor = ThreadPoolExecutor(workers, "vlgauge-decode")

    def decoded() -> Iterator[list[np.ndarray | UsageError]]:
        batches = batched(pictures, batch_size)
        waiting: deque[list[Future[np.ndarray | UsageError]]] = deque()
        while True:
            for batch in islice(batches, BATCHES_AHEAD + 1 - len(waiting)):
                waiting.append(
                    [executor.submit(copy_context().run, _prepared_or_error, picture, row) for picture in batch]
                )
            if not waiting:
                return
            yield [future.result() for future in waiting.popleft()]

    try:
        yield decoded()
    finally:
        executor.shutdown(cancel_futures=True)


def stacked_squares(opened: Sequence[np.ndarray | UsageError]) -> np.ndarray:
    """Return a batch of squares as one array, shape ``(n, size, size, 3)``; raise the first error among them."""
    for square in opened:
        if isinstance(square, UsageError):
            raise square
    return np.stack([np.asarray(square) for square in opened])


def batched(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in pieces of one size; the last may be shorter."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _prepared_or_error(picture: Picture, row: ClipArchitecture) -> np.ndarray | UsageError:
    try:
        with keep_large_until_done():
            return prepared(picture, row)
    except UsageError as error:
        if not is_of_item(error):
            raise
        return error
