"""Results of every protocol: figures of each metric, and differences between metrics."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.signatures import format_signature
from vlgauge.stats import (
    RESAMPLES,
    bootstrap_pvalue,
    compute_grouped_samples,
    holm,
    min_resamples,
    percentile_interval,
)
from vlgauge.stats.drawing import check_resampling
from vlgauge.stats.resampling import least_bootstrap_pvalue
from vlgauge.stats.significance import check_enough_resamples
from vlgauge.version import __version__

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

Sampled = Callable[[Ints], Sequence[float]]
"""Maps indices of items, repeated as drawn, to the figures of that sample."""


@dataclass(frozen=True)
class Figure:
    """Value of a table, times 100, with its percentile interval.

    Attributes:
        value: Value. NaN if undefined.
        low: Low end of the interval. NaN without an interval.
        high: High end of the interval.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference(Figure):
    """Difference of two metrics (first minus second) in one figure, on the n items that all metrics define.

    The p-value is NaN without bootstrap samples. The adjusted p-value has Holm's correction over all pairs.
    """

    first: str
    second: str
    figure: str
    pvalue: float
    adjusted_pvalue: float
    n: int


@dataclass(frozen=True)
class Draws:
    """Variation of a figure between draws of references.

    Attributes:
        n: Number of draws. The figure is their mean.
        deviation: Standard deviation of the figure between draws.
    """

    n: int
    deviation: float


