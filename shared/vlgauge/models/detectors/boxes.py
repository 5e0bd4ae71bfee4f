"""Selection and rounding of boxes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from vlgauge.checkpoints.tensors import to_array
from vlgauge.core.errors import UsageError
from vlgauge.inputs.images.lazy_images import Box


def select_regions(scores: Sequence[float | None], *, top_k: int | None, min_score: float) -> list[int]:
    """Return the indices of the regions to use, best first. Without scores, they are in input order.

    Args:
        scores: Scores of the regions, either all numbers or all None.
        top_k: Maximum number of regions. None for all.
        min_score: Minimum score.
    """
    order = list(range(len(scores)))
    values = [score for score in scores if score is not None]
    if values:
        # The sort is stable: ties keep their order.
        order = sorted((i for i in order if values[i] >= min_score), key=lambda i: -values[i])
    return order[:top_k]


def pixel_box(box: Sequence[float], size: tuple[int, int]) -> Box | None:
    """Clip a box to the image and round it half to even as in Pillow, or return None if it contains no pixel.

    Args:
        box: Left, top, right, bottom.
        size: Width and height of the image.
    """
    limits = (size[0], size[1], size[0], size[1])
    left, top, right, bottom = (round(min(max(float(x), 0.0), limit)) for x, limit in zip(box, limits, strict=True))
    return (left, top, right, bottom) if left < right and top < bottom else None


def grid_boxes(size: tuple[int, int]) -> list[Box]:
    """Return the whole image and its 3 x 3 cells row by row, without empty cells."""
    width, height = size
    columns, rows = ([round(i * side / 3) for i in range(4)] for side in (width, height))
    cells = [(columns[x], rows[y], columns[x + 1], rows[y + 1]) for y in range(3) for x in range(3)]
    return [(0, 0, width, height), *(cell for cell in cells if cell[0] < cell[2] and cell[1] < cell[3])]


def check_boxes(boxes: Any, place: str) -> list[list[float]]:
    """Convert boxes to lists of four finite numbers.

    Returns:
        Boxes ``[x1, y1, x2, y2]``. [] without boxes.

    Raises:
        ValueError: If the shape is not ``(n, 4)``, or a number is not finite.
    """
    try:
        array = to_array(boxes, np.float64)
    except (TypeError, ValueError):
        array = np.full((1, 1), math.nan)
    if array.size == 0:
        return []
    if array.ndim != 2 or array.shape[1] != 4:
        raise UsageError.about(place, f"must have boxes of four numbers [x1, y1, x2, y2], got shape {array.shape}")
    if not np.isfinite(array).all():
        worst = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise UsageError.about(place, f"must have finite numbers, got {array[worst].tolist()} in box {worst}")
    return array.tolist()


def check_scores(scores: Any, count: int, place: str) -> list[float | None]:
    """Return one finite score per region, or None for each region if `scores` is None.

    Raises:
        ValueError: If the scores have another shape or are not finite.
    """
    if scores is None:
        return [None] * count
    try:
        array = to_array(scores, np.float64)
    except (TypeError, ValueError):
        array = np.full(count, math.nan)
    if array.shape != (count,):
        raise UsageError.about(place, f"must have one score per region, got shape {array.shape} for {count}")
    if not np.isfinite(array).all():
        raise UsageError.about(place, f"must have finite scores, got {array.tolist()}")
    return array.tolist()
