"""Which of several systems is better: means, differences, tests and groups over the rows that all of them scored."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.catalog import metric_facts
from vlgauge.corpus_values import COUNTED, corpus_counts
from vlgauge.leaderboard.joined_runs import (
    common_signature,
    compared_value,
    joined_rows,
    labels_in_order,
    scores_in_order,
)
from vlgauge.leaderboard.runs import Run
from vlgauge.leaderboard.tested_systems import Drawn, Scores, Tested
from vlgauge.settings import nearest
from vlgauge.statistics import Interval, differences, holm

Noise: TypeAlias = Mapping[str, Sequence[bool]]


@dataclass(frozen=True)
class System:
    """One system by one metric.

    Attributes:
        name: Of the system.
        value: Mean over the rows that it defines, or for BLEU the value of their added counts.
        low: Lower end of the interval; None with fewer than two rows or groups of rows.
        high: Upper end.
        n: Number of the defined rows.
        undefined: Number of the others.
        groups: Numbers of the rank groups it is in, the best first: two systems that share one are not told apart.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    n: int
    undefined: int
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """Two systems by one metric.

    Attributes:
        first: Name of a system.
        second: Name of another.
        difference: Mean of first - second over the rows that both define, or for BLEU first - second of their added
            counts. Scores that tie, see `vlgauge.statistics.differences`, differ by 0.
        low: Lower end of its paired bootstrap interval; None with fewer than two rows or groups of rows.
        high: Upper end.
        pvalue: Of the sign-flip test, or for BLEU of the test that swaps rows.
        adjusted_pvalue: The same by Holm's correction for all pairs that were tested.
        wins: Number of rows in which the first system is better, by the scores of the rows, see `row_differences`.
        losses: Number of rows in which the second is.
        ties: Number of the others, whose scores tie.
        n: Number of rows that both define.
        undefined: Number of the others.
        better: The better system, None if they are not told apart.
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
    better: str | None


@dataclass(frozen=True)
class MetricComparison:
    """All systems by one metric.

    Attributes:
        metric: Name of the metric.
        value: What is compared: "score", "excess" over the null mean, or "corpus" where counts of all rows are added.
        higher_is_better: Direction.
        signature: How the scores of every system were made.
        systems: From the best to the worst.
        pairs: Those that were tested, in the order of the call.
        scores: By name of the system, in the order of the ids.
        noise: By name of the system, of BLEU alone, whether no four words of a row match: only the constants of the
            COCO code part such scores from 0 and from each other, so that two of them tie.
    """

    metric: str
    value: str
    higher_is_better: bool
    signature: str
    systems: tuple[System, ...]
    pairs: tuple[Pair, ...]
    scores: Scores
    noise: Noise


@dataclass(frozen=True)
class Comparison:
    """Systems by one or more metrics.

    Attributes:
        ids: The rows, in the order of the first system.
        baseline: The system that the others are compared with; None for all pairs.
        level: Of the intervals; tests are significant at one minus it.
        resamples: Of the intervals and the tests.
        seed: Of both.
        n_groups: Number of groups of rows that are drawn together; None where each row is drawn by itself.
        metrics: One per metric.
    """

    ids: tuple[str, ...]
    baseline: str | None
    level: float
    resamples: int
    seed: int
    n_groups: int | None
    metrics: tuple[MetricComparison, ...]


def compare(
    runs: Mapping[str, Run],
    metrics: Sequence[str],
    *,
    baseline: str | None = None,
    groups: Mapping[str, object] | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare systems on the same rows, metric by metric.

    Differences have paired bootstrap intervals and sign-flip tests, corrected by Holm for the pairs of a metric that
    are tested. BLEU adds the counts of rows, with which the intervals are drawn, and which the tests swap between two
    systems. Rank groups come from all pairs, whatever the baseline. Sets of captions of unequal sizes are compared
    by the excess of the score over its null mean, for which they must be scored with ``pvalue``.

    Args:
        runs: By name of the system what `vlgauge score --output` writes as JSON: ``ids``, and per metric
            ``<metric>_scores`` and ``<metric>_signature``. From Python ``{"ids": ids} | metric.compute(...)``.
            ``sizes``, where it is there, has the numbers of candidates and references of each row.
        metrics: Names of the metrics.
        baseline: Name of the system that all others are compared with; None for all pairs.
        groups: Label by id; rows of one label, such as the captions of one image, are drawn together.
        level: Of the intervals; tests are significant at one minus it.
        resamples: Number of samples of the intervals and the tests.
        seed: Of both.

    Returns:
        The comparison.

    Raises:
        ValueError: If there are fewer than two systems, their ids or signatures differ, a score is missing or
            infinite, counts of BLEU are missing or do not give its scores, a system has no row that is defined, or a
            name, a label or a number is wrong.
    """
    if len(runs) < 2:
        raise ValueError(f"`runs` must have at least two systems, got {len(runs)}")
    if baseline is not None and baseline not in runs:
        raise ValueError(f"`baseline` must be one of the systems, got {baseline!r}; {nearest(baseline, runs)}")
    keys, orders = joined_rows(runs)
    labels = None if groups is None else labels_in_order(groups, keys)
    signatures = [common_signature(metric, runs) for metric in metrics]
    kinds = [compared_value(metric, runs, orders) for metric in metrics]
    scores = [
        {name: scores_in_order(metric, kind, name, run, orders[name], len(keys)) for name, run in runs.items()}
        for metric, kind in zip(metrics, kinds, strict=True)
    ]
    counts = [
        {name: corpus_counts(metric, run, f"runs[{name!r}]")[orders[name]] for name, run in runs.items()}
        if metric in COUNTED
        else None
        for metric in metrics
    ]
    names = [(b, a) if a == baseline else (a, b) for a, b in itertools.combinations(runs, 2)]
    drawn = Drawn(names, labels, level, resamples, seed)
    means = [own for own, added in zip(scores, counts, strict=True) if added is None]
    of_means = iter(drawn.means(means) if means else ())
    compared = []
    for metric, kind, signature, own, added in zip(metrics, kinds, signatures, scores, counts, strict=True):
        tested = next(of_means) if added is None else drawn.counted(added, COUNTED[metric].value)
        higher = metric_facts(metric).higher_is_better
        noise = {} if added is None else {name: COUNTED[metric].is_noise(own).tolist() for name, own in added.items()}
        every = _pairs(own, noise, tested, names, higher, 1 - level)
        with_baseline = [pair for pair in names if pair[1] == baseline]
        pairs = every if baseline is None else _pairs(own, noise, tested, with_baseline, higher, 1 - level)
        systems = _systems(own, tested, every, higher)
        compared.append(MetricComparison(metric, kind, higher, signature, systems, pairs, own, noise))
    n_groups = None if labels is None else len(set(labels))
    return Comparison(tuple(keys), baseline, level, resamples, seed, n_groups, tuple(compared))


