"""Captions with human ratings: rank correlation of scores and ratings."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vlgauge.research.protocols.evaluation import Floats, Ints, Sampled, Task, check_scores
from vlgauge.stats.rank_correlation import (
    MAX_CLASSES,
    RankTable,
    SampledTauC,
    kendall,
    n_classes_of,
    spearman,
    table_spearman,
    table_taus,
)


def tau_figures(scores: Floats, ratings: Floats) -> dict[str, float]:
    """Compute tau-b and tau-c, with one row per rating.

    Args:
        scores: Scores, shape ``(n,)``.
        ratings: Ratings, shape ``(n, 1)``.
    """
    column = ratings[:, 0]
    return {"tau_b": kendall(scores, column, "b"), "tau_c": kendall(scores, column, "c")}


def annotator_figures(scores: Floats, ratings: Floats) -> dict[str, float]:
    """Compute the mean correlation over the annotators, by the rule of VATEX-EVAL.

    Scores are rounded to four decimals before, and means (of correlations, before multiplying by 100) after.

    Args:
        scores: Scores, shape ``(n,)``.
        ratings: Ratings, shape ``(n, n_annotators)``.
    """
    rounded = np.around(scores, 4)
    taus = [kendall(rounded, column, "b") for column in ratings.T]
    rhos = [spearman(rounded, column) for column in ratings.T]
    return {"tau_b": 100 * round(_mean(taus) / 100, 4), "spearman": 100 * round(_mean(rhos) / 100, 4)}


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def create_tau_sampler(scores: Floats, ratings: Floats, groups: Sequence[object]) -> Sampled:
    """Return a function that computes `tau_figures` of samples, with tau-c corrected by `SampledTauC`.

    Args:
        scores: Shape ``(n,)``.
        ratings: Shape ``(n, 1)``.
        groups: Label per item.

    Returns:
        Function from indices of items, repeated as sampled, to tau-b and tau-c, each times 100.
    """
    column = ratings[:, 0]
    tau_c = SampledTauC(scores, column, groups)
    if len(np.unique(column)) > MAX_CLASSES:

        def exact(drawn: Ints) -> list[float]:
            own, theirs = scores[drawn], column[drawn]
            n_classes = min(len(np.unique(own)), len(np.unique(theirs)))
            return [kendall(own, theirs, "b"), tau_c.correct(kendall(own, theirs, "c"), n_classes)]

        return exact
    table = RankTable(scores, column)

    def of_counts(drawn: Ints) -> tuple[float, float]:
        counts = table.counts(drawn)
        taus = table_taus(counts)
        return taus[0], tau_c.correct(taus[1], n_classes_of(counts))

    return of_counts


def create_annotator_sampler(scores: Floats, ratings: Floats, groups: Sequence[object]) -> Sampled:
    """Return a function that computes `annotator_figures` of samples.

    Args:
        scores: Shape ``(n,)``.
        ratings: Shape ``(n, n_annotators)``.
        groups: Label per item, which is not used.

    Returns:
        Function from indices of items, repeated as sampled, to the means over the annotators of tau-b and Spearman's
        coefficient, each times 100.
    """
    if len(np.unique(ratings)) > MAX_CLASSES:
        return lambda drawn: list(annotator_figures(scores[drawn], ratings[drawn]).values())
    rounded = np.around(scores, 4)
    tables = [RankTable(rounded, column) for column in ratings.T]

    def figures(drawn: Ints) -> list[float]:
        counts = [table.counts(drawn) for table in tables]
        means = _mean([table_taus(own)[0] for own in counts]), _mean([table_spearman(own) for own in counts])
        return [100 * round(mean / 100, 4) for mean in means]

    return figures


def correlation_figures(scores: Floats, ratings: Floats) -> dict[str, float]:
    """Compute Spearman's rho and tau-b, with one row per rating.

    Args:
        scores: Scores, shape ``(n,)``.
        ratings: Ratings, shape ``(n, 1)``.
    """
    column = ratings[:, 0]
    return {"spearman": spearman(scores, column), "tau_b": kendall(scores, column, "b")}


def create_correlation_sampler(scores: Floats, ratings: Floats, groups: Sequence[object]) -> Sampled:
    """Return a function that computes `correlation_figures` of samples."""
    if len(np.unique(ratings)) > MAX_CLASSES:
        return lambda drawn: list(correlation_figures(scores[drawn], ratings[drawn]).values())
    table = RankTable(scores, ratings[:, 0])

    def figures(drawn: Ints) -> list[float]:
        counts = table.counts(drawn)
        return [table_spearman(counts), table_taus(counts)[0]]

    return figures


@dataclass(frozen=True)
class RatingRule:
    """Function that computes figures by name from scores and ratings as scipy does, and a faster one for samples."""

    exact: Callable[[Floats, Floats], dict[str, float]]
    sampled: Callable[[Floats, Floats, Sequence[object]], Sampled]


TAUS = RatingRule(tau_figures, create_tau_sampler)
ANNOTATORS = RatingRule(annotator_figures, create_annotator_sampler)
CORRELATIONS = RatingRule(correlation_figures, create_correlation_sampler)


@dataclass(frozen=True)
class RatedCaptions(Task):
    """Task with rated captions.

    Attributes:
        ratings: Ratings, shape ``(n_rows, n_annotators)``, without NaN. One column if every rating has its own row.
        rule: Functions that compute the figures from scores and ratings.
    """

    unit: ClassVar[str] = "rows"

    ratings: Floats
    rule: RatingRule = TAUS

    def item_values(self, scores: Sequence[float]) -> Floats:
        """Return the scores, shape ``(n_rows,)``.

        Raises:
            ValueError: If there is not one score per row.
        """
        return check_scores(scores, len(self.ratings))

    def figures_of(self, values: Floats, items: Ints) -> dict[str, float]:
        """Compute the correlations of scores and ratings, each times 100, by name."""
        return self.rule.exact(values[items], self.ratings[items])

    def create_sampler(self, values: Floats, items: Ints) -> Sampled:
        """Return a function that computes the values of `figures_of` for positions in `items`."""
        groups = [self.groups[i] for i in items.tolist()]
        return self.rule.sampled(values[items], self.ratings[items], groups)
