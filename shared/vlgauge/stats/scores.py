"""Validation of lists of scores, and matrices of several lists for the same items."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError

Floats = npt.NDArray[np.float64]

LARGEST = 1e300
"""Maximum score, for which sums of a hundred million scores are finite."""


def side_by_side(lists: Sequence[Floats]) -> Floats:
    """Stack lists of scores of the same items as columns.

    Returns:
        Shape ``(n_items, n_lists)``.

    Raises:
        ValueError: If the lists have different lengths.
    """
    lengths = sorted({len(one) for one in lists})
    if len(lengths) > 1:
        raise UsageError(f"all lists of scores must have the same length, got {lengths[0]} and {lengths[-1]}")
    return np.stack(lists, axis=1) if lists else np.empty((0, 0))


def finite_or_nan(name: str, scores: Sequence[float] | Floats) -> Floats:
    """Return scores as an array, after checking that every score is finite or NaN.

    A mean with an infinite score, or one that overflows, has no interval and no test.

    Returns:
        Scores, shape ``(n,)``, float64.

    Raises:
        ValueError: If the scores are not one-dimensional, or a score is infinite or greater than `LARGEST` in absolute
            value.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise UsageError.about(
            name, f"must be one list of numbers, got shape {values.shape}", "pass one system at a time"
        )
    beyond = np.flatnonzero(np.abs(values) > LARGEST)
    if beyond.size:
        raise UsageError.about(
            name,
            f"must contain finite numbers of at most {LARGEST} in absolute value, or NaN for undefined items, got "
            f"{values[beyond[0]]} at position {beyond[0]}",
            "omit such items or set them to NaN",
        )
    return values
