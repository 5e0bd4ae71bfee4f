"""Comparison of several systems: means, differences, tests and rank groups over the rows that all of them scored."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vlgauge import stats
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_choice, check_int, nearest, short_repr, warn
from vlgauge.families.aggregation import value_of_rows
from vlgauge.leaderboard.common_rows import (
    JoinedScores,
    Noise,
    RowDifferences,
    Scores,
    describe_undefined,
    rank_names,
    worst_values,
)
from vlgauge.leaderboard.joined_runs import join_rows, join_scores, labels_in_order, labels_of_runs
from vlgauge.leaderboard.runs import Run
from vlgauge.leaderboard.tested_systems import Tested, compute_tests
from vlgauge.stats.drawing import check_resampling
from vlgauge.stats.significance import check_enough_resamples

FAMILIES = ("all", "metric")
"""Families of tests for Holm's correction: the pairs of all metrics (default), or of each metric separately."""


@dataclass(frozen=True)
class System:
    """Result of a system by one metric.

    Attributes:
        name: Name of the system.
        value: Mean over the rows that every system defines, or the value of their summed counts for a metric such as
            BLEU.
        low: Lower end of the interval. None for fewer than two rows or groups of rows.
        high: Upper end of the interval. None for fewer than two rows or groups of rows.
        n: Number of rows that every system defines. If counts are summed, it includes rows without a score whose counts
            are 0, such as captions without an object for CHAIR_i.
        undefined: Number of rows that this system does not define.
        own_value: Same as `value`, but over all rows that this system defines.
        worst_value: Mean over all rows, with the worst score of the range for undefined rows. None if every system
            lacks few rows, or if the range has no worst score.
        groups: Numbers of the rank groups of the system, best first. Two systems of the same group are not
            significantly different.
        bold: Whether the system is in the first group, and in a pair with enough differing rows for a significant test.
        few: Whether the interval has so few rows, or groups of rows, that it must be marked.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    n: int
    undefined: int
    own_value: float
    worst_value: float | None
    groups: tuple[int, ...]
    bold: bool
    few: bool


@dataclass(frozen=True)
class SystemPair:
    """Comparison of two systems by one metric.

    Attributes:
        first: Name of the first system.
        second: Name of the second system.
        difference: Mean of first - second over the rows that every system defines, or the difference of the values of
            their summed counts for a metric such as BLEU. Scores that tie (see `vlgauge.stats.differences`) differ by
            0, as do two corpora that are noise (see `MetricComparison.noise`).
        low: Lower end of the paired bootstrap interval, which is not corrected for other pairs. It may exclude 0
            although the corrected test is not significant. None for fewer than two rows or groups of rows.
        high: Upper end of the interval. None for fewer than two rows or groups of rows.
        pvalue: P-value of the sign-flip test, or of the test that swaps rows if counts are summed.
        adjusted_pvalue: P-value after Holm's correction for the family of tests.
        wins: Number of rows in which the first system is better, by the scores of the rows. See `RowDifferences`.
        losses: Number of rows in which the second system is better.
        ties: Number of rows whose scores tie. Rows without a score in a system count as neither win, loss nor tie.
        n: Number of rows that every system defines.
        undefined: Number of the other rows.
        n_differing: Number of rows, or groups of rows, that differ.
        too_few: Whether so few rows differ that no outcome can be significant in the family.
        better: Name of the better system. None without a significant difference.
        few: Whether the interval has so few rows, or groups of rows, that it must be marked.
    """

    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    pvalue: float
    adjusted_pvalue: float
    wins: int
    losses: int
    ties: int
    n: int
    undefined: int
    n_differing: int
    too_few: bool
    better: str | None
    few: bool


@dataclass(frozen=True)
class MetricComparison:
    """Comparison of all systems by one metric.

    Attributes:
        metric: Name of the metric.
        value: Kind of the compared value: "score", or "corpus" if counts of all rows are summed.
        higher_is_better: Whether higher values are better.
        signature: Signature of the scores of every system.
        n: Number of rows that every system defines.
        systems: Systems from the best to the worst.
        pairs: Tested pairs, in the order of the call.
        notes: Sentences about rows that some systems do not define.
        scores: Scores of all rows by name of the system, in the order of the ids.
        noise: Whether the score of each row differs from 0 only because of constants of the metric, by name of the
            system. An example is BLEU if no four consecutive words match. Two such scores tie. Empty for metrics
            without such constants.
        ids: Ids of the rows.
        silent: Number of the ``n`` rows that are counted in the value but have no score, by name of the system.
    """

    metric: str
    value: str
    higher_is_better: bool
    signature: str
    n: int
    systems: tuple[System, ...]
    pairs: tuple[SystemPair, ...]
    notes: tuple[str, ...]
    scores: Scores
    noise: Noise
    ids: tuple[str, ...]
    silent: Mapping[str, int]

    @cached_property
    def row_differences(self) -> RowDifferences:
        """Differences of single rows."""
        return RowDifferences(self.scores, self.noise)


@dataclass(frozen=True)
class RunComparison:
    """Comparison of systems by one or more metrics.

    Attributes:
        ids: Ids of the rows, in the order of the first system.
        baseline: Name of the system that the others are compared with. None for all pairs.
        level: Level of the intervals. Tests are significant at one minus the level.
        resamples: Number of samples of the intervals.
        test_resamples: Number of samples of the tests.
        family: Family of tests for Holm's correction, one of `FAMILIES`.
        seed: Seed of the intervals and tests.
        n_groups: Number of groups of rows that are sampled together. None if rows are sampled independently.
        metrics: One comparison per metric.
    """

    ids: tuple[str, ...]
    baseline: str | None
    level: float
    resamples: int
    test_resamples: int
    family: str
    seed: int
    n_groups: int | None
    metrics: tuple[MetricComparison, ...]

    @property
    def n_tests(self) -> int:
        """Number of p-values of pairs that are corrected together."""
        return len(self.metrics[0].pairs) * (len(self.metrics) if self.family == "all" else 1)


def compare(
    runs: Mapping[str, Run],
    metrics: Sequence[str],
    *,
    baseline: str | None = None,
    groups: Mapping[str, object] | None = None,
    family: str = FAMILIES[0],
    level: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> RunComparison:
    """Compare systems on the same rows, metric by metric.

    All results are over the rows that every system defines. If systems lack rows, a warning names them. Differences
    have paired bootstrap intervals and sign-flip tests with Holm's correction for the tested pairs, of all metrics
    together unless `family` is "metric". For a metric such as BLEU, which sums the counts of rows, intervals sample the
    counts, and tests swap them between two systems. Rank groups are computed from all pairs, even with a baseline.
    Caption sets must have equal sizes in each row.

    Args:
        runs: Scores by name of the system, in the JSON format of `vlgauge score --output`: ``ids``, and per metric
            ``<metric>_scores`` and ``<metric>_signature``. In Python, use ``{"ids": ids} | metric.compute(...)``. The
            optional ``sizes`` contain the numbers of candidates and references of each row.
        metrics: Names of the metrics.
        baseline: Name of the system that all others are compared with. None for all pairs.
        groups: Label by id. Rows with the same label, such as the captions of one image, are sampled together. None
            uses the groups in the runs if these agree on one name, and independent rows otherwise.
        family: Family of tests for Holm's correction: "all" for the pairs of all metrics together, or "metric" for the
            pairs of each metric separately.
        level: Level of the intervals. Tests are significant at one minus the level.
        resamples: Number of samples of the intervals and the tests. None uses 10,000 for the intervals, and the result
            of `vlgauge.stats.default_resamples` for the tests.
        seed: Seed of the intervals and tests.

    Returns:
        The comparison.

    Raises:
        ValueError: If there are fewer than two systems, their ids or signatures differ, a score is missing or infinite,
            counts of BLEU are missing or inconsistent with its scores, no row is defined for every system, `resamples`
            is too small for a significant difference, or a name, label or number is invalid.
    """
    if len(runs) < 2:
        raise UsageError.about("runs", f"must have at least two systems, got {len(runs)}")
    if baseline is not None and baseline not in list(runs):
        got = short_repr(baseline)
        raise UsageError.about("baseline", f"must be one of the systems, got {got}", nearest(str(baseline), runs))
    check_choice("family", family, FAMILIES)
    check_resampling(level, 1 if resamples is None else resamples)
    check_int("seed", seed, 0)
    names = [(b, a) if a == baseline else (a, b) for a, b in itertools.combinations(runs, 2)]
    n_tests = len(names) * (len(metrics) if family == "all" else 1)
    enough = stats.default_resamples(n_tests, level)
    if resamples is not None:
        check_enough_resamples(resamples, n_tests, level, by_default=enough)
    test_resamples = resamples or enough
    keys, orders = join_rows(runs)
    labels = labels_of_runs(runs, keys) if groups is None else labels_in_order(groups, keys)
    how: dict[str, Any] = {"level": level, "resamples": resamples or stats.LEAST_SAMPLES, "seed": seed}
    joined = [join_scores(metric, runs, orders, keys) for metric in metrics]
    tested = [compute_tests(one, names, labels, test_resamples, how) for one in joined]
    every = _correct_pairs(joined, tested, names, family, level)
    with_baseline = [pair for pair in names if pair[1] == baseline]
    pairs = every if baseline is None else _correct_pairs(joined, tested, with_baseline, family, level)
    compared = tuple(_compare_metric(*parts) for parts in zip(joined, tested, every, pairs, strict=True))
    for one in compared:
        if one.notes:
            warn("; ".join(one.notes))
    n_groups = None if labels is None else len(set(labels))
    return RunComparison(
        tuple(keys), baseline, **how, test_resamples=test_resamples, family=family, n_groups=n_groups, metrics=compared
    )


def _compare_metric(
    joined: JoinedScores, tested: Tested, every: Sequence[SystemPair], pairs: tuple[SystemPair, ...]
) -> MetricComparison:
    worst = worst_values(joined)
    notes = describe_undefined(joined, tested.values, worst)
    value = "score" if joined.counted is None else "corpus"
    kinds = (joined.metric, value, joined.higher_is_better, joined.signature, len(joined.rows))
    systems = _systems(joined, tested, every, worst)
    silent = {name: sum(math.isnan(own[row]) for row in joined.rows) for name, own in joined.scores.items()}
    return MetricComparison(*kinds, systems, pairs, notes, joined.scores, joined.noise, tuple(joined.keys), silent)


def rows_that_differ(compared: MetricComparison, pair: SystemPair, limit: int) -> list[int]:
    """Return the indices of the rows in which two systems differ most, with the largest difference first.

    Ties are left out. Rows with equal differences are sorted by id (2 before 10), independently of the order in files.

    Args:
        compared: Comparison of all systems by one metric.
        pair: Pair of systems.
        limit: Maximum number of rows.
    """
    sizes = np.abs(compared.row_differences.between(pair.first, pair.second)).tolist()
    apart = [row for row, size in enumerate(sizes) if size > 0]
    return sorted(apart, key=lambda row: (-sizes[row], len(compared.ids[row]), compared.ids[row]))[:limit]


def _correct_pairs(
    joined: Sequence[JoinedScores],
    tested: Sequence[Tested],
    names: Sequence[tuple[str, str]],
    family: str,
    level: float,
) -> list[tuple[SystemPair, ...]]:
    """Return the pairs for each metric, corrected for the number of tests in the family."""
    pvalues = [[own.pairs[pair][0].pvalue for pair in names] for own in tested]
    families = [list(itertools.chain.from_iterable(pvalues))] if family == "all" else pvalues
    adjusted = itertools.chain.from_iterable(map(stats.holm, families))
    n_tests = len(names) * (len(joined) if family == "all" else 1)
    return [
        tuple(_pair(one, own, pair, next(adjusted), n_tests, level) for pair in names)
        for one, own in zip(joined, tested, strict=True)
    ]


def _pair(
    joined: JoinedScores, tested: Tested, names: tuple[str, str], adjusted: float, n_tests: int, level: float
) -> SystemPair:
    (test, interval), higher = tested.pairs[names], joined.higher_is_better
    too_few = not stats.can_be_significant(test.n_differing, n_tests, level)
    winner = names[0] if (test.difference > 0) == higher else names[1]
    is_apart = stats.is_significant(adjusted, level) and test.difference != 0 and not too_few
    apart = joined.row_differences.between(*names)
    wins, losses, ties = (int(np.count_nonzero(found)) for found in (apart > 0, apart < 0, apart == 0))
    outcomes = (wins, losses, ties) if higher else (losses, wins, ties)
    low, high, few = _ends(interval)
    undefined = len(joined.keys) - test.n_items
    return SystemPair(
        *(*names, test.difference, low, high, test.pvalue, adjusted, *outcomes, test.n_items, undefined),
        *(test.n_differing, too_few, winner if is_apart else None, few),
    )


def _ends(interval: stats.Interval | None) -> tuple[float | None, float | None, bool]:
    """Return the ends of an interval, and whether it must be marked."""
    return (None, None, False) if interval is None else (interval.low, interval.high, interval.of_few)


def _systems(
    joined: JoinedScores, tested: Tested, pairs: Sequence[SystemPair], worst: Mapping[str, float | None]
) -> tuple[System, ...]:
    order = rank_names(tested.values, joined.higher_is_better)
    groups = rank_groups(order, [(pair.first, pair.second) for pair in pairs if pair.better is not None])
    decided = {name for pair in pairs if not pair.too_few for name in (pair.first, pair.second)}
    systems = []
    for name in order:
        mine = tuple(number for number, members in enumerate(groups, 1) if name in members)
        low, high, few = _ends(tested.intervals[name])
        counts = len(joined.rows), joined.undefined[name]
        own = value_of_rows(joined.counted, joined.values[name])
        bold = 1 in mine and name in decided
        systems.append(System(name, tested.values[name], low, high, *counts, own, worst[name], mine, bold, few))
    return tuple(systems)


def rank_groups(ranked: Sequence[str], told_apart: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return maximal groups of systems without a significant difference inside a group.

    Two systems are in a common group if and only if they are not significantly different, and no group can be extended
    by another system. There may be exponentially many such groups: 1,024 for ten models with two settings each, if only
    the settings of each model differ significantly. The result has only enough groups to cover every pair without a
    significant difference. If the systems of every group have consecutive ranks, the result contains all groups
    (Piepho, 2004).

    Args:
        ranked: Names of the systems, best first.
        told_apart: Pairs of systems that differ significantly.

    Returns:
        Members of each group in the order of the ranks. The groups are sorted by the ranks of their members, so the
        group of the best system comes first.
    """
    place = {name: number for number, name in enumerate(ranked)}
    alike = np.ones((len(ranked), len(ranked)), dtype=np.bool_)
    for first, second in told_apart:
        alike[place[first], place[second]] = alike[place[second], place[first]] = False
    shared = np.zeros_like(alike)
    groups = []
    for pair in itertools.combinations_with_replacement(range(len(ranked)), 2):
        if shared[pair] or not alike[pair]:
            continue
        members = sorted(set(pair))
        while (others := np.setdiff1d(np.flatnonzero(alike[members].all(axis=0)), members)).size:
            # Add the system that shares no group yet with the most members, and the best one among ties.
            members.append(int(others[np.argmax((~shared[others][:, members]).sum(axis=1))]))
        shared[np.ix_(members, members)] = True
        groups.append(sorted(members))
    return [[ranked[number] for number in members] for members in sorted(groups)]
