"""Paired permutation tests of two systems, and Holm's correction for several pairs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.results import mean_of_defined
from vlgauge.stats.drawing import all_signs_fit, check_labels, check_resamples, every_sign, random_signs, unit_sums
from vlgauge.stats.scores import Floats, finite_or_nan, side_by_side
from vlgauge.stats.threads import one_blas_thread

Ints = npt.NDArray[np.intp]

# Scores this close, relative to the larger one, tie. Rounding separates equal scores by much less.
_TIE = 1e-9
_TIE_NEAR_ZERO = 1e-12

# Rounding error of sums relative to the added numbers, and its allowed maximum relative to the differences.
_ROUNDING = 1e-12
_RESOLUTION = 1e-8


@dataclass(frozen=True)
class PairedTest:
    """Two-sided test of whether the mean difference of paired scores is zero.

    Attributes:
        difference: Mean of a - b over the items that both systems define. Ties count as 0.
        pvalue: P-value, in (0, 1]. NaN if no item is defined.
        n_items: Number of items that both systems define.
        n_dropped: Number of items that at least one system does not define.
        exact: Whether every assignment of signs was enumerated.
        n_differing: Number of items, or groups of items, that differ. No p-value is below 2 / 2^n_differing.
    """

    difference: float
    pvalue: float
    n_items: int
    n_dropped: int
    exact: bool
    n_differing: int


def differences(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """Compute the difference first - second of each item, exactly 0 for ties.

    Two scores tie if they differ by at most 1e-9 of the larger one, or by at most 1e-12 of the largest score of all
    items, or of 1 if the largest score is greater than 1. Near 0 only the second bound separates rounding from a
    difference.

    Args:
        first: Scores of the first system, shape ``(n_items,)``.
        second: Scores of the second system, shape ``(n_items,)``.

    Returns:
        Differences, shape ``(n_items,)``, float64. NaN if one of the two scores is NaN.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    larger = np.maximum(np.abs(a), np.abs(b))
    near_zero = _TIE_NEAR_ZERO * min(1.0, np.max(larger, initial=0.0, where=~np.isnan(larger)))
    return np.where(np.abs(a - b) <= np.maximum(_TIE * larger, near_zero), 0.0, a - b)


