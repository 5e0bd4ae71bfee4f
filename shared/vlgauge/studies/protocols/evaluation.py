"""What every protocol gives back: figures of one metric or of several, and the differences between these."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vlgauge.errors import UsageError, UsageTypeError
from vlgauge.signatures import format_signature
from vlgauge.statistics import (
    RESAMPLES,
    bootstrap_pvalue,
    check_enough_resamples,
    check_resampling,
    grouped_samples,
    holm,
    least_bootstrap_pvalue,
    least_resamples,
    percentile_interval,
)
from vlgauge.version import __version__

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

Sampled = Callable[[Ints], Sequence[float]]
"""From positions of items, repeated as they were drawn, to the figures of that sample."""


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
class Difference(Figure):
    """Two metrics on the n items that all metrics define: the first less the second, by one figure.

    Its p-value is NaN without samples of the interval; the adjusted one is after Holm's correction for all pairs.
    """

    first: str
    second: str
    figure: str
    pvalue: float
    adjusted_pvalue: float
    n: int


@dataclass(frozen=True)
class Draws:
    """How far a figure varies with the draws of references.

    Attributes:
        n: Number of draws, whose mean the figure is.
        deviation: Standard deviation of the figure from one draw to another.
    """

    n: int
    deviation: float


@dataclass(frozen=True)
class Evaluation:
    """How a metric does on a data set.

    Attributes:
        figures: By name, in the order of the papers' tables, on the rows or pairs that every metric defines.
        n: Number of these.
        n_groups: Number of images or videos they belong to, which the intervals resample.
        undefined: Number of rows, or of pairs, that this metric leaves undefined.
        signature: The rules, as `task_signature` writes them.
        own_values: The figures on all rows or pairs that this metric defines, as papers have them.
        n_own: Number of these.
        drawn: For rules that draw references several times, how far each figure varies with them; else empty.
    """

    figures: Mapping[str, Figure]
    n: int
    n_groups: int
    undefined: int
    signature: str
    own_values: Mapping[str, float]
    n_own: int
    drawn: Mapping[str, Draws] = field(default_factory=dict)


@dataclass(frozen=True)
class Task(ABC):
    """A data set under the rules of its protocol.

    Attributes:
        unit: What is counted: "rows" or "pairs". These are the items.
        name: Name of the protocol.
        columns: Rows to be scored, as ``metric.compute(**columns)`` takes them.
        groups: Image or video of each item, which the intervals resample.
        rules: Fields of the signature.
        left_out: How many rows of the files the rules leave out, by reason.
    """

    unit: ClassVar[str]

    name: str
    columns: Mapping[str, list[Any]]
    groups: Sequence[str]
    rules: Mapping[str, Any]
    left_out: Mapping[str, int] = field(default_factory=dict, kw_only=True)

    @abstractmethod
    def item_values(self, scores: Sequence[float]) -> Floats:
        """What each item counts, from one score per row; NaN where it is undefined.

        Raises:
            ValueError: If there is not one score per row.
            TypeError: If a score is no number.
        """

    def draws_of(self, scores: Sequence[float], items: Ints) -> dict[str, Draws]:
        """Return how far the figures of some items vary with the draws of references; empty where none are drawn."""
        return {}

    @abstractmethod
    def figures_of(self, values: Floats, items: Ints) -> dict[str, float]:
        """The figures of some items, whose values are defined."""

    @abstractmethod
    def sampled(self, values: Floats, items: Ints) -> Sampled:
        """Return what gives the same figures of samples of these items, in the same order.

        Those of a sample differ from `figures_of` its items in the last digits of a float, and where a figure of rows
        that are drawn twice has to be corrected.
        """


@dataclass(frozen=True)
class Judgement:
    """Several metrics on one data set.

    Attributes:
        evaluations: By name of the metric.
        differences: Of pairs of metrics, by figure.
        n_pairs: Number of pairs that Holm's correction is for, each figure by itself.
        resamples: Number of samples.
        level: Of the intervals; differences are significant at one minus it.
    """

    evaluations: Mapping[str, Evaluation]
    differences: Sequence[Difference]
    n_pairs: int
    resamples: int
    level: float

    @property
    def least_pvalue(self) -> float:
        """The smallest p-value that the samples of the differences can show."""
        return least_bootstrap_pvalue(self.resamples)


def judge(
    task: Task,
    scores: Mapping[str, Sequence[float]],
    *,
    against: str | None = None,
    level: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Judgement:
    """Return the figures of several metrics, and how sure their differences are.

    All figures and differences are of the same items: those that every metric defines, a metric that defines none left
    aside. All metrics are resampled together, by image or video, so that a difference is that of paired samples.

    Args:
        task: The data set.
        scores: One score per row and metric.
        against: The metric that the others are compared with; None for all pairs.
        level: Coverage of the intervals.
        resamples: Number of bootstrap samples; 0 for no interval and no p-value, None for 1,000 or, of many pairs,
            twice the fewest with which a difference can be significant after Holm's correction for the pairs of a
            figure.
        seed: Of the samples.

    Raises:
        ValueError: If there is not one score per row, ``level`` or ``resamples`` is out of range, there are so few
            ``resamples`` that no difference can be significant, or ``against`` is no metric.
        TypeError: If a score is no number.
    """
    check_resampling(level, resamples or 0)
    if against is not None and against not in scores:
        raise UsageError(f"`against` must be one of {', '.join(scores)}, got {against!r}")
    values = {name: task.item_values(own) for name, own in scores.items()}
    defined = {name: np.flatnonzero(~np.isnan(own)) for name, own in values.items()}
    pairs = (
        list(combinations(scores, 2)) if against is None else [(name, against) for name in scores if name != against]
    )
    resamples = checked_resamples(resamples, len(pairs), level)
    every = _common([own for own in defined.values() if len(own)])
    common = {name: every if len(own) else own for name, own in defined.items()}
    found = {name: task.figures_of(values[name], own) for name, own in common.items()}
    samples = _samples(task, values, common, resamples, seed)

    def ends(drawn: Floats) -> Iterator[tuple[float, float]]:
        return (percentile_interval(column, level) for column in drawn.T)

    signature = task_signature(task.name, {**task.rules, "level": level, "resamples": resamples, "seed": seed})
    evaluations = {}
    for name, items in common.items():
        own = defined[name]
        evaluations[name] = Evaluation(
            {
                figure: Figure(value, *end)
                for (figure, value), end in zip(found[name].items(), ends(samples[name]), strict=True)
            },
            n=len(items),
            n_groups=len({task.groups[i] for i in items.tolist()}),
            undefined=len(values[name]) - len(own),
            signature=signature,
            own_values=task.figures_of(values[name], own),
            n_own=len(own),
            drawn=task.draws_of(scores[name], own),
        )
    differences = []
    for first, second in pairs:
        apart = samples[first] - samples[second]
        n = min(len(common[first]), len(common[second]))
        for i, (figure, end) in enumerate(zip(found[first], ends(apart), strict=True)):
            value = found[first][figure] - found[second][figure]
            differences.append(
                Difference(value, *end, first, second, figure, bootstrap_pvalue(apart[:, i]), math.nan, n)
            )
    return Judgement(evaluations, _adjusted(differences), len(pairs), resamples, level)


def _common(every: Sequence[Ints]) -> Ints:
    """Return the items that are in each of several lists; none without a list."""
    return reduce(np.intersect1d, every) if every else np.zeros(0, dtype=np.intp)


def checked_resamples(resamples: int | None, n_pairs: int, level: float) -> int:
    """The number of samples of `judge`, if a difference among some pairs can be significant with it."""
    enough = max(RESAMPLES, 2 * least_resamples(n_pairs, level, sides=2)) if n_pairs else RESAMPLES
    if resamples and n_pairs:
        check_enough_resamples(resamples, n_pairs, level, by_default=enough, sides=2)
    return enough if resamples is None else resamples


def _samples(
    task: Task, values: Mapping[str, Floats], common: Mapping[str, Ints], resamples: int, seed: int
) -> dict[str, Floats]:
    """Return the figures of every metric in the same bootstrap samples, shape ``(resamples, n_figures)`` each.

    Args:
        task: The data set.
        values: By metric what each item counts.
        common: By metric its items: the same ones, or none.
        resamples: Number of samples.
        seed: Of the samples.
    """
    if not common:
        return {}
    items = max(common.values(), key=len)
    parts = [(len(own), task.sampled(values[name], own)) for name, own in common.items()]

    def statistic(drawn: Ints) -> list[float]:
        return [number for n, sampled in parts for number in sampled(drawn if n else drawn[:0])]

    groups = [task.groups[i] for i in items.tolist()]
    drawn = grouped_samples(statistic, groups, resamples=resamples, seed=seed, progress=None)
    return dict(zip(common, np.hsplit(drawn, len(common)), strict=True))


def _adjusted(differences: Sequence[Difference]) -> list[Difference]:
    found = []
    for figure in dict.fromkeys(one.figure for one in differences):
        of = [one for one in differences if one.figure == figure]
        adjusted = holm([one.pvalue for one in of])
        found += [replace(one, adjusted_pvalue=pvalue) for one, pvalue in zip(of, adjusted, strict=True)]
    return found


def task_signature(name: str, rules: Mapping[str, Any]) -> str:
    """What the figures depend on besides the scores, such as ``foil|v:0.1.0|references:4|...``."""
    return format_signature(name, {"v": __version__, **rules})


def checked_scores(scores: Sequence[float], n_rows: int) -> Floats:
    """Scores as an array, shape ``(n_rows,)``; None becomes NaN."""
    if len(scores) != n_rows:
        raise UsageError(f"`scores` must have one score per row of the protocol, {n_rows}, got {len(scores)}")
    try:
        return np.asarray(scores, dtype=np.float64).reshape(n_rows)
    except (TypeError, ValueError):
        raise UsageTypeError(
            "`scores` must be numbers, NaN or None where one is undefined, got something else"
        ) from None