def rows_that_differ(compared: MetricComparison, pair: Pair, limit: int) -> list[int]:
    """Indices of the rows in which two systems differ most, the largest difference first; rows that tie are left out.

    Args:
        compared: All systems by one metric.
        pair: Two of them.
        limit: Most rows.
    """
    sizes = np.abs(row_differences(compared.scores, compared.noise, (pair.first, pair.second))).tolist()
    return sorted((row for row, size in enumerate(sizes) if size > 0), key=lambda row: -sizes[row])[:limit]


def row_differences(scores: Scores, noise: Noise, pair: tuple[str, str]) -> npt.NDArray[np.float64]:
    """First - second of each row, shape ``(n_rows,)``: 0 where the scores tie, NaN where one is undefined.

    Args:
        scores: By name of the system.
        noise: Rows whose scores are noise, of which two tie.
        pair: Names of two systems.
    """
    apart = differences(*(scores[name] for name in pair))
    return np.where(np.all([noise[name] for name in pair], axis=0), 0.0, apart) if noise else apart


def _pairs(
    scores: Scores,
    noise: Noise,
    tested: Tested,
    names: Sequence[tuple[str, str]],
    higher_is_better: bool,
    alpha: float,
) -> tuple[Pair, ...]:
    """The pairs of some names, corrected for their number."""
    pairs = []
    adjusted = holm([tested.pairs[pair][0].pvalue for pair in names])
    for (first, second), pvalue in zip(names, adjusted, strict=True):
        test, interval = tested.pairs[first, second]
        winner = first if (test.difference > 0) == higher_is_better else second
        outcomes = _outcomes(row_differences(scores, noise, (first, second)), higher_is_better)
        pairs.append(
            Pair(
                *(first, second, test.difference, *_ends(interval), test.pvalue, pvalue),
                *(*outcomes, test.n_items, test.n_dropped),
                better=winner if pvalue <= alpha and test.difference != 0 else None,
            )
        )
    return tuple(pairs)


def _outcomes(apart: npt.NDArray[np.float64], higher_is_better: bool) -> tuple[int, int, int]:
    """Rows in which the first system is better, the second is, and neither, by the differences of the rows."""
    above, below, ties = (int(np.count_nonzero(found)) for found in (apart > 0, apart < 0, apart == 0))
    return (above, below, ties) if higher_is_better else (below, above, ties)


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low, interval.high)


def _systems(scores: Scores, tested: Tested, pairs: Sequence[Pair], higher_is_better: bool) -> tuple[System, ...]:
    """The systems from the best to the worst."""
    values = tested.values
    ranked = sorted(values, key=lambda name: -values[name] if higher_is_better else values[name])
    groups = rank_groups(ranked, [(pair.first, pair.second) for pair in pairs if pair.better is not None])
    systems = []
    for name in ranked:
        undefined = sum(map(math.isnan, scores[name]))
        mine = tuple(number for number, members in enumerate(groups, 1) if name in members)
        counts = len(scores[name]) - undefined, undefined
        systems.append(System(name, values[name], *_ends(tested.intervals[name]), *counts, mine))
    return tuple(systems)


def rank_groups(ranked: Sequence[str], told_apart: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The largest groups of systems none of which is told apart from another (Piepho, 2004).

    Args:
        ranked: Names, the best first.
        told_apart: The pairs that differ significantly.

    Returns:
        Members of each group in the order of the ranks; the group of the best system first.
    """
    groups = [frozenset(ranked)]
    for first, second in told_apart:
        split = []
        for group in groups:
            split += [group - {first}, group - {second}] if {first, second} <= group else [group]
        groups = [group for group in dict.fromkeys(split) if not any(group < other for other in split)]
    ordered = [[name for name in ranked if name in group] for group in groups]
    return sorted(ordered, key=lambda group: [ranked.index(name) for name in group])
