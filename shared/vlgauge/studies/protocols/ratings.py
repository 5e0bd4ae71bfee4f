"""Captions that people rated: rank correlation of scores and ratings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from vlgauge.progress import Progress
from vlgauge.statistics import RESAMPLES, grouped_intervals
from vlgauge.studies.protocols.evaluation import Evaluation, Figure, Floats, Ints, checked_scores, task_signature


def kendall(scores: Floats, ratings: Floats, variant: Literal["b", "c"]) -> float:
    """Kendall's tau times 100, as scipy has it.

    tau-c (Stuart, 1953) is 2(P - Q) / (n^2 (m - 1) / m) with m the smaller number of different values, which takes the
    classes to be filled evenly; where most ratings are equal, as in Flickr8k-CF, it is far below tau-b.

    Args:
        scores: shape ``(n,)``, without NaN.
        ratings: shape ``(n,)``, without NaN.
        variant: Treatment of ties.

    Returns:
        In [-100, 100]; NaN without two different scores and two different ratings.
    """
    from scipy.stats import kendalltau

    if _is_constant(scores) or _is_constant(ratings):
        return math.nan
    return 100 * float(kendalltau(scores, ratings, variant=variant).statistic)


def spearman(scores: Floats, ratings: Floats) -> float:
    """Spearman's rank correlation times 100, as scipy has it; NaN where `kendall` is."""
    from scipy.stats import spearmanr

    if _is_constant(scores) or _is_constant(ratings):
        return math.nan
    return 100 * float(spearmanr(scores, ratings).statistic)


def _is_constant(values: Floats) -> bool:
    return not len(values) or bool(np.all(values == values[0]))


def tau_figures(scores: Floats, ratings: Floats) -> dict[str, float]:
    """Both variants of tau, every rating being a row of its own.

    Args:
        scores: shape ``(n,)``.
        ratings: shape ``(n, 1)``.
    """
    column = ratings[:, 0]
    return {"tau_b": kendall(scores, column, "b"), "tau_c": kendall(scores, column, "c")}


def annotator_figures(scores: Floats, ratings: Floats) -> dict[str, float]:
    """The rule of VATEX-EVAL: correlation with each annotator, of which the mean is taken.

    Scores are rounded to four decimals before, the means (of correlations, not yet times 100) after.

    Args:
        scores: shape ``(n,)``.
        ratings: shape ``(n, n_annotators)``.
    """
    rounded = np.around(scores, 4)
    taus = [kendall(rounded, column, "b") for column in ratings.T]
    rhos = [spearman(rounded, column) for column in ratings.T]
    return {"tau_b": 100 * round(_mean(taus) / 100, 4), "spearman": 100 * round(_mean(rhos) / 100, 4)}


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


@dataclass(frozen=True)
class RatedCaptions:
    """A `Task` of captions with ratings.

    Attributes:
        name: Name of the protocol.
        columns: Rows to be scored.
        ratings: shape ``(n_rows, n_annotators)``, without NaN; one column where every rating has a row.
        groups: Image or video of each row.
        rules: Fields of the signature.
        figures: From scores and ratings to the figures by name.
        left_out: Rows of the files that have no place here, by reason.
    """

    unit: ClassVar[str] = "rows"

    name: str
    columns: Mapping[str, list[Any]]
    ratings: Floats
    groups: Sequence[str]
    rules: Mapping[str, Any]
    figures: Callable[[Floats, Floats], dict[str, float]] = tau_figures
    left_out: Mapping[str, int] = field(default_factory=dict)

    def evaluate(
        self,
        scores: Sequence[float],
        *,
        level: float = 0.95,
        resamples: int = RESAMPLES,
        seed: int = 0,
        progress: Progress = False,
    ) -> Evaluation:
        """Correlations with intervals; rows whose score is NaN are left out and counted.

        Args:
            scores: One per row.
            level: Coverage of the intervals.
            resamples: Number of bootstrap samples of images; 0 for no interval.
            seed: Of the samples.
            progress: As in `progress_bar`.

        Raises:
            ValueError: If there is not one score per row, or ``level`` or ``resamples`` is out of range.
            TypeError: If a score is no number.
        """
        values = checked_scores(scores, len(self.ratings))
        rows = np.flatnonzero(~np.isnan(values))
        groups = [self.groups[i] for i in rows.tolist()]

        def statistic(drawn: Ints) -> list[float]:
            return list(self.figures(values[rows[drawn]], self.ratings[rows[drawn]]).values())

        ends = grouped_intervals(statistic, groups, level=level, resamples=resamples, seed=seed, progress=progress)
        found = self.figures(values[rows], self.ratings[rows])
        figures = {
            name: Figure(value, low, high) for (name, value), (low, high) in zip(found.items(), ends, strict=True)
        }
        rules = {**self.rules, "level": level, "resamples": resamples, "seed": seed}
        n_groups, undefined = len(set(groups)), len(values) - len(rows)
        return Evaluation(figures, len(rows), n_groups, undefined, task_signature(self.name, rules))
