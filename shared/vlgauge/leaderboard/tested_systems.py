"""Intervals and tests of systems and of their pairs: of means of scores, and of counts that are added first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.results import mean_of_defined
from vlgauge.statistics import (
    Interval,
    PairedTest,
    Statistic,
    bootstrap_intervals,
    differences,
    paired_tests,
    summed_intervals,
    summed_tests,
    summed_value,
)

Floats = npt.NDArray[np.float64]
Scores: TypeAlias = Mapping[str, Sequence[float]]
"""By name of the system, in the order of the rows."""


@dataclass(frozen=True)
class Tested:
    """Values, intervals and tests by one metric.

    Attributes:
        values: Of each system.
        intervals: Of the value of each system.
        pairs: Of each pair of systems, first minus second, the test and the interval.
    """

    values: Mapping[str, float]
    intervals: Mapping[str, Interval | None]
    pairs: Mapping[tuple[str, str], tuple[PairedTest, Interval | None]]


@dataclass(frozen=True)
class Drawn:
    """How rows are drawn, for which pairs of systems.

    Attributes:
        names: The pairs.
        groups: Label per row, None where each row is drawn by itself.
        level: Of the intervals.
        resamples: Of the intervals and the tests.
        seed: Of both.
    """

    names: Sequence[tuple[str, str]]
    groups: Sequence[object] | None
    level: float
    resamples: int
    seed: int

    def means(self, scores: Sequence[Scores]) -> list[Tested]:
        """Of the means of every metric; in one call each, which draws the samples once."""
        both = [(own[first], own[second]) for own in scores for first, second in self.names]
        tests = paired_tests(both, resamples=self.resamples, seed=self.seed, groups=self.groups)
        columns = [column for own in scores for column in own.values()]
        columns += [differences(first, second).tolist() for first, second in both]
        ends = bootstrap_intervals(
            columns, level=self.level, resamples=self.resamples, seed=self.seed, groups=self.groups
        )
        of_systems, of_pairs = iter(ends), zip(tests, ends[len(columns) - len(both) :], strict=True)
        return [
            Tested(
                {name: mean_of_defined(column) for name, column in own.items()},
                {name: next(of_systems) for name in own},
                {pair: next(of_pairs) for pair in self.names},
            )
            for own in scores
        ]

    def counted(self, counts: Mapping[str, Floats], statistic: Statistic) -> Tested:
        """Of a statistic of added counts.

        Args:
            counts: By name of the system, shape ``(n_rows, n_counts)``, NaN where a row is undefined.
            statistic: From their sums to the value.
        """
        every, index = list(counts.values()), {name: number for number, name in enumerate(counts)}
        pairs = [(index[first], index[second]) for first, second in self.names]
        tests = summed_tests(every, pairs, statistic, resamples=self.resamples, seed=self.seed, groups=self.groups)
        contrasts = [*((number,) for number in index.values()), *pairs]
        ends = iter(
            summed_intervals(
                *(every, contrasts, statistic),
                level=self.level,
                resamples=self.resamples,
                seed=self.seed,
                groups=self.groups,
            )
        )
        return Tested(
            {name: summed_value(own, statistic) for name, own in counts.items()},
            {name: next(ends) for name in index},
            {pair: (test, next(ends)) for pair, test in zip(self.names, tests, strict=True)},
        )
