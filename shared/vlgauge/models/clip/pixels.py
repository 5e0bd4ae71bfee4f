"""CLIP image preprocessing (resizing, cropping, RGB conversion) in threads that run a few batches ahead of the model.

The steps follow the order of the authors' code. RGB conversion comes last, so palette images are resized with
nearest-neighbor interpolation and images with an alpha channel with alpha-weighted colors. Architectures with
`rgb_first` convert images to RGB first.
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

from vlgauge.core.errors import UsageError, is_of_item
from vlgauge.inputs.images.large_images import keep_large_until_done
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.models.clip.architectures import ClipArchitecture

BATCHES_AHEAD = 2

Item = TypeVar("Item")

ImageId: TypeAlias = tuple[str, bytes]
"""``convert`` and ``key`` of an image. Images with equal ids have equal pixels."""

_FILTERS = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}

# Resizing an extremely elongated image would take hundreds of megabytes, most of which the center crop discards.
_SLENDER = 100


def square(image: Image.Image, row: ClipArchitecture) -> np.ndarray:
    """Resize and crop an image to the input size of the image tower.

    The shorter side is resized to `size` and the longer side to ``int(size * long / short)``, followed by a center crop
    whose offset is rounded half to even. With ``resize="squash"`` both sides are resized to `size` instead.

    Returns:
        RGB pixels, shape ``(size, size, 3)``, uint8.
    """
    if row.rgb_first:
        image.info.pop("transparency", None)
        image = image.convert("RGB")
    width, height = image.size
    size, kind = row.size, _FILTERS[row.interpolation]
    if row.resize == "squash":
        cut = image.resize((size, size), kind)
    elif max(width, height) > _SLENDER * min(width, height):
        cut = image.resize((size, size), kind, box=_centre(width, height, size))
    else:
        short = min(width, height)
        wide, high = int(size * width / short), int(size * height / short)
        left, top = int(round((wide - size) / 2.0)), int(round((high - size) / 2.0))  # noqa: RUF046
        cut = image.resize((wide, high), kind).crop((left, top, left + size, top + size))
    # Avoid Pillow's warning about lost transparency. As everywhere, images are scored without their alpha channel.
    cut.info.pop("transparency", None)
    return np.asarray(cut.convert("RGB"))


def _centre(width: int, height: int, size: int) -> tuple[float, float, float, float]:
    """Return the box of an elongated image that the center crop would keep, in pixels of the original image.

    Rounding may change a pixel by one gray level.
    """
    short, long = sorted((width, height))
    scaled = int(size * long / short)
    start = int(round((scaled - size) / 2.0)) * long / scaled  # noqa: RUF046
    end = start + size * long / scaled
    return (start, 0.0, end, float(height)) if width > height else (0.0, start, float(width), end)


def prepare_image(image: LazyImage, row: ClipArchitecture) -> np.ndarray:
    """Open an image and preprocess it with `square`.

    Returns:
        Shape ``(size, size, 3)``, uint8.

    Raises:
        ValueError: If the image cannot be read.
    """
    opened = image.open()
    try:
        return square(opened, row)
    except (ValueError, OSError) as error:
        raise UsageError.about(image.place, f"must be a readable image, got one that fails with: {error}") from error


def distinct_images(
    images: Sequence[LazyImage], on_error: str
) -> tuple[list[ImageId | None], dict[ImageId, LazyImage]]:
    """Deduplicate images.

    Args:
        images: The images.
        on_error: ``"raise"`` to raise errors of unreadable files.

    Returns:
        Id of each image, or None if its file cannot be read, and one image per id.
    """
    ids: list[ImageId | None] = []
    distinct: dict[ImageId, LazyImage] = {}
    for image in images:
        try:
            name = (image.convert, image.key)
        except UsageError as error:
            if on_error == "raise" or not is_of_item(error):
                raise
            ids.append(None)
            continue
        distinct.setdefault(name, image)
        ids.append(name)
    return ids, distinct


def sort_ids(distinct: dict[ImageId, LazyImage], ids: Iterable[ImageId]) -> list[ImageId]:
    """Sort ids by content only, keeping images from the same file together."""
    return sorted(ids, key=lambda name: (getattr(distinct[name], "order", name[1]), name))


def skip_rest(images: Sequence[LazyImage], needed: set[int]) -> None:
    """Call ``skip()`` on the images that are not needed, so that shared images can be released."""
    for image in images:
        if id(image) not in needed and hasattr(image, "skip"):
            image.skip()


def preprocessing(row: ClipArchitecture, convert: str) -> dict[str, Any]:
    """Return all settings between a decoded file and the image tower, by name.

    Returns:
        ``size``, ``resize``, ``interpolation``, ``mean`` and ``std`` of the architecture, ``convert`` ("early" or
        "late") and ``orientation``.
    """
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
def decode_batches(
    images: Sequence[LazyImage], row: ClipArchitecture, batch_size: int
) -> Iterator[Iterator[list[np.ndarray | UsageError]]]:
    """Decode and preprocess images in batches, using a thread pool.

    Threads run at most two batches ahead, so memory use does not grow with the number of images. The pool is shut down
    on exit from the context instead of by the garbage collector, which may run while a thread starts and then deadlock.

    Yields:
        Iterator over batches of `batch_size` items, in input order. Each item is an image of shape ``(size, size, 3)``,
        uint8, or the error raised for it.
    """
    workers = max(1, min(8, os.cpu_count() or 1, len(images)))
    executor = ThreadPoolExecutor(workers, "vlgauge-decode")

    def decoded() -> Iterator[list[np.ndarray | UsageError]]:
        batches = split_batches(images, batch_size)
        waiting: deque[list[Future[np.ndarray | UsageError]]] = deque()
        while True:
            for batch in islice(batches, BATCHES_AHEAD + 1 - len(waiting)):
                waiting.append([executor.submit(copy_context().run, _prepare_or_error, image, row) for image in batch])
            if not waiting:
                return
            yield [future.result() for future in waiting.popleft()]

    try:
        yield decoded()
    finally:
        executor.shutdown(cancel_futures=True)


def stack_squares(opened: Sequence[np.ndarray | UsageError]) -> np.ndarray:
    """Return a batch of preprocessed images as one array, shape ``(n, size, size, 3)``.

    Raises:
        ValueError: The first error among the images.
    """
    for square in opened:
        if isinstance(square, UsageError):
            raise square
    return np.stack([np.asarray(square) for square in opened])


def split_batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Split items into parts of `size` items. The last one may be shorter."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _prepare_or_error(image: LazyImage, row: ClipArchitecture) -> np.ndarray | UsageError:
    try:
        with keep_large_until_done():
            return prepare_image(image, row)
    except UsageError as error:
        if not is_of_item(error):
            raise
        return error
