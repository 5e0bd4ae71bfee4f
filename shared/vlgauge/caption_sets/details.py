"""What `return_details` adds of a pair of caption sets, so that its score can be drawn."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
N_COLUMNS = 30  # about; of the histogram of a null distribution


def principal_plane(vectors: npt.NDArray[np.floating]) -> dict[str, Any]:
    """The vectors in the plane in which they vary most.

    Args:
        vectors: shape ``(N, d)``.

    Returns:
        ``points``: coordinates, shape ``(N, 2)``; ``variance``: share of the variance along each axis, shape ``(2,)``.
        Of the two directions that an axis can have, it gets the one in which the farthest vector is on the positive
        side. Empty if a vector is not finite.
    """
    if not np.isfinite(vectors).all():
        return {}
    moved = vectors.astype(np.float64) - vectors[:1]  # so that equal vectors are exactly 0, and so is their mean
    centred = moved - moved.mean(axis=0)
    values, directions = np.linalg.eigh(centred @ centred.T)  # N is small where d is hundreds
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
    """The values of all splits in columns, with an edge at the observed one.

    Args:
        null: shape ``(P,)``, the observed value first.
        tolerance: Values this close tie.

    Returns:
        ``low`` end of the first column, ``width``, ``counts``, and the number of columns ``below`` the observed value:
        the others hold what is as large. Empty if the observed value is NaN.
    """
    if np.isnan(null[0]):
        return {}
    width = max(float(np.ptp(null)), 1e-6) / N_COLUMNS
    observed = float(null[0]) - tolerance
    # Whole columns either side; a value below the observed one by rounding stays below it.
    columns = np.floor((null - observed) / width).astype(int)
    first = min(int(columns.min()), 0)
    return {
        "low": observed + first * width,
        "width": width,
        "counts": np.bincount(columns - first),
        "below": -first,
    }