def paired_test(
    a: Sequence[float],
    b: Sequence[float],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> PairedTest:
    """Compute a two-sided sign-flip permutation test of the mean difference of two systems on the same items.

    Null hypothesis: the difference of each item is equally likely to have the opposite sign. Scores tie if they differ
    by at most 1e-9 of the larger one (near 0: see `differences`). The difference of a tie counts as 0, and p is 1 if
    all items tie. If m items differ and 2^(m-1) is at most `resamples`, all 2^m assignments of signs are evaluated,
    because one half mirrors the other. Otherwise p = (1 + hits) / (1 + resamples), which is never 0 (Phipson and Smyth,
    2010). The result does not depend on the order of the items.

    Args:
        a: Scores of the first system. Items that are NaN in either system are left out.
        b: Scores of the second system, in the same order.
        resamples: Number of random assignments of signs.
        seed: Seed of the random assignments.
        groups: Label per item. The differences of items with the same label, such as the captions of one image, change
            signs together. None if every item is independent.

    Returns:
        The test. Its difference and p-value are NaN if no item is defined.

    Raises:
        ValueError: If the systems have different numbers of items or are not one-dimensional, a score is infinite or
            greater than 1e300 in absolute value, there is not one label per item, or `resamples` is below 1.
    """
    check_resamples(resamples)
    first, second = finite_or_nan("a", a), finite_or_nan("b", b)
    if first.shape != second.shape:
        raise UsageError(
            f"`a` and `b` must be two lists of the same length, got shapes {first.shape} and {second.shape}"
        )
    check_labels(len(first), groups)
    apart = differences(first, second)
    kept = np.flatnonzero(~np.isnan(apart)).tolist()
    labels = None if groups is None else [groups[i] for i in kept]
    units = _unit_differences(apart[kept, None], labels)[:, 0]
    # Units are equally likely to have the opposite sign, so the random sums depend only on the absolute values.
    sizes = np.sort(np.abs(units))[:, None] if len(units) else np.empty((0, 1))
    columns = np.hstack([sizes, np.zeros_like(sizes)])
    return _tests(apart[kept, None], units[:, None], columns, [(0, 1)], len(first) - len(kept), resamples, seed)[0]


def paired_tests(
    scores: Sequence[Sequence[float] | Floats],
    pairs: Sequence[tuple[int, int]],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> list[PairedTest]:
    """Compute `paired_test` for several pairs of systems on the items that all systems define.

    A single product of signs and scores serves all pairs, because the sum of signed differences is linear in the two
    systems. The p-value of a pair depends neither on the order of the systems nor on the other pairs. It depends on the
    order of the items, because signs are assigned by position.

    Args:
        scores: One list of scores per system. Items that are NaN in one system are left out.
        pairs: Indices of the two systems of each pair.
        resamples: Number of random assignments of signs.
        seed: Seed of the random assignments.
        groups: Label per item. The differences of items with the same label change signs together.

    Returns:
        One test per pair.

    Raises:
        ValueError: If the systems have different numbers of items or are not one-dimensional, a score is infinite or
            greater than 1e300 in absolute value, there is not one label per item, or `resamples` is below 1.
    """
    check_resamples(resamples)
    every = side_by_side([finite_or_nan("scores", own) for own in scores])
    check_labels(len(every), groups)
    kept = np.flatnonzero(~np.isnan(every).any(axis=1))
    labels = None if groups is None else [groups[i] for i in kept.tolist()]
    own = every[kept]
    apart = np.empty((len(own), len(pairs)))
    for index, (first, second) in enumerate(pairs):
        apart[:, index] = differences(own[:, first], own[:, second])
    units = _unit_differences(apart, labels)
    # Sums of numbers near 0 have the smallest rounding error. An offset of a row cancels in every difference.
    centred = own - own.min(axis=1, keepdims=True, initial=np.inf)
    columns = np.hstack([unit_sums(centred, labels)[0], np.zeros((len(units), 1))])
    found = list(pairs)
    rounding = _ROUNDING * np.abs(columns).sum(axis=0)
    linear = []
    for index, (first, second) in enumerate(pairs):
        whole = float(np.abs(units[:, index]).sum())
        # Pairs with ties of unequal scores, or with differences far below the scores, get a column of differences.
        ties = bool(((apart[:, index] == 0.0) & (own[:, first] != own[:, second])).any())
        linear.append(not ties and rounding[first] + rounding[second] <= _RESOLUTION * whole)
    alone = [index for index, is_linear in enumerate(linear) if not is_linear]
    for place, index in enumerate(alone, columns.shape[1]):
        found[index] = (place, len(every.T))
    columns = np.hstack([columns, units[:, alone]])
    return _tests(apart, units, columns, found, len(every) - len(own), resamples, seed)


def _unit_differences(apart: Floats, groups: Sequence[object] | None) -> Floats:
    """Sum the differences of each group, exactly 0 if they cancel.

    Returns:
        Shape ``(n_units, n_pairs)``.
    """
    sums = unit_sums(apart, groups)[0]
    if groups is None:
        return sums
    return np.where(np.abs(sums) <= _ROUNDING * unit_sums(np.abs(apart), groups)[0], 0.0, sums)


def _tests(
    apart: Floats,
    units: Floats,
    columns: Floats,
    pairs: Sequence[tuple[int, int]],
    n_dropped: int,
    resamples: int,
    seed: int,
) -> list[PairedTest]:
    """Test mean differences, whose signed sums are linear in the two systems.

    Args:
        apart: Difference of each item, shape ``(n_items, n_pairs)``.
        units: Summed differences of each unit, shape ``(n_units, n_pairs)``.
        columns: Values that are summed with random signs, shape ``(n_units, n_columns)``.
        pairs: Indices of the two columns whose difference belongs to each pair.
        n_dropped: Number of items that are left out.
        resamples: Number of random assignments of signs.
        seed: Seed of the random assignments.
    """

    def all_hits(n: int, of: Ints) -> Ints:
        own = np.stack([units[units[:, index] != 0.0, index] for index in of.tolist()], axis=1)
        bounds = _bounds(own)
        return sum(np.count_nonzero(np.abs(signs @ own) >= bounds, axis=0) for signs in every_sign(n))

    def random_hits(drawn: Ints) -> Ints:
        some = [pairs[index] for index in drawn.tolist()]
        bounds = _bounds(units[:, drawn]) - _ROUNDING * np.abs(columns).sum(axis=0)[np.array(some)].sum(axis=1)
        return _count_sampled_hits(columns, some, bounds, resamples, seed)

    means = [mean_of_defined(column) for column in apart.T.tolist()]
    n_differing = np.count_nonzero(units, axis=0)
    return sign_tests(means, n_differing, (len(apart), n_dropped), resamples, all_hits, random_hits)


def sign_tests(
    values: Sequence[float],
    n_differing: Ints,
    counts: tuple[int, int],
    resamples: int,
    all_hits: Callable[[int, Ints], Ints],
    random_hits: Callable[[Ints], Ints],
) -> list[PairedTest]:
    """Build the tests of pairs, with all assignments of signs if few units differ, and with random ones otherwise.

    A hit is an assignment of signs whose difference is at least as far from 0 as the observed one.

    Args:
        values: Difference of each pair.
        n_differing: Number of units in which the systems of each pair differ, shape ``(n_pairs,)``.
        counts: Number of tested items and number of items that are left out.
        resamples: Number of random assignments of signs.
        all_hits: Function from a number of units and the indices of the pairs that differ in this number of units to
            the hits of each pair among `every_sign`.
        random_hits: Function from indices of pairs to the hits of each pair among `random_signs`.

    Returns:
        One test per pair. P-values are NaN if no item is tested.
    """
    exact = np.array([all_signs_fit(n, resamples) for n in n_differing.tolist()], dtype=np.bool_)
    pvalues = np.full(len(exact), 1.0 if counts[0] else math.nan)
    with one_blas_thread():
        for n in np.unique(n_differing[exact & (n_differing > 0)]).tolist():
            of = np.flatnonzero(exact & (n_differing == n))
            pvalues[of] = all_hits(n, of) / 2 ** (n - 1)
        if (drawn := np.flatnonzero(~exact)).size:
            pvalues[drawn] = (1 + random_hits(drawn)) / (1 + resamples)
    return [
        PairedTest(*parts[:2], *counts, *parts[2:])
        for parts in zip(values, pvalues.tolist(), exact.tolist(), n_differing.tolist(), strict=True)
    ]


def _bounds(units: Floats) -> Floats:
    """Return the smallest sums that count as the observed one, because sums of equal numbers may differ by rounding."""
    return np.abs(units.sum(axis=0)) - _ROUNDING * np.abs(units).sum(axis=0)


def _count_sampled_hits(
    columns: Floats, pairs: Sequence[tuple[int, int]], bounds: Floats, resamples: int, seed: int
) -> Ints:
    """Count the random assignments of signs for which the difference of two columns reaches a bound.

    Returns:
        Number of hits of each pair, shape ``(n_pairs,)``.
    """
    firsts, seconds = np.array(pairs).T
    hits = np.zeros(len(pairs), dtype=np.intp)
    # Group the pairs by their first system, to subtract its sums from all others at once.
    of = [(first, np.flatnonzero(firsts == first)) for first in np.unique(firsts).tolist()]
    of_first = [(first, own, seconds[own], bounds[own, None]) for first, own in of]
    turned = np.ascontiguousarray(columns.T)
    for signs in random_signs(len(columns), resamples, seed):
        sums = turned @ signs.T  # columns x assignments
        for first, own, others, least in of_first:
            apart = sums[others]
            np.abs(np.subtract(apart, sums[first], out=apart), out=apart)
            hits[own] += np.count_nonzero(apart >= least, axis=1)
    return hits


def holm(pvalues: Sequence[float]) -> list[float]:
    """Adjust the p-values of several tests to control the familywise error rate (Holm, 1979).

    Args:
        pvalues: One p-value per test. NaN, for a test that could not be computed, stays NaN and is not counted.

    Returns:
        Adjusted p-values in the same order. Tests with an adjusted p-value of at most 0.05 are significant at 0.05.

    Raises:
        ValueError: If a p-value is below 0 or above 1.
    """
    values = np.asarray(pvalues, dtype=np.float64)
    if wrong := [value for value in values.tolist() if not (math.isnan(value) or 0.0 <= value <= 1.0)]:
        raise UsageError.about("pvalues", f"must be between 0 and 1, got {wrong[0]}")
    adjusted = np.full(len(values), np.nan)
    order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]  # NaN comes last
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return adjusted.tolist()
