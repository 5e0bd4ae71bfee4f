"""Intervals and tests of statistics of counts that are summed over all items, such as corpus BLEU."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.stats.drawing import check_labels, check_resamples, check_resampling, every_sign, random_signs, unit_sums
from vlgauge.stats.intervals import Interval, choose_sign, effect_intervals
from vlgauge.stats.paired import Ints, PairedTest, differences, sign_tests
from vlgauge.stats.scores import LARGEST, Floats

# Maximum number of counts of pairs in each of several arrays in memory.
_CELLS = 2**18

Statistic: TypeAlias = Callable[[Floats], Floats]
"""Function from summed counts, shape ``(..., n_counts)``, to corpus-level values, shape ``(...)``.

The value is NaN if nothing was counted.
"""


def count_statistic(counts: Floats, statistic: Statistic) -> float:
    """Compute the statistic of all items.

    Args:
        counts: Counts of each item, shape ``(n_items, n_counts)``. NaN if an item is undefined.
        statistic: Function from summed counts to the value.

    Returns:
        Corpus-level value. NaN if no item is defined.
    """
    rows = _find_defined(counts)
    return float(statistic(counts[rows].sum(axis=0))) if rows.any() else math.nan


def count_statistic_intervals(
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
    """Compute intervals of a statistic and of its differences between systems.

    The effect of an item is (n - 1) times the decrease of the statistic without its counts (the jackknife; Efron and
    Tibshirani, 1993, Chapter 11), or without its counts in both systems for a difference. The result does not depend on
    the order of the items. `vlgauge.stats.intervals` documents the method.

    Args:
        counts: Counts of each item, shape ``(n_items, n_counts)``, for each system. NaN if an item is undefined.
        contrasts: Index of a system for its value, or two indices for first - second over the items that both define.
        statistic: Function from summed counts to the value.
        of_differences: Statistic for differences. None uses `statistic`.
        level: Coverage, in (0, 1).
        resamples: Number of bootstrap samples, at least 1.
        seed: Seed of the samples.
        groups: Label per item. Items with the same label, such as the captions of one image, are sampled together.

    Returns:
        One interval per contrast. None if fewer than two items, or groups of items, contribute to it, or if the value
        without one of them is undefined.

    Raises:
        ValueError: If `level` or `resamples` is out of range, the systems have different items, or there is not one
            label per item.
    """
    check_resampling(level, resamples)
    stacked = _stack_counts(counts, groups)
    defined = np.array([_find_defined(own) for own in stacked])  # systems x items
    adds = (stacked != 0).any(axis=2)  # items with an effect, which have a count above zero
    rows_of = [
        np.asarray(defined[list(contrast)].all(axis=0) & adds[list(contrast)].any(axis=0)) for contrast in contrasts
    ]
    found: list[Interval | None] = [None] * len(contrasts)
    how: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    # Contrasts of the same items share their samples.
    for rows in {rows.tobytes(): rows for rows in rows_of}.values():
        chosen = [index for index, own in enumerate(rows_of) if (own == rows).all()]
        systems = sorted({system for index in chosen for system in contrasts[index]})
        units = _units(stacked[systems][:, rows], _choose_groups(groups, rows))
        if units.shape[1] < 2:
            continue
        every = units.sum(axis=1, keepdims=True)
        tables = {
            size: [dict(zip(systems, of(sums), strict=True)) for sums in (every[:, 0], np.maximum(every - units, 0.0))]
            for size, of in ((1, statistic), (2, of_differences or statistic))
            if size in {len(contrasts[index]) for index in chosen}
        }
        # Value of each contrast, and its value without each unit.
        columns = {
            index: [_contrast(table, contrasts[index]) for table in tables[len(contrasts[index])]] for index in chosen
        }
        columns = {index: column for index, column in columns.items() if not np.isnan(column[1]).any()}
        if not columns:
            continue
        values = np.array([value for value, _ in columns.values()])
        effects = np.stack([_effects(without) for _, without in columns.values()], axis=1)
        signs, there = np.array([choose_sign(column) for column in effects.T]), np.ones(effects.shape, dtype=np.bool_)
        ends = effect_intervals(values, effects * signs, there, signs, **how)
        for index, interval in zip(columns, ends, strict=True):
            found[index] = interval
    return found


def _contrast(values: Mapping[int, Any], systems: tuple[int, ...]) -> Any:
    return values[systems[0]] if len(systems) == 1 else values[systems[0]] - values[systems[1]]


def _effects(without: Floats) -> Floats:
    """Return the effects of the units from the values without each of them.

    Args:
        without: Value without each unit, shape ``(n_units,)``.

    Returns:
        Shape ``(n_units,)``.
    """
    # If all values are equal, the mean of their differences from one of them is exactly 0.
    lost = without.min() - without
    mean = math.fsum(lost.tolist()) / len(lost)
    return (len(lost) - 1) * (lost - mean)


def _units(counts: Floats, groups: Sequence[object] | None) -> Floats:
    """Sum the counts of each group.

    Args:
        counts: Counts without NaN, shape ``(n_systems, n_items, n_counts)``.
        groups: Label per item.

    Returns:
        Shape ``(n_systems, n_units, n_counts)``.
    """
    n_systems, n_items, n_counts = counts.shape
    sums = unit_sums(counts.transpose(1, 0, 2).reshape(n_items, n_systems * n_counts), groups)[0]
    return sums.reshape(len(sums), n_systems, n_counts).transpose(1, 0, 2)


def count_statistic_tests(
    counts: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    statistic: Statistic,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> list[PairedTest]:
    """Test differences of a statistic by two-sided approximate randomization (Noreen, 1989; Riezler, 2005).

    Null hypothesis: the counts of the two systems are exchangeable within each item. If m items differ and 2^(m-1) is
    at most `resamples`, all 2^m assignments are evaluated, because one half mirrors the other. Otherwise p = (1 + hits)
    / (1 + resamples), which is never 0. Two values that tie (see `differences`) have the difference 0. The random signs
    are the same as in `paired_tests`, so the p-value of a pair depends neither on the order of the systems nor on other
    pairs.

    Args:
        counts: Counts of each item, shape ``(n_items, n_counts)``, for each system. An item that is NaN for one system
            is left out for all.
        pairs: Indices of the two systems of each pair.
        statistic: Function from summed counts to the value.
        resamples: Number of random assignments.
        seed: Seed of the random assignments.
        groups: Label per item. Items with the same label are swapped together.

    Returns:
        One test per pair. Its difference and p-value are NaN if no item is defined.

    Raises:
        ValueError: If `resamples` is below 1, the systems have different items, or there is not one label per item.
    """
    check_resamples(resamples)
    stacked = _stack_counts(counts, groups)
    rows = np.asarray(_find_defined(stacked).all(axis=0))
    totals = stacked[:, rows].sum(axis=1)
    values = statistic(totals)
    units = _units(stacked[:, rows], _choose_groups(groups, rows)) / 2  # systems x units x counts
    apart = [float(differences(values[first], values[second])) for first, second in pairs]
    # The statistic of equal sums may differ in the last digits, depending on their position in an array.
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
    """Count the swaps after which two values are at least as far apart as observed, or one of them is undefined.

    Swapping an item moves its difference from one sum to the other, so the sums are their mean plus or minus half of
    the signed sum of differences. The arguments have a dimension for pairs, or describe a single pair.

    Args:
        middle: Mean of the two sums of counts, shape ``([n_pairs,] n_counts)``.
        half: Half of the signed sums of differences, shape ``(n_assignments, [n_pairs,] n_counts)``.
        statistic: Function from summed counts to the value.
        bound: Distance that counts as a hit, shape ``([n_pairs])``.

    Returns:
        Number of hits, shape ``([n_pairs])``.
    """
    return np.count_nonzero(~(np.abs(statistic(middle + half) - statistic(middle - half)) < bound), axis=0)


def _stack_counts(counts: Sequence[Floats], groups: Sequence[object] | None) -> Floats:
    """Stack the counts of all systems.

    Returns:
        Shape ``(n_systems, n_items, n_counts)``.

    Raises:
        ValueError: If the shapes differ, a count is infinite or too large, or there is not one label per item.
    """
    arrays = [np.asarray(own, dtype=np.float64) for own in counts]
    shapes = {own.shape for own in arrays}
    if len(shapes) != 1 or any(own.ndim != 2 for own in arrays):
        listed = ", ".join(map(str, sorted(shapes))) or "none"
        raise UsageError.about("counts", f"must have one shape (items, counts) for every system, got {listed}")
    if any((np.abs(own) > LARGEST).any() for own in arrays):
        raise UsageError.about(
            "counts", f"must contain finite numbers of at most {LARGEST}, or NaN for undefined items, got a larger one"
        )
    check_labels(len(arrays[0]), groups)
    return np.stack(arrays)


def _find_defined(counts: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(~np.isnan(counts).any(axis=-1))


def _choose_groups(groups: Sequence[object] | None, rows: npt.NDArray[np.bool_]) -> list[object] | None:
    return None if groups is None else [groups[index] for index in np.flatnonzero(rows).tolist()]
