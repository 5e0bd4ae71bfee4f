"""What every protocol gives back, and intervals that resample images: rows of one image depend on each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import ClassVar
from typing import Protocol

import numpy as np
import numpy.typing as npt

import vlgauge
from vlgauge.progress import Progress
from vlgauge.progress import progress_bar

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

RESAMPLES = 1000


@dataclass(frozen=True)
class Figure:
    """One number of a table, times 100, with its percentile interval.

    Attributes:
        value: The number; NaN if it is undefined.
        low: Lower end of the interval; NaN without one.
        high: Upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """How a metric does on a data set.

    Attributes:
        figures: By name, in the order of the papers' tables.
        n: Number of rows, or of pairs, that counted.
        n_groups: Number of images or videos they belong to, which the intervals resample.
        undefined: Number of rows, or of pairs, that were left out because a score is NaN.
        signature: The rules, as `task_signature` writes them.
    """

    figures: Mapping[str, Figure]
    n: int
    n_groups: int
    undefined: int
    signature: str


class Task(Protocol):
    """A data set under the rules of its protocol.

    Attributes:
        unit: What is counted: "rows" or "pairs".
    """

    unit: ClassVar[str]

    @property
    def name(self) -> str:
        """Name of the protocol."""
        ...

    @property
    def columns(self) -> Mapping[str, list[Any]]:
        """Rows to be scored, as ``metric.compute(**columns)`` takes them."""
        ...

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many rows of the files the rules leave out, by reason."""
        ...

    def evaluate(
        self,
        scores: Sequence[float],
        *,
        level: float = 0.95,
        resamples: int = RESAMPLES,
        seed: int = 0,
        progress: Progress = False,
    ) -> Evaluation:
        """The figures of one score per row, in the order of ``columns``."""
        ...


def task_signature(name: str, rules: Mapping[str, Any]) -> str:
    """What the figures depend on besides the scores, such as ``foil|0.1.0|references:4|...``."""
    return "|".join([name, vlgauge.__version__, *(f"{key}:{value}" for key, value in rules.items())])


def checked_scores(scores: Sequence[float], n_rows: int) -> Floats:
    """Scores as an array, shape ``(n_rows,)``; None becomes NaN.

    Raises:
        ValueError: If there is not one per row.
        TypeError: If one is no number.
    """
    if len(scores) != n_rows:
        raise ValueError(f"`scores` must have one score per row of the protocol, {n_rows}, got {len(scores)}")
    try:
        return np.asarray(scores, dtype=np.float64).reshape(n_rows)
    except (TypeError, ValueError):
        raise TypeError("`scores` must be numbers, NaN or None where one is undefined, got something else") from None


def check_resampling(level: float, resamples: int) -> None:
    """Refuse values that no interval can have.

    Raises:
        ValueError: If ``level`` does not lie between 0 and 1, or ``resamples`` is negative.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must lie between 0 and 1, got {level}")
    if resamples < 0:
        raise ValueError(f"`resamples` must be at least 0, which is for no interval, got {resamples}")


def grouped_intervals(
    statistic: Callable[[Ints], Sequence[float]],
    groups: Sequence[object],
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress = False,
) -> list[tuple[float, float]]:
    """Percentile bootstrap intervals of statistics that are no means, drawing groups of rows with replacement.

    For means `vlgauge.statistics.bootstrap_interval` is faster. Samples in which a statistic is undefined, such as a
    correlation of ratings that are all equal, are left out of its interval.

    Args:
        statistic: From row indices, repeated as they were drawn, to one or more numbers.
        groups: Label per row; rows of one label, such as the captions of one image, are drawn together.
        level: Coverage of the intervals.
        resamples: Number of samples; 0 for no interval.
        seed: Of the samples.
        progress: As in `progress_bar`.

    Returns:
        Low and high end per statistic; NaN without samples, or with fewer than two groups.

    Raises:
        ValueError: If ``level`` or ``resamples`` is out of range.
    """
    check_resampling(level, resamples)
    order, starts, counts = _rows_by_group(groups)
    n_statistics = len(statistic(np.arange(len(groups))))
    if resamples == 0 or len(counts) < 2:
        return [(math.nan, math.nan)] * n_statistics
    rng = np.random.default_rng(seed)
    samples = np.empty((resamples, n_statistics))
    with progress_bar(resamples, "Resampling", progress) as advance:
        for i in range(resamples):
            drawn = rng.integers(0, len(counts), len(counts))
            samples[i] = statistic(order[_places(starts[drawn], counts[drawn])])
            advance(1)
    return [_percentiles(column[~np.isnan(column)], level) for column in samples.T]


def _rows_by_group(groups: Sequence[object]) -> tuple[Ints, Ints, Ints]:
    """Row indices sorted by group, and where the rows of each group start and how many they are."""
    place: dict[object, int] = {}
    labels = np.array([place.setdefault(group, len(place)) for group in groups], dtype=np.intp)
    counts = np.bincount(labels, minlength=len(place))
    return np.argsort(labels, kind="stable"), np.cumsum(counts) - counts, counts


def _places(starts: Ints, counts: Ints) -> Ints:
    """The ranges start, ..., start + count - 1, one after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


def _percentiles(values: Floats, level: float) -> tuple[float, float]:
    if not len(values):
        return math.nan, math.nan
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
