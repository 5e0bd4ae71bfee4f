"""Intervals and tests of systems and of their pairs, of means or of added counts, and their differences in rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.core.results import mean_of_defined
from vlgauge.families.aggregation import Counted
from vlgauge.leaderboard.common_rows import Scores
from vlgauge.stats import (
    Interval,
    PairedTest,
    bootstrap_intervals,
    differences,
    paired_tests,
    summed_intervals,
    summed_tests,
    summed_value,
)

Floats = npt.NDArray[np.float64]

Noise: TypeAlias = Mapping[str, Sequence[bool]]
"""By name of the system, whether the score of each row is noise; empty where none is."""


@dataclass(frozen=True)
class Tested:
    """Values and intervals by one metric of each system, and the test and interval of each pair, first minus second."""

    values: Mapping[str, float]
    intervals: Mapping[str, Interval | None]
    pairs: Mapping[tuple[str, str], tuple[PairedTest, Interval | None]]

    def within(self, least: float | None, greatest: float | None) -> Tested:
        """The same, with intervals that end where values and their differences do."""
        width = None if least is None or greatest is None else greatest - least
        own, apart = (least, greatest), (None if width is None else -width, width)
        return Tested(
            self.values,
            {name: ends and ends.within(own, self.values[name]) for name, ends in self.intervals.items()},
            {pair: (test, ends and ends.within(apart, test.difference)) for pair, (test, ends) in self.pairs.items()},
        )


@dataclass(frozen=True)
class Drawn:
    """How rows are drawn, for which pairs of systems."""

    names: Sequence[tuple[str, str]]
    level: float
    resamples: int
    test_resamples: int
    seed: int

    def means(self, scores: Scores, labels: Sequence[object] | None) -> Tested:
        """Of the means of scores of rows that every system defines; rows of one label are drawn together."""
        columns = [np.asarray(column, dtype=np.float64) for column in scores.values()]
        pairs = self._pairs(scores)
        tests = paired_tests(columns, pairs, resamples=self.test_resamples, seed=self.seed, groups=labels)
        columns += [differences(columns[first], columns[second]) for first, second in pairs]
        ends = iter(
            bootstrap_intervals(columns, level=self.level, resamples=self.resamples, seed=self.seed, groups=labels)
        )
        return Tested(
            {name: mean_of_defined(column) for name, column in scores.items()},
            {name: next(ends) for name in scores},
            {pair: (test, next(ends)) for pair, test in zip(self.names, tests, strict=True)},
        )

    def counted(self, counts: Mapping[str, Floats], metric: Counted, labels: Sequence[object] | None) -> Tested:
        """Of a statistic of added counts; what is noise in a row is noise in the sums that are tested.

        Args:
            counts: By name of the system, shape ``(n_rows, n_counts)``, of rows that every system defines.
            metric: Makes a value of their sums.
            labels: Group of each row, None where each is drawn by itself.
        """
        every, pairs = list(counts.values()), self._pairs(counts)
        tests = summed_tests(
            *(every, pairs, metric.without_noise), resamples=self.test_resamples, seed=self.seed, groups=labels
        )
        # The value of a corpus without a match is shown as the metric has it, and its interval is that of this number.
        ends = iter(
            summed_intervals(
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
            {name: summed_value(own, metric.value) for name, own in counts.items()},
            {name: next(ends) for name in counts},
            {pair: (test, next(ends)) for pair, test in zip(self.names, tests, strict=True)},
        )

    def _pairs(self, systems: Iterable[str]) -> list[tuple[int, int]]:
        """The pairs as places among the systems."""
        index = {name: number for number, name in enumerate(systems)}
        return [(index[first], index[second]) for first, second in self.names]


class RowDifferences:
    """Differences of single rows between systems, over the rows that all of them define; noise ties."""

    def __init__(self, scores: Scores, noise: Noise) -> None:
        every = {name: np.asarray(own, dtype=np.float64) for name, own in scores.items()}
        self._lacking = np.isnan(list(every.values())).any(axis=0)
        self._scores = {name: np.where(self._lacking, np.nan, own) for name, own in every.items()}
        self._noise = {name: np.asarray(own, dtype=np.bool_) for name, own in noise.items()}

    def between(self, first: str, second: str) -> npt.NDArray[np.float64]:
        """First - second of each row, shape ``(n_rows,)``: 0 where scores tie, NaN where any system has none."""
        apart = differences(self._scores[first], self._scores[second])
        if self._noise:
            apart[self._noise[first] & self._noise[second] & ~self._lacking] = 0.0
        return apart