@dataclass(frozen=True)
class Evaluation:
    """Results of a metric on a dataset.

    Attributes:
        figures: Figures by name, in the order of the papers' tables, on the items (rows or pairs) that every metric
            defines.
        n: Number of these items.
        n_groups: Number of their images or videos, which the intervals resample.
        undefined: Number of items that this metric leaves undefined.
        signature: Rules in the format of `task_signature`.
        own_values: Figures on all items that this metric defines, as in the papers.
        n_own: Number of items that this metric defines.
        drawn: Variation of each figure between draws of references. Empty if references are not drawn several times.
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
    """Dataset under the rules of its protocol.

    Attributes:
        unit: Items that are counted: "rows" or "pairs".
        group_unit: Units that the intervals resample. Empty for the images or videos of the columns.
        name: Name of the protocol.
        columns: Rows to score, the arguments of ``metric.compute(**columns)``.
        groups: Image or video of each item, which the intervals resample.
        rules: Fields of the signature.
        left_out: Number of rows of the files that the rules leave out, by reason.
        released: Scores that are published with the dataset, one per row, by family.
    """

    unit: ClassVar[str]
    group_unit: ClassVar[str] = ""

    name: str
    columns: Mapping[str, list[Any]]
    groups: Sequence[str]
    rules: Mapping[str, Any]
    left_out: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    released: Mapping[str, Sequence[float]] = field(default_factory=dict, kw_only=True)

    @abstractmethod
    def item_values(self, scores: Sequence[float]) -> Floats:
        """Compute the value of each item from one score per row, shape ``(n_items,)``. NaN if undefined.

        Raises:
            ValueError: If there is not one score per row.
            TypeError: If a score is not a number.
        """

    def draws_of(self, scores: Sequence[float], items: Ints) -> dict[str, Draws]:
        """Compute the variation of the figures between draws of references, by name. Empty if none are drawn.

        Args:
            scores: One score per row.
            items: Indices of the items with defined values, shape ``(n_kept,)``.
        """
        return {}

    @abstractmethod
    def figures_of(self, values: Floats, items: Ints) -> dict[str, float]:
        """Compute the figures of items with defined values, by name.

        Args:
            values: Values of all items, shape ``(n_items,)``.
            items: Indices of the items with defined values, shape ``(n_kept,)``.
        """

    @abstractmethod
    def create_sampler(self, values: Floats, items: Ints) -> Sampled:
        """Return a function that computes the figures of samples of these items, in the same order.

        Its results may differ from `figures_of` in the last digits, and where a figure is corrected for repeated items.

        Args:
            values: Values of all items, shape ``(n_items,)``.
            items: Indices of the items with defined values, shape ``(n_kept,)``.

        Returns:
            Function from positions in `items`, repeated as sampled, to one value per figure.
        """


@dataclass(frozen=True)
class Judgement:
    """Results of several metrics on one dataset.

    Attributes:
        evaluations: Results by name of the metric.
        differences: Differences of pairs of metrics, for each figure.
        n_pairs: Number of pairs in Holm's correction, which is applied to each figure separately.
        resamples: Number of bootstrap samples.
        level: Coverage of the intervals. Differences are tested at the level one minus this.
    """

    evaluations: Mapping[str, Evaluation]
    differences: Sequence[Difference]
    n_pairs: int
    resamples: int
    level: float

    @property
    def least_pvalue(self) -> float:
        """Smallest p-value that is possible with this number of samples."""
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
    """Compute the figures of several metrics, and the significance of their differences.

    All figures and differences use the items that every metric defines, ignoring metrics that define none. All metrics
    are resampled together, by image or video, so differences are computed from paired samples.

    Args:
        task: Dataset with its protocol.
        scores: One score per row, by metric.
        against: Metric that the others are compared with. None for all pairs.
        level: Coverage of the intervals.
        resamples: Number of bootstrap samples. 0 for no intervals and no p-values. None for 1,000 or, with many pairs,
            for twice the minimum with which a difference can be significant after Holm's correction over the pairs of a
            figure.
        seed: Seed of the samples.

    Raises:
        ValueError: If there is not one score per row, `level` or `resamples` is out of range, no difference can be
            significant with so few `resamples`, or `against` is not a key of `scores`.
        TypeError: If a score is not a number.
    """
    check_resampling(level, resamples or 0, least=0)
    if against is not None and against not in scores:
        raise UsageError.about("against", f"must be one of {', '.join(scores)}, got {against!r}")
    values = {name: task.item_values(own) for name, own in scores.items()}
    defined = {name: np.flatnonzero(~np.isnan(own)) for name, own in values.items()}
    pairs = (
        list(combinations(scores, 2)) if against is None else [(name, against) for name in scores if name != against]
    )
    resamples = check_resamples(resamples, len(pairs), level)
    every = _common([own for own in defined.values() if len(own)])
    common = {name: every if len(own) else own for name, own in defined.items()}
    found = {name: task.figures_of(values[name], own) for name, own in common.items()}
    samples = _samples(task, values, common, resamples, seed)

    signature = task_signature(task.name, {**task.rules, "level": level, "resamples": resamples, "seed": seed})
    evaluations = {}
    for name, items in common.items():
        own = defined[name]
        evaluations[name] = Evaluation(
            {
                figure: Figure(value, *percentile_interval(column, level))
                for (figure, value), column in zip(found[name].items(), samples[name].T, strict=True)
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
    for column, figure in enumerate(next(iter(found.values()), {})):
        apart = [samples[first][:, column] - samples[second][:, column] for first, second in pairs]
        pvalues = [bootstrap_pvalue(sampled) for sampled in apart]
        adjusted = holm(pvalues)
        for (first, second), sampled, pvalue, corrected in zip(pairs, apart, pvalues, adjusted, strict=True):
            value = found[first][figure] - found[second][figure]
            ends = percentile_interval(sampled, level)
            n = min(len(common[first]), len(common[second]))
            differences.append(Difference(value, *ends, first, second, figure, pvalue, corrected, n))
    return Judgement(evaluations, differences, len(pairs), resamples, level)


def _common(every: Sequence[Ints]) -> Ints:
    """Return the items that occur in every list, or no items if there are no lists."""
    return reduce(np.intersect1d, every) if every else np.zeros(0, dtype=np.intp)


def check_resamples(resamples: int | None, n_pairs: int, level: float) -> int:
    """Return the number of samples for `judge`.

    Args:
        resamples: Requested number. None for the default described in `judge`.
        n_pairs: Number of compared pairs.
        level: Coverage of the intervals.

    Raises:
        ValueError: If no difference can be significant with the requested number.
    """
    enough = max(RESAMPLES, 2 * min_resamples(n_pairs, level, sides=2)) if n_pairs else RESAMPLES
    if resamples and n_pairs:
        check_enough_resamples(resamples, n_pairs, level, by_default=enough, sides=2)
    return enough if resamples is None else resamples


def _samples(
    task: Task, values: Mapping[str, Floats], common: Mapping[str, Ints], resamples: int, seed: int
) -> dict[str, Floats]:
    """Compute the figures of every metric in the same bootstrap samples, shape ``(resamples, n_figures)`` each.

    Args:
        task: Dataset with its protocol.
        values: Value of each item, by metric.
        common: Items by metric, either the common items or none.
        resamples: Number of samples.
        seed: Seed of the samples.
    """
    if not common:
        return {}
    items = max(common.values(), key=len)
    parts = [(len(own), task.create_sampler(values[name], own)) for name, own in common.items()]

    def statistic(drawn: Ints) -> list[float]:
        return [number for n, sampled in parts for number in sampled(drawn if n else drawn[:0])]

    groups = [task.groups[i] for i in items.tolist()]
    drawn = compute_grouped_samples(statistic, groups, resamples=resamples, seed=seed, progress=None)
    return dict(zip(common, np.hsplit(drawn, len(common)), strict=True))


def task_signature(name: str, rules: Mapping[str, Any]) -> str:
    """Return the rules as a signature such as ``foil|v:0.1.0|references:4|...``, without the settings of the scores."""
    return format_signature(name, {"v": __version__, **rules})


def percent_by_kind(values: Floats, kinds: Ints, n_kinds: int) -> Floats:
    """Compute the mean of the values of each kind in percent, shape ``(n_kinds,)``. NaN for a kind without values."""
    with np.errstate(invalid="ignore"):
        sums = np.bincount(kinds, weights=values, minlength=n_kinds)
        return 100 * sums / np.bincount(kinds, minlength=n_kinds)


def check_scores(scores: Sequence[float], n_rows: int) -> Floats:
    """Convert scores to an array, shape ``(n_rows,)``, float64. None becomes NaN.

    Raises:
        ValueError: If there is not one score per row.
        TypeError: If a score is not a number.
    """
    if len(scores) != n_rows:
        raise UsageError.about("scores", f"must have one score per row of the protocol, {n_rows}, got {len(scores)}")
    try:
        return np.asarray(scores, dtype=np.float64).reshape(n_rows)
    except (TypeError, ValueError):
        raise UsageTypeError.about("scores", "must be numbers, or NaN or None if undefined") from None
