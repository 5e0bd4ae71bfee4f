"""Intervals and tests of systems and their pairs, for means or summed counts, and differences of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge import stats
from vlgauge.core.results import mean_of_defined
from vlgauge.families.aggregation import CountBasedMetric
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

    def within(self, least: float | None, greatest: float | None) -> Tested:
        """Return a copy with intervals clipped to the possible range of values and of their differences.

        Args:
            least: Minimum value. None without a minimum.
            greatest: Maximum value. None without a maximum.
        """
        width = None if least is None or greatest is None else greatest - least
        own, apart = (least, greatest), (None if width is None else -width, width)
        return Tested(
            self.values,
            {name: ends and ends.within(own, self.values[name]) for name, ends in self.intervals.items()},
            {pair: (test, ends and ends.within(apart, test.difference)) for pair, (test, ends) in self.pairs.items()},
        )


@dataclass(frozen=True)
class Drawn:
    """Settings of the resampling, and the pairs of systems."""

    names: Sequence[tuple[str, str]]
    level: float
    resamples: int
    test_resamples: int
    seed: int

    def means(self, scores: Scores, labels: Sequence[object] | None) -> Tested:
        """Return intervals and tests of means.

        Args:
            scores: Scores by name of the system, of rows that every system defines.
            labels: Label per row. Rows with the same label are sampled together. None if rows are sampled
                independently.
        """
        columns = [np.asarray(column, dtype=np.float64) for column in scores.values()]
        pairs = self._pairs(scores)
        tests = stats.paired_tests(columns, pairs, resamples=self.test_resamples, seed=self.seed, groups=labels)
        columns += [stats.differences(columns[first], columns[second]) for first, second in pairs]
        ends = iter(
            stats.bootstrap_intervals(
                columns, level=self.level, resamples=self.resamples, seed=self.seed, groups=labels
            )
        )
        return Tested(
            {name: mean_of_defined(column) for name, column in scores.items()},
            {name: next(ends) for name in scores},
            {pair: (test, next(ends)) for pair, test in zip(self.names, tests, strict=True)},
        )

    def counted(
        self, counts: Mapping[str, Floats], metric: CountBasedMetric, labels: Sequence[object] | None
    ) -> Tested:
        """Return intervals and tests of a statistic of summed counts. Tests treat noise in the sums as noise in a row.

        Args:
            counts: Counts by name of the system, shape ``(n_rows, n_counts)``, of rows that every system defines.
            metric: Metric that computes the value from the summed counts.
            labels: Label per row. None if rows are sampled independently.
        """
        every, pairs = list(counts.values()), self._pairs(counts)
        tests = stats.count_statistic_tests(
            *(every, pairs, metric.without_noise), resamples=self.test_resamples, seed=self.seed, groups=labels
        )
        # Values include the noise of a corpus without a match, as the metric reports it, and so do their intervals.
        ends = iter(
            stats.count_statistic_intervals(
                every,
                [*((number,) for number in range(len(every))), *pairs],
                metric.value,
                of_differences=metric.without_noise,
                level=self.level,
                resamples=self.resamples,
                seed=self.seed,
                groups=labels,
            )
        )
        return Tested(
            {name: stats.count_statistic(own, metric.value) for name, own in counts.items()},
            {name: next(ends) for name in counts},
            {pair: (test, next(ends)) for pair, test in zip(self.names, tests, strict=True)},
        )

    def _pairs(self, systems: Iterable[str]) -> list[tuple[int, int]]:
        """Return the pairs as indices of systems."""
        index = {name: number for number, name in enumerate(systems)}
        return [(index[first], index[second]) for first, second in self.names]


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
