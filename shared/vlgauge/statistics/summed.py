"""Intervals and tests of a statistic of counts that are added over all items first, as those of corpus BLEU are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.statistics.comparison import LARGEST, Interval, PairedTest, differences
from vlgauge.statistics.drawing import (
    all_signs_fit,
    check_labels,
    check_level,
    check_resamples,
    resampled_sums,
    signed_sums,
    unit_sums,
)

Floats = npt.NDArray[np.float64]
Statistic: TypeAlias = Callable[[Floats], Floats]
"""From sums of counts, shape ``(..., n_counts)``, to the values of the corpora, shape ``(...)``, none of them NaN."""


# Counts of contrasts that are drawn at once; more contrasts are drawn in turns, each with the same samples.
_TABLE_CELLS = 2**26


def summed_value(counts: Floats, statistic: Statistic) -> float:
    """The statistic of all items; NaN where none is defined.

    Args:
        counts: Of each item, shape ``(n_items, n_counts)``; NaN where an item is undefined.
        statistic: From their sums to the value.
    """
    rows = _defined(counts)
    return float(statistic(counts[rows].sum(axis=0))) if rows.any() else math.nan


def summed_intervals(
    counts: Sequence[Floats],
    contrasts: Sequence[tuple[int, ...]],
    statistic: Statistic,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> list[Interval | None]:
    """Percentile bootstrap intervals of a statistic and of its differences between systems (Koehn, 2004).

    Items are drawn with their counts, for a difference those of both systems. The order of the items does not matter.

    Args:
        counts: Of each system the counts of each item, shape ``(n_items, n_counts)``; NaN where it is undefined.
        contrasts: Index of a system for its value, or two for first - second over the items that both define.
        statistic: From sums of counts to the value.
        level: Coverage, in (0, 1).
        resamples: Number of bootstrap samples, at least 1.
        seed: Seed of the samples.
        groups: Label per item; items of one label, such as the captions of one image, are drawn together.

    Returns:
        An interval per contrast; None with fewer than two items, or groups of items.

    Raises:
        ValueError: If ``level`` or ``resamples`` is out of range, the systems have different items, or there is not
            one label per item.
    """
    check_level(level)
    check_resamples(resamples)
    stacked = _stacked(counts, groups)
    defined = np.array([_defined(own) for own in stacked])  # systems x items
    rows_of = [np.asarray(defined[list(contrast)].all(axis=0)) for contrast in contrasts]
    found: list[Interval | None] = [None] * len(contrasts)
    # Contrasts of the same items share the samples.
    for rows in {rows.tobytes(): rows for rows in rows_of}.values():
        chosen = [index for index, own in enumerate(rows_of) if (own == rows).all()]
        units = _units(stacked[:, rows], _chosen(groups, rows))
        if units.shape[1] < 2:
            continue
        step = max(1, _TABLE_CELLS // (2 * units[0].size))
        for start in range(0, len(chosen), step):
            some = chosen[start : start + step]
            samples = _samples(units, [contrasts[index] for index in some], statistic, resamples, seed)
            ends = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=1)
            for index, (low, high) in zip(some, ends.T.tolist(), strict=True):
                found[index] = Interval(low, high, level, resamples, seed)
    return found


def _units(counts: Floats, groups: Sequence[object] | None) -> Floats:
    """Sums of the counts of each group, shape ``(n_systems, n_units, n_counts)``.

    Args:
        counts: Shape ``(n_systems, n_items, n_counts)``; a system that an item is undefined for has NaN, which is 0
            here, as no contrast of these items reads it.
        groups: Label per item.
    """
    n_systems, n_items, n_counts = counts.shape
    sums = unit_sums(counts.transpose(1, 0, 2).reshape(n_items, n_systems * n_counts), groups)[0]
    return sums.reshape(len(sums), n_systems, n_counts).transpose(1, 0, 2)


def _samples(
    units: Floats, contrasts: Sequence[tuple[int, ...]], statistic: Statistic, resamples: int, seed: int
) -> Floats:
    """Values of a system, or differences of two, in bootstrap samples; shape ``(n_contrasts, resamples)``.

    Args:
        units: Counts of each unit, shape ``(n_systems, n_units, n_counts)``.
        contrasts: Index of one system, or of two.
        statistic: From sums of counts to the value.
        resamples: Number of samples.
        seed: Their seed.
    """
    values = statistic(units.sum(axis=1))
    # The better of two systems first, so that the interval of b - a is that of a - b, mirrored.
    ordered = [sorted(contrast, key=lambda index: -values[index]) for contrast in contrasts]
    sums = resampled_sums([np.hstack(list(units[systems])) for systems in ordered], resamples, seed)
    ends = np.cumsum([units.shape[2] * len(systems) for systems in ordered])
    samples = []
    for contrast, systems, drawn in zip(contrasts, ordered, np.hsplit(sums, ends[:-1]), strict=True):
        # resamples x systems of the contrast
        own = statistic(drawn.reshape(resamples, len(systems), units.shape[2]))
        first = own[:, systems.index(contrast[0])]
        samples.append(first - own[:, systems.index(contrast[1])] if len(contrast) > 1 else first)
    return np.stack(samples)


def summed_tests(
    counts: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    statistic: Statistic,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> list[PairedTest]:
    """Two-sided tests of the difference of a statistic by approximate randomisation (Noreen, 1989; Riezler, 2005).

    Null hypothesis: of each item the counts of the two systems might as well be swapped. All 2^n assignments are
    enumerated if there are no more than ``resamples``; else p = (1 + hits) / (1 + resamples), never 0. Two values that
    tie, see `differences`, have the difference 0.

    Args:
        counts: As for `summed_intervals`.
        pairs: Indices of two systems each.
        statistic: From sums of counts to the value.
        resamples: Number of random assignments.
        seed: Their seed.
        groups: Label per item; the items of one label are swapped together.

    Returns:
        A test per pair, over the items that both define; difference and p-value are NaN if there is none.

    Raises:
        ValueError: If ``resamples`` is below 1, the systems have different items, or there is not one label per item.
    """
    check_resamples(resamples)
    stacked = _stacked(counts, groups)
    return [_swap_test(stacked[list(pair)], statistic, resamples, seed, groups) for pair in pairs]


def _swap_test(
    both: Floats, statistic: Statistic, resamples: int, seed: int, groups: Sequence[object] | None
) -> PairedTest:
    """The test of two systems, whose counts have the shape ``(2, n_items, n_counts)``."""
    rows = np.asarray(_defined(both[0]) & _defined(both[1]))
    n_items, n_dropped = int(rows.sum()), int(len(rows) - rows.sum())
    if not n_items:
        return PairedTest(math.nan, math.nan, 0, n_dropped, True)
    first, second = both[:, rows]
    totals = np.stack([first.sum(axis=0), second.sum(axis=0)])
    one, two = statistic(totals)
    difference = float(differences(one, two))
    # Swapping an item moves its difference from one sum to the other: the sums are their mean plus or minus half of
    # the signed sum of differences.
    middle, units = totals.mean(axis=0), unit_sums(first - second, _chosen(groups, rows))[0] / 2
    exact = all_signs_fit(len(units), resamples)
    total, rng = (2 ** len(units), None) if exact else (resamples, np.random.default_rng(seed))
    # The same sums in another place of an array may differ in the last digits of their statistic.
    bound = abs(difference) - 1e-12 * (abs(one) + abs(two))
    hits = sum(
        int(np.count_nonzero(np.abs(statistic(middle + half) - statistic(middle - half)) >= bound))
        for half in signed_sums([units], total, rng)
    )
    pvalue = hits / total if exact else (hits + 1) / (total + 1)
    return PairedTest(difference, pvalue, n_items, n_dropped, exact)


def _stacked(counts: Sequence[Floats], groups: Sequence[object] | None) -> Floats:
    """The counts of all systems, shape ``(n_systems, n_items, n_counts)``."""
    arrays = [np.asarray(own, dtype=np.float64) for own in counts]
    shapes = {own.shape for own in arrays}
    if len(shapes) != 1 or any(own.ndim != 2 for own in arrays):
        told = ", ".join(map(str, sorted(shapes))) or "none"
        raise ValueError(f"`counts` must have one shape (items, counts) for every system, got {told}")
    if any((np.abs(own) > LARGEST).any() for own in arrays):
        raise ValueError(
            f"`counts` must hold finite numbers of at most {LARGEST}, or NaN for undefined items, got a larger one"
        )
    check_labels(len(arrays[0]), groups)
    return np.stack(arrays)


def _defined(counts: Floats) -> npt.NDArray[np.bool_]:
    """Whether each item is defined; one that lacks a count is not."""
    return np.asarray(~np.isnan(counts).any(axis=-1))


def _chosen(groups: Sequence[object] | None, rows: npt.NDArray[np.bool_]) -> list[object] | None:
    return None if groups is None else [groups[index] for index in np.flatnonzero(rows).tolist()]
