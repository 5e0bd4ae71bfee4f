"""Intervals and tests of systems and their pairs, for means or summed counts, and differences of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge import stats
from vlgauge.core.catalog import Bounds
from vlgauge.families.aggregation import CountBasedMetric, value_of_rows
from vlgauge.leaderboard.common_rows import Scores

Floats = npt.NDArray[np.float64]

Noise: TypeAlias = Mapping[str, Sequence[bool]]
"""Whether the score of each row is noise, by name of the system. Empty without noise."""


@dataclass(frozen=True)
class Tested:
    """Values and intervals of systems by one metric, and tests and intervals of pairs (first minus second)."""

    values: Mapping[str, float]
    intervals: Mapping[str, stats.Interval | None]
    pairs: Mapping[tuple[str, str], tuple[stats.PairedTest, stats.Interval | None]]


def compute_tests(
    rows: Mapping[str, Floats],
    names: Sequence[tuple[str, str]],
    counted: CountBasedMetric | None,
    bounds: Bounds,
    of_tests: Mapping[str, Any],
    of_intervals: Mapping[str, Any],
) -> Tested:
    """Return values, intervals and tests. Tests treat noise in summed counts as noise in a row.

    Args:
        rows: Scores by name of the system, shape ``(n_rows,)``, or counts, shape ``(n_rows, n_counts)``, of rows that
            every system defines.
        names: Pairs of systems.
        counted: Metric that computes the value from the summed counts. None for means of scores.
        bounds: Minimum and maximum of the values, to which intervals are clipped. None without such a bound.
        of_tests: Number of samples, seed and groups of the tests.
        of_intervals: The same of the intervals, and their level.
    """
    every, index = list(rows.values()), {name: number for number, name in enumerate(rows)}
    pairs = [(index[first], index[second]) for first, second in names]
    if counted is None:
        tests = stats.paired_tests(every, pairs, **of_tests)
        apart = [stats.differences(every[first], every[second]) for first, second in pairs]
        intervals = stats.bootstrap_intervals([*every, *apart], **of_intervals)
    else:
        tests = stats.count_statistic_tests(every, pairs, counted.without_noise, **of_tests)
        contrasts = [*((number,) for number in range(len(every))), *pairs]
        # Values include the noise of a corpus without a match, as the metric reports it, and so do their intervals.
        intervals = stats.count_statistic_intervals(
            every, contrasts, counted.value, of_differences=counted.without_noise, **of_intervals
        )
    values = {name: value_of_rows(counted, own) for name, own in rows.items()}
    least, greatest = bounds
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


class RowDifferences:
    """Differences of single rows between systems, over the rows that all of them define. Two noise scores tie."""

    def __init__(self, scores: Scores, noise: Noise) -> None:
        every = {name: np.asarray(own, dtype=np.float64) for name, own in scores.items()}
        self._lacking = np.isnan(list(every.values())).any(axis=0)
        self._scores = {name: np.where(self._lacking, np.nan, own) for name, own in every.items()}
        self._noise = {name: np.asarray(own, dtype=np.bool_) for name, own in noise.items()}

    def between(self, first: str, second: str) -> npt.NDArray[np.float64]:
        """Return the difference first - second of each row.

        Returns:
            Shape ``(n_rows,)``. 0 if the scores tie, NaN if any system lacks the score.
        """
        apart = stats.differences(self._scores[first], self._scores[second])
        if self._noise:
            apart[self._noise[first] & self._noise[second] & ~self._lacking] = 0.0
        return apart
