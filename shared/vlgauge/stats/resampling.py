"""Bootstrap intervals of arbitrary statistics, with dependent rows sampled together."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.core.progress import Progress, progress_bar

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

RESAMPLES = 1000
"""Default number of bootstrap samples."""


def compute_grouped_samples(
    statistic: Callable[[Ints], Sequence[float]],
    groups: Sequence[object],
    *,
    read: Floats | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress = False,
) -> Floats:
    """Compute statistics of bootstrap samples of whole groups of rows.

    See `percentile_interval` for intervals. For means, `bootstrap_interval` is faster.

    Args:
        statistic: Function from row indices, repeated as sampled, to one or more numbers.
        groups: Label per row. Rows with the same label are sampled together.
        read: Values of each row that the statistic uses, shape ``(n_rows, n_numbers)``, without NaN. They make the
            samples independent of the order of the rows. None for rows with a fixed order, such as a published dataset.
        resamples: Number of samples.
        seed: Seed of the samples.
        progress: Progress bar setting. See `vlgauge.core.progress.progress_bar`.

    Returns:
        Statistics, shape ``(resamples, n_statistics)``. No samples for fewer than two groups.
    """
    order, starts, counts = _rows_by_group(groups, read)
    if len(counts) < 2:
        resamples = 0
    rng = np.random.default_rng(seed)
    samples = np.empty((resamples, len(statistic(np.arange(len(groups))))))
    with progress_bar(resamples, "Resampling", progress) as advance:
        for i in range(resamples):
            drawn = rng.integers(0, len(counts), len(counts))
            samples[i] = statistic(order[_places(starts[drawn], counts[drawn])])
            advance(1)
    return samples


def bootstrap_pvalue(samples: Floats) -> float:
    """Compute the two-sided p-value for a difference of zero from its bootstrap samples.

    It is the level at which a percentile interval begins to contain zero (Efron and Tibshirani, 1993, Chapter 15), with
    one sample added on each side, so that it is never 0.

    Args:
        samples: Sampled differences, shape ``(n,)``. NaN is left out.

    Returns:
        P-value in (0, 1]. NaN if no sample is defined.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return math.nan
    beyond = min(np.count_nonzero(defined <= 0.0), np.count_nonzero(defined >= 0.0))
    return min(1.0, (1 + beyond) * least_bootstrap_pvalue(len(defined)))


def least_bootstrap_pvalue(resamples: int) -> float:
    """Return the p-value of a difference that has the same sign in all samples."""
    return 2.0 / (1 + resamples)


def _rows_by_group(groups: Sequence[object], read: Floats | None) -> tuple[Ints, Ints, Ints]:
    """Sort row indices by group.

    Rows and groups are ordered by the values in `read`, or by position if `read` is None.

    Returns:
        Sorted row indices, the start of each group among them, and the number of rows of each group.
    """
    # Equal rows have equal ranks, so swapping groups of equal rows does not change the result.
    ranks = np.arange(len(groups)) if read is None else np.unique(read, axis=0, return_inverse=True)[1].ravel()
    members: dict[object, list[int]] = {}
    for row in np.argsort(ranks, kind="stable").tolist():
        members.setdefault(groups[row], []).append(row)
    ordered = sorted(members.values(), key=lambda rows: ranks[rows].tolist())
    counts = np.array([len(rows) for rows in ordered], dtype=np.intp)
    order = np.array([row for rows in ordered for row in rows], dtype=np.intp)
    return order, np.cumsum(counts) - counts, counts


def _places(starts: Ints, counts: Ints) -> Ints:
    """Return the concatenated ranges start, ..., start + count - 1."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


def percentile_interval(samples: Floats, level: float) -> tuple[float, float]:
    """Compute the interval that contains the middle share of the samples.

    Args:
        samples: Sampled statistics, shape ``(n,)``. NaN is left out.
        level: Share of the samples within the interval, in (0, 1).

    Returns:
        Lower and upper end. NaN if no sample is defined.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
