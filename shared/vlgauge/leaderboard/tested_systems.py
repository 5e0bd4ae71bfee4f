"""Intervals and tests of systems and their pairs, for means or summed counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlgauge import stats
from vlgauge.families.aggregation import score_bounds, value_of_rows
from vlgauge.leaderboard.common_rows import JoinedScores


@dataclass(frozen=True)
class Tested:
    """Values and intervals of systems by one metric, and tests and intervals of pairs (first minus second)."""

    values: Mapping[str, float]
    intervals: Mapping[str, stats.Interval | None]
    pairs: Mapping[tuple[str, str], tuple[stats.PairedTest, stats.Interval | None]]


def compute_tests(
    joined: JoinedScores,
    names: Sequence[tuple[str, str]],
    labels: Sequence[object] | None,
    test_resamples: int,
    how: Mapping[str, Any],
) -> Tested:
    """Return values, intervals and tests over the rows that every system defines.

    Tests treat noise in summed counts as noise in a row.

    Args:
        joined: Scores of all systems.
        names: Pairs of systems.
        labels: Group of each row. None for independent rows.
        test_resamples: Number of samples of the tests.
        how: Level, number of samples and seed of the intervals. Tests have the same seed.
    """
    rows = {name: own[joined.rows] for name, own in joined.values.items()}
    every, index, counted = list(rows.values()), {name: number for number, name in enumerate(rows)}, joined.counted
    pairs = [(index[first], index[second]) for first, second in names]
    groups = None if labels is None else [labels[row] for row in joined.rows]
    of_tests: dict[str, Any] = {"resamples": test_resamples, "seed": how["seed"], "groups": groups}
    if counted is None:
        tests = stats.paired_tests(every, pairs, **of_tests)
        apart = [stats.differences(every[first], every[second]) for first, second in pairs]
        intervals = stats.bootstrap_intervals([*every, *apart], **how, groups=groups)
    else:
        tests = stats.count_statistic_tests(every, pairs, counted.without_noise, **of_tests)
        contrasts = [*((number,) for number in range(len(every))), *pairs]
        # Values include the noise of a corpus without a match, as the metric reports it, and so do their intervals.
        intervals = stats.count_statistic_intervals(
            every, contrasts, counted.value, of_differences=counted.without_noise, **how, groups=groups
        )
    values = {name: value_of_rows(counted, own) for name, own in rows.items()}
    bounds = least, greatest = score_bounds(joined.metric, joined.signature)
    width = None if least is None or greatest is None else greatest - least
    of_pairs = (None if width is None else -width, width)
    ends = iter(intervals)
    return Tested(
        values,
        {name: (own := next(ends)) and own.within(bounds, value) for name, value in values.items()},
        {
            pair: (test, (own := next(ends)) and own.within(of_pairs, test.difference))
            for pair, test in zip(names, tests, strict=True)
        },
    )
