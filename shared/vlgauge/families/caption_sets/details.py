"""Details of pairs of caption sets that are returned with `return_details`, as the data for plots."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
N_COLUMNS = 30  # approximate number of columns of the histogram of a null distribution


def principal_plane(vectors: npt.NDArray[np.floating]) -> dict[str, Any]:
    """Project embeddings onto the plane of their first two principal components.

    Args:
        vectors: Shape ``(N, d)``.

    Returns:
        ``points``: coordinates, shape ``(N, 2)``. ``variance``: fraction of the variance along each axis, shape
            ``(2,)``. The sign of each axis is chosen so that the farthest embedding is on the positive side. Empty if
            an embedding is not finite.
    """
    if not np.isfinite(vectors).all():
        return {}
    moved = vectors.astype(np.float64) - vectors[:1]  # makes equal embeddings, and their mean, exactly 0
    centred = moved - moved.mean(axis=0)
    values, directions = np.linalg.eigh(centred @ centred.T)  # N is small and d is in the hundreds
    largest = values[:-3:-1].clip(min=0.0)
    points = np.zeros((len(vectors), 2))
    points[:, : len(largest)] = directions[:, :-3:-1] * np.sqrt(largest)
    points *= np.where(points.max(axis=0) >= -points.min(axis=0), 1.0, -1.0)
    total = float(np.sum(centred**2))
    variance = np.zeros(2)
    if total > 0.0:
        variance[: len(largest)] = largest / total
    return {"points": points, "variance": variance}


def null_histogram(null: Floats, tolerance: float) -> dict[str, Any]:
    """Compute a histogram of the values of all partitions, with an edge at the observed value.

    Args:
        null: Shape ``(P,)``, the observed value first.
        tolerance: Maximum difference of tied values.

    Returns:
        ``low`` edge of the first column, ``width``, ``counts``, and the number of columns ``below`` the observed value.
        The other columns contain values at least as large. Empty if the observed value is NaN.
    """
    if np.isnan(null[0]):
        return {}
    width = max(float(np.ptp(null)), 1e-6) / N_COLUMNS
    observed = float(null[0]) - tolerance
    # Only whole columns on both sides. A value below the observed one by rounding stays below it.
    columns = np.floor((null - observed) / width).astype(int)
    first = min(int(columns.min()), 0)
    return {
        "low": observed + first * width,
        "width": width,
        "counts": np.bincount(columns - first),
        "below": -first,
    }
