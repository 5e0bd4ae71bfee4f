"""Intervals and tests of a statistic of counts that are added over all items first, as those of corpus BLEU are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.stats.comparison import Ints, PairedTest, differences, sign_tests
from vlgauge.stats.drawing import check_labels, check_level, check_resamples, every_sign, random_signs, unit_sums
from vlgauge.stats.intervals import Interval, effect_intervals, turn
from vlgauge.stats.scores import LARGEST, Floats

# Counts of pairs that are in memory at once, several times.
_CELLS = 2**18

Statistic: TypeAlias = Callable[[Floats], Floats]
"""From sums of counts, shape ``(..., n_counts)``, to the values of the corpora, shape ``(...)``; NaN where nothing was
counted."""


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
    of_differences: Statistic | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> list[Interval | None]:
    """Intervals of a statistic and of its differences between systems, see `vlgauge.stats.intervals`.

    The effect of an item is (n - 1) times what the statistic loses without its counts (the jackknife; Efron and
    Tibshirani, 1993, chapter 11), for a difference without those of both systems. The order of the items does not
    matter.

    Args:
        counts: Of each system the counts of each item, shape ``(n_items, n_counts)``; NaN where it is undefined.
        contrasts: Index of a system for its value, or two for first - second over the items that both define.
        statistic: From sums of counts to the value.
        of_differences: Statistic whose differences are taken; `statistic` if None.
        level: Coverage, in (0, 1).
        resamples: Number of bootstrap samples, at least 1.
        seed: Seed of the samples.
        groups: Label per item; items of one label, such as the captions of one image, are drawn together.

    Returns:
        An interval per contrast; None with fewer than two items, or groups of items, that add to it, or where the value
        without one of them is undefined.

    Raises:
        ValueError: If ``level`` or ``resamples`` is out of range, the systems have different items, or there is not
            one label per item.
    """
    check_level(level)
    check_resamples(resamples)
    stacked = _stacked(counts, groups)
    defined = np.array([_defined(own) for own in stacked])  # systems x items
    adds = (stacked != 0).any(axis=2)  # an item of zeros has no effect
    rows_of = [
        np.asarray(defined[list(contrast)].all(axis=0) & adds[list(contrast)].any(axis=0)) for contrast in contrasts
    ]
    found: list[Interval | None] = [None] * len(contrasts)
    how: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    # Contrasts of the same items share the samples.
    for rows in {rows.tobytes(): rows for rows in rows_of}.values():
        chosen = [index for index, own in enumerate(rows_of) if (own == rows).all()]
        systems = sorted({system for index in chosen for system in contrasts[index]})
        units = _units(stacked[systems][:, rows], _chosen(groups, rows))
        if units.shape[1] < 2:
            continue
        every = units.sum(axis=1, keepdims=True)
        tables = {
            size: [dict(zip(systems, of(sums), strict=True)) for sums in (every[:, 0], np.maximum(every - units, 0.0))]
            for size, of in ((1, statistic), (2, of_differences or statistic))
            if size in {len(contrasts[index]) for index in chosen}
        }
        # Value of each contrast, and its values without each unit.
        columns = {
            index: [_contrast(table, contrasts[index]) for table in tables[len(contrasts[index])]] for index in chosen
        }
        columns = {index: column for index, column in columns.items() if not np.isnan(column[1]).any()}
        if not columns:
            continue
        values = np.array([value for value, _ in columns.values()])
        effects = np.stack([_effects(without) for _, without in columns.values()], axis=1)
        signs, there = np.array([turn(column) for column in effects.T]), np.ones(effects.shape, dtype=np.bool_)
        ends = effect_intervals(values, effects * signs, there, signs, **how)
        for index, interval in zip(columns, ends, strict=True):
            found[index] = interval
    return found


def _contrast(values: Mapping[int, Any], systems: tuple[int, ...]) -> Any:
    return values[systems[0]] if len(systems) == 1 else values[systems[0]] - values[systems[1]]


def _effects(without: Floats) -> Floats:
    """Effects of the units by the values without each of them, shape ``(n_units,)``."""
    # The mean of exact differences from one of them is exactly 0 where all are equal.
    lost = without.min() - without
    mean = math.fsum(lost.tolist()) / len(lost)
    return (len(lost) - 1) * (lost - mean)


def _units(counts: Floats, groups: Sequence[object] | None) -> Floats:
    """Sums of the counts of each group, shape ``(n_systems, n_units, n_counts)``.

    Args:
        counts: Shape ``(n_systems, n_items, n_counts)``, none of them NaN.
        groups: Label per item.
    """
    n_systems, n_items, n_counts = counts.shape
    sums = unit_sums(counts.transpose(1, 0, 2).reshape(n_items, n_systems * n_counts), groups)[0]
    return sums.reshape(len(sums), n_systems, n_counts).transpose(1, 0, 2)


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

    Null hypothesis: of each item the counts of the two systems might as well be swapped. Of m items that differ all 2^m
    assignments are taken if ``resamples`` are half as many, since the other half is mirrored; else
    p = (1 + hits) / (1 + resamples), never 0. Two values that tie, see `differences`, have the difference 0. Random
    signs are those of `paired_tests`: the p-value of a pair depends neither on the order of the systems nor on other
    pairs.

    Args:
        counts: As for `summed_intervals`; an item that is undefined for one system is left out for all.
        pairs: Indices of two systems each.
        statistic: From sums of counts to the value.
        resamples: Number of random assignments.
        seed: Their seed.
        groups: Label per item; the items of one label are swapped together.

    Returns:
        A test per pair; difference and p-value are NaN if there is no item.

    Raises:
        ValueError: If ``resamples`` is below 1, the systems have different items, or there is not one label per item.
    """
    check_resamples(resamples)
    stacked = _stacked(counts, groups)
    rows = np.asarray(_defined(stacked).all(axis=0))
    totals = stacked[:, rows].sum(axis=1)
    values = statistic(totals)
    units = _units(stacked[:, rows], _chosen(groups, rows)) / 2  # systems x units x counts
    apart = [float(differences(values[first], values[second])) for first, second in pairs]
    # The same sums in another place of an array may differ in the last digits of their statistic.
    bounds = np.array(
        [
            abs(difference) - 1e-12 * float(abs(values[first]) + abs(values[second]))
            for difference, (first, second) in zip(apart, pairs, strict=True)
        ]
    )
    differing = [(units[first] != units[second]).any(axis=1) for first, second in pairs]

    def all_hits(n: int, of: Ints) -> Ints:
        hits = np.zeros(len(of), dtype=np.intp)
        for place, index in enumerate(of.tolist()):
            (first, second), own = pairs[index], differing[index]
            swapped, middle = units[first][own] - units[second][own], totals[[first, second]].mean(axis=0)
            hits[place] = sum(_hits(middle, signs @ swapped, statistic, bounds[index]) for signs in every_sign(n))
        return hits

    def random_hits(drawn: Ints) -> Ints:
        hits = np.zeros(len(drawn), dtype=np.intp)
        every = units.transpose(1, 0, 2)  # units x systems x counts
        for signs in random_signs(len(every), resamples, seed):
            sums = (signs @ every.reshape(len(every), -1)).reshape(len(signs), *every.shape[1:])
            step = max(1, _CELLS // (len(signs) * every.shape[2]))
            for start in range(0, len(drawn), step):
                some = drawn[start : start + step]
                firsts, seconds = np.array(pairs)[some].T
                middles = (totals[firsts] + totals[seconds]) / 2  # pairs x counts
                swapped = sums[:, firsts] - sums[:, seconds]  # assignments x pairs x counts
                hits[start : start + step] += _hits(middles, swapped, statistic, bounds[some])
        return hits

    n_differing = np.array([np.count_nonzero(own) for own in differing], dtype=np.intp)
    n_items = int(np.count_nonzero(rows))
    return sign_tests(apart, n_differing, (n_items, len(rows) - n_items), resamples, all_hits, random_hits)


def _hits(middle: Floats, half: Floats, statistic: Statistic, bound: float | Floats) -> Ints:
    """How many swaps take the values of two systems as far apart, or leave one undefined; of one pair or of several.

    Swapping an item moves its difference from one sum to the other: the sums are their mean plus or minus half of the
    signed sum of differences.

    Args:
        middle: Mean of the two sums of counts, shape ``([n_pairs,] n_counts)``.
        half: Half of the signed sums of differences, shape ``(n_assignments, [n_pairs,] n_counts)``.
        statistic: From sums of counts to the value.
        bound: How far, shape ``([n_pairs])``.

    Returns:
        shape ``([n_pairs])``.
    """
    return np.count_nonzero(~(np.abs(statistic(middle + half) - statistic(middle - half)) < bound), axis=0)


def _stacked(counts: Sequence[Floats], groups: Sequence[object] | None) -> Floats:
    """The counts of all systems, shape ``(n_systems, n_items, n_counts)``."""
    arrays = [np.asarray(own, dtype=np.float64) for own in counts]
    shapes = {own.shape for own in arrays}
    if len(shapes) != 1 or any(own.ndim != 2 for own in arrays):
        told = ", ".join(map(str, sorted(shapes))) or "none"
        raise UsageError(f"`counts` must have one shape (items, counts) for every system, got {told}")
    if any((np.abs(own) > LARGEST).any() for own in arrays):
        raise UsageError(
            f"`counts` must hold finite numbers of at most {LARGEST}, or NaN for undefined items, got a larger one"
        )
    check_labels(len(arrays[0]), groups)
    return np.stack(arrays)


def _defined(counts: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(~np.isnan(counts).any(axis=-1))


def _chosen(groups: Sequence[object] | None, rows: npt.NDArray[np.bool_]) -> list[object] | None:
    return None if groups is None else [groups[index] for index in np.flatnonzero(rows).tolist()]
