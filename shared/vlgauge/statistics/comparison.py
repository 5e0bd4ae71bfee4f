"""How sure is a mean, and is one system better than another: bootstrap intervals and paired permutation tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Cells of an index or sign matrix that are in memory at once: as many as the caches hold.
_CHUNK_CELLS = 2**20


@dataclass(frozen=True)
class Interval:
    """A percentile interval of a mean.

    Attributes:
        low: Lower end.
        high: Upper end.
        level: Share of such intervals that cover the true mean, about.
        resamples: Number of bootstrap samples.
        seed: Seed of the samples.
    """

    low: float
    high: float
    level: float
    resamples: int
    seed: int


@dataclass(frozen=True)
class PairedTest:
    """A two-sided test of whether the mean difference of paired scores is zero.

    Attributes:
        difference: Mean of a - b over the items that both define.
        pvalue: In (0, 1].
        n_items: Number of those items.
        n_dropped: Number of items that one of the two leaves undefined.
        exact: Whether every assignment of signs was enumerated.
    """

    difference: float
    pvalue: float
    n_items: int
    n_dropped: int
    exact: bool


def bootstrap_interval(
    scores: Sequence[float],
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> Interval | None:
    """Percentile bootstrap interval of the mean over the defined items (Efron and Tibshirani, 1993, chapter 13).

    Of few items it is too narrow: at a level of .95 that of 2 normal scores covers the true mean
    .50 of the time, of 5 .83, of 10 .89, of 20 .93.

    Args:
        scores: One per item; NaN is left out.
        level: Coverage, in (0, 1).
        resamples: Number of bootstrap samples, at least 1.
        seed: Seed of the samples.
        groups: Label per item; items of one label, such as the captions of one image, are drawn together.

    Returns:
        The interval; None with fewer than two items, or groups of items.

    Raises:
        ValueError: If ``level`` or ``resamples`` is out of range, the scores are no single list, one is infinite, or
            there is not one label per item.
    """
    return bootstrap_intervals([scores], level=level, resamples=resamples, seed=seed, groups=groups)[0]


def bootstrap_intervals(
    columns: Sequence[Sequence[float]],
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> list[Interval | None]:
    """`bootstrap_interval` of several lists of scores; those with equally many items share the samples.

    Args:
        columns: Lists of scores of the same items.
        level: Coverage, in (0, 1).
        resamples: Number of bootstrap samples, at least 1.
        seed: Seed of the samples.
        groups: Label per item.

    Returns:
        An interval, or None, per list.

    Raises:
        ValueError: As `bootstrap_interval`.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must lie between 0 and 1, got {level}")
    _check_resamples(resamples)
    centred, units = [], []
    for column in columns:
        values = _finite_or_nan("scores", column)
        # Equal scores differ from the first one by exactly 0, and so do their means.
        centre = next(iter(values[~np.isnan(values)].tolist()), 0.0)
        centred.append(centre)
        units.append(_group_sums(values - centre, groups))
    found: list[Interval | None] = [None] * len(units)
    for rows in _of_equal_length([sums for sums, _ in units]):
        if len(units[rows[0]][0]) < 2:
            continue
        sums, counts = (np.stack([units[row][i] for row in rows], axis=1) for i in (0, 1))
        means = _bootstrap_means(sums, counts, resamples, seed)
        ends = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0).T
        for row, (low, high) in zip(rows, ends.tolist(), strict=True):
            found[row] = Interval(centred[row] + low, centred[row] + high, level, resamples, seed)
    return found


