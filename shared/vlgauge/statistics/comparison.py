"""How sure is a mean, and is one system better than another: bootstrap intervals and paired permutation tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Cells of an index or sign matrix that are in memory at once.
_CHUNK_CELLS = 2**21


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
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must lie between 0 and 1, got {level}")
    if resamples < 1:
        raise ValueError(f"`resamples` must be at least 1, got {resamples}")
    sums, counts = _group_sums(_finite_or_nan("scores", scores), groups)
    if len(sums) < 2:
        return None
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    step = max(1, _CHUNK_CELLS // len(sums))
    for start in range(0, resamples, step):
        drawn = rng.integers(0, len(sums), size=(min(step, resamples - start), len(sums)))
        means[start : start + len(drawn)] = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, resamples, seed)


def paired_test(a: Sequence[float], b: Sequence[float], *, resamples: int = 10_000, seed: int = 0) -> PairedTest:
    """Two-sided sign-flip permutation test of the mean difference of two systems on the same items.

    Null hypothesis: the difference of each item is as likely to have the other sign. All 2^n assignments of signs are
    enumerated if there are no more than ``resamples``; else p = (1 + hits) / (1 + resamples), never 0 (Phipson and
    Smyth, 2010).

    Args:
        a: Scores of the first system; items that are NaN in either are left out.
        b: Scores of the second system, in the same order.
        resamples: Number of random assignments.
        seed: Their seed.

    Returns:
        The test; difference and p-value are NaN if no item is defined.

    Raises:
        ValueError: If the systems have different numbers of items or are no single lists, a score is infinite, or
            ``resamples`` is below 1.
    """
    first, second = _finite_or_nan("a", a), _finite_or_nan("b", b)
    if first.shape != second.shape:
        raise ValueError(f"`a` and `b` must be two lists of equal length, got shapes {first.shape} and {second.shape}")
    if resamples < 1:
        raise ValueError(f"`resamples` must be at least 1, got {resamples}")
    differences = first - second
    defined = differences[~np.isnan(differences)]
    n, dropped = len(defined), len(differences) - len(defined)
    if not n:
        return PairedTest(math.nan, math.nan, 0, dropped, exact=True)
    exact = n < 63 and 2**n <= resamples
    hits, total = _sign_flips(defined, 2**n if exact else resamples, None if exact else np.random.default_rng(seed))
    pvalue = hits / total if exact else (hits + 1) / (total + 1)
    return PairedTest(float(defined.mean()), pvalue, n, dropped, exact)


def _sign_flips(differences: Floats, total: int, rng: np.random.Generator | None) -> tuple[int, int]:
    """How many of ``total`` assignments of signs, all of them without a generator, give at least the observed sum."""
    n, hits = len(differences), 0
    # Sums of the same numbers in another order differ in the last digits only.
    bound = abs(differences.sum()) - 1e-12 * np.abs(differences).sum()
    step = max(1, _CHUNK_CELLS // n)
    for start in range(0, total, step):
        count = min(step, total - start)
        if rng is None:
            signs = 1 - 2 * ((np.arange(start, start + count)[:, None] >> np.arange(n)) & 1)
        else:
            signs = 1 - 2 * rng.integers(0, 2, size=(count, n), dtype=np.int8)
        hits += int(np.count_nonzero(np.abs(signs @ differences) >= bound))
    return hits, total


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
    place: dict[object, int] = {}
    labels = [place.setdefault(groups[i], len(place)) for i in np.flatnonzero(defined).tolist()]
    where = np.array(labels, dtype=np.intp)
    sums: Floats = np.bincount(where, weights=values).astype(np.float64)
    return sums, np.bincount(where).astype(np.float64)
