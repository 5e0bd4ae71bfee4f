"""Bootstrap intervals of any statistic, drawing rows together that depend on each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.stats.drawing import check_level, check_not_too_many

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

RESAMPLES = 1000


def check_resampling(level: float, resamples: int) -> None:
    """Refuse values that no interval can have.

    Raises:
        ValueError: If ``level`` does not lie between 0 and 1, or ``resamples`` is negative.
    """
    check_level(level)
    if resamples < 0:
        raise UsageError(f"`resamples` must be at least 0, which is for no interval, got {resamples}")
    check_not_too_many(resamples)


def grouped_intervals(
    statistic: Callable[[Ints], Sequence[float]],
    groups: Sequence[object],
    *,
    read: Floats | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress = False,
) -> list[tuple[float, float]]:
    """Percentile bootstrap intervals of statistics that are no means, drawing groups of rows with replacement.

    For means `bootstrap_interval` is faster. Samples in which a statistic is undefined, such as a
    correlation of ratings that are all equal, are left out of its interval.

    Args:
        statistic: From row indices, repeated as they were drawn, to one or more numbers.
        groups: Label per row; rows of one label, such as the captions of one image, are drawn together.
        read: What the statistic reads of each row, as for `grouped_samples`.
        level: Coverage of the intervals.
        resamples: Number of samples; 0 for no interval.
        seed: Of the samples.
        progress: As in `vlgauge.core.progress.progress_bar`.

    Returns:
        Low and high end per statistic; NaN without samples, or with fewer than two groups.

    Raises:
        ValueError: If ``level`` or ``resamples`` is out of range.
    """
    check_resampling(level, resamples)
    samples = grouped_samples(statistic, groups, read=read, resamples=resamples, seed=seed, progress=progress)
    return [percentile_interval(column, level) for column in samples.T]


def grouped_samples(
    statistic: Callable[[Ints], Sequence[float]],
    groups: Sequence[object],
    *,
    read: Floats | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress = False,
) -> Floats:
    """Statistics of bootstrap samples of whole groups of rows, see `grouped_intervals`.

    Args:
        statistic: From row indices, repeated as they were drawn, to one or more numbers.
        groups: Label per row.
        read: What the statistic reads of each row, shape ``(n_rows, n_numbers)``, without NaN: the samples do not
            depend on the order of the rows then. None for rows that have an order of their own, such as those of a
            published data set.
        resamples: Number of samples.
        seed: Of the samples.
        progress: As in `vlgauge.core.progress.progress_bar`.

    Returns:
        shape ``(resamples, n_statistics)``; no samples with fewer than two groups.
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
    """Two-sided p-value of a difference being zero, from its bootstrap samples; NaN without one that is defined.

    It is the level at which a percentile interval begins to have zero in it (Efron and Tibshirani, 1993, chapter 15),
    with one sample added to either side, so that it is never 0.

    Args:
        samples: shape ``(n,)``; NaN is left out.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return math.nan
    beyond = min(np.count_nonzero(defined <= 0.0), np.count_nonzero(defined >= 0.0))
    return min(1.0, (1 + beyond) * least_bootstrap_pvalue(len(defined)))


def least_bootstrap_pvalue(resamples: int) -> float:
    """The p-value of a difference that has the same sign in so many samples, all of them defined."""
    return 2.0 / (1 + resamples)


def _rows_by_group(groups: Sequence[object], read: Floats | None) -> tuple[Ints, Ints, Ints]:
    """Row indices sorted by group, and where the rows of each group start and how many they are.

    Rows and groups stand in the order of what is read of them, else in that of the rows.
    """
    # Equal rows have equal ranks, so that groups of equal rows change places unseen.
    ranks = np.arange(len(groups)) if read is None else np.unique(read, axis=0, return_inverse=True)[1].ravel()
    members: dict[object, list[int]] = {}
    for row in np.argsort(ranks, kind="stable").tolist():
        members.setdefault(groups[row], []).append(row)
    ordered = sorted(members.values(), key=lambda rows: ranks[rows].tolist())
    counts = np.array([len(rows) for rows in ordered], dtype=np.intp)
    order = np.array([row for rows in ordered for row in rows], dtype=np.intp)
    return order, np.cumsum(counts) - counts, counts


def _places(starts: Ints, counts: Ints) -> Ints:
    """The ranges start, ..., start + count - 1, one after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


def percentile_interval(samples: Floats, level: float) -> tuple[float, float]:
    """Low and high end between which the middle share of the samples lies; NaN without a defined one.

    Args:
        samples: shape ``(n,)``; NaN is left out.
        level: That share.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