def _bootstrap_means(sums: Floats, counts: Floats, resamples: int, seed: int) -> Floats:
    """Means of bootstrap samples of units.

    Args:
        sums: Sum of each unit in each column, shape ``(n_units, n_columns)``.
        counts: Number of items of each, of the same shape.
        resamples: Number of samples.
        seed: Their seed.

    Returns:
        Shape ``(resamples, n_columns)``.
    """
    rng = np.random.default_rng(seed)
    n = len(sums)
    means = np.empty((resamples, sums.shape[1]))
    step = max(1, _CHUNK_CELLS // n)
    for start in range(0, resamples, step):
        drawn = rng.integers(0, n, size=(min(step, resamples - start), n))
        cells = drawn + n * np.arange(len(drawn))[:, None]
        # How often each sample has each unit, samples x units.
        times = np.bincount(cells.ravel(), minlength=cells.size).reshape(cells.shape).astype(np.float64)
        means[start : start + len(drawn)] = (times @ sums) / (times @ counts)
    return means


def paired_test(
    a: Sequence[float],
    b: Sequence[float],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> PairedTest:
    """Two-sided sign-flip permutation test of the mean difference of two systems on the same items.

    Null hypothesis: the difference of each item is as likely to have the other sign. All 2^n assignments of signs are
    enumerated if there are no more than ``resamples``; else p = (1 + hits) / (1 + resamples), never 0 (Phipson and
    Smyth, 2010).

    Args:
        a: Scores of the first system; items that are NaN in either are left out.
        b: Scores of the second system, in the same order.
        resamples: Number of random assignments.
        seed: Their seed.
        groups: Label per item; the differences of one label, such as those of the captions of one image, change their
            signs together.

    Returns:
        The test; difference and p-value are NaN if no item is defined.

    Raises:
        ValueError: If the systems have different numbers of items or are no single lists, a score is infinite, there
            is not one label per item, or ``resamples`` is below 1.
    """
    return paired_tests([(a, b)], resamples=resamples, seed=seed, groups=groups)[0]


def paired_tests(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> list[PairedTest]:
    """`paired_test` of several pairs of systems; those with equally many items share the signs.

    Args:
        pairs: Scores of two systems each, all on the same items.
        resamples: Number of random assignments.
        seed: Their seed.
        groups: Label per item.

    Raises:
        ValueError: As `paired_test`.
    """
    _check_resamples(resamples)
    differences = []
    for a, b in pairs:
        first, second = _finite_or_nan("a", a), _finite_or_nan("b", b)
        if first.shape != second.shape:
            raise ValueError(
                f"`a` and `b` must be two lists of equal length, got shapes {first.shape} and {second.shape}"
            )
        differences.append(first - second)
    sums = [_group_sums(difference, groups)[0] for difference in differences]
    found: list[PairedTest] = [PairedTest(math.nan, math.nan, 0, len(one), exact=True) for one in differences]
    for rows in _of_equal_length(sums):
        n = len(sums[rows[0]])
        if not n:
            continue
        exact = n < 63 and 2**n <= resamples
        total = 2**n if exact else resamples
        units = np.stack([sums[row] for row in rows], axis=1)
        hits = _sign_flips(units, total, None if exact else np.random.default_rng(seed))
        for row, count in zip(rows, hits.tolist(), strict=True):
            defined = differences[row][~np.isnan(differences[row])]
            pvalue = count / total if exact else (count + 1) / (total + 1)
            dropped = len(differences[row]) - len(defined)
            found[row] = PairedTest(float(defined.mean()), pvalue, len(defined), dropped, exact)
    return found


def _sign_flips(units: Floats, total: int, rng: np.random.Generator | None) -> npt.NDArray[np.intp]:
    """How many of ``total`` assignments of signs, all of them without a generator, give at least the observed sums.

    Args:
        units: Difference of each unit in each pair, shape ``(n_units, n_pairs)``.
        total: Number of assignments.
        rng: Draws them.

    Returns:
        Shape ``(n_pairs,)``.
    """
    n, hits = len(units), np.zeros(units.shape[1], dtype=np.intp)
    # Sums of the same numbers in another order differ in the last digits only.
    bounds = np.abs(units.sum(axis=0)) - 1e-12 * np.abs(units).sum(axis=0)
    step = max(1, _CHUNK_CELLS // n)
    for start in range(0, total, step):
        count = min(step, total - start)
        if rng is None:
            signs = 1 - 2 * ((np.arange(start, start + count)[:, None] >> np.arange(n)) & 1)
        else:
            signs = 1 - 2 * rng.integers(0, 2, size=(count, n), dtype=np.int8)
        hits += np.count_nonzero(np.abs(signs.astype(np.float64) @ units) >= bounds, axis=0)
    return hits


def holm(pvalues: Sequence[float]) -> list[float]:
    """P-values of several tests, adjusted so that all of them together err as rarely as one (Holm, 1979).

    Args:
        pvalues: One per test; one that is NaN, of a test that could not be made, stays NaN and does not count.

    Returns:
        The adjusted p-values, in the same order: those of at most .05 are significant at .05.

    Raises:
        ValueError: If one lies outside of 0 to 1.
    """
    values = np.asarray(pvalues, dtype=np.float64)
    if wrong := [value for value in values.tolist() if not (math.isnan(value) or 0.0 <= value <= 1.0)]:
        raise ValueError(f"`pvalues` must lie between 0 and 1, got {wrong[0]}")
    adjusted = np.full(len(values), np.nan)
    order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]  # NaN comes last
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return adjusted.tolist()


def _check_resamples(resamples: int) -> None:
    if resamples < 1:
        raise ValueError(f"`resamples` must be at least 1, got {resamples}")


def _of_equal_length(arrays: Sequence[Floats]) -> Iterator[list[int]]:
    """Indices of the arrays of each length."""
    lengths = [len(array) for array in arrays]
    for length in dict.fromkeys(lengths):
        yield [row for row, own in enumerate(lengths) if own == length]


def _finite_or_nan(name: str, scores: Sequence[float]) -> Floats:
    """The scores as an array; a mean with an infinite one has no interval and no test."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"`{name}` must be one list of numbers, got shape {values.shape}; pass one system at a time")
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise ValueError(
            f"`{name}` must hold finite numbers, or NaN for undefined items, got {values[infinite[0]]} at "
            f"position {infinite[0]}; leave such items out or make them NaN"
        )
    return values


def _group_sums(scores: Floats, groups: Sequence[object] | None) -> tuple[Floats, Floats]:
    """Sum and number of the defined scores of each group; every item is a group of its own without labels."""
    if groups is not None and len(groups) != len(scores):
        raise ValueError(f"`groups` must have one label per score, got {len(groups)} and {len(scores)}")
    defined = ~np.isnan(scores)
    values = scores[defined]
    if groups is None:
        return values, np.ones(len(values))
    number: dict[object, int] = {}
    labels = [number.setdefault(groups[i], len(number)) for i in np.flatnonzero(defined).tolist()]
    of_item = np.array(labels, dtype=np.intp)
    sums: Floats = np.bincount(of_item, weights=values).astype(np.float64)
    return sums, np.bincount(of_item).astype(np.float64)
