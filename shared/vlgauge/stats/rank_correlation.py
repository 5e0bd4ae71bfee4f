"""Rank correlations with ratings: Kendall's tau-b and tau-c and Spearman's rho, also of tables of counts."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

# A table of more different ratings would take more memory and time than it saves.
MAX_CLASSES = 64


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

    if is_constant(scores) or is_constant(ratings):
        return math.nan
    return 100 * float(kendalltau(scores, ratings, variant=variant).statistic)


def spearman(scores: Floats, ratings: Floats) -> float:
    """Spearman's rank correlation times 100, as scipy has it; NaN where `kendall` is."""
    from scipy.stats import spearmanr

    if is_constant(scores) or is_constant(ratings):
        return math.nan
    return 100 * float(spearmanr(scores, ratings).statistic)


def is_constant(values: Floats) -> bool:
    """Whether there are no two different values."""
    return not len(values) or bool(np.all(values == values[0]))


class RankTable:
    """Scores against ratings as a table of counts, from which the rank correlations of many samples are taken.

    Args:
        scores: shape ``(n,)``, without NaN.
        ratings: shape ``(n,)``, without NaN, of few different values.
    """

    def __init__(self, scores: Floats, ratings: Floats) -> None:
        levels, row = np.unique(scores, return_inverse=True)
        classes, column = np.unique(ratings, return_inverse=True)
        self.shape = (len(levels), len(classes))
        self._cell = row * len(classes) + column

    def counts(self, drawn: Ints) -> Ints:
        """How often a sample has each score and rating, both ascending; shape ``(n_scores, n_ratings)``."""
        return np.bincount(self._cell[drawn], minlength=math.prod(self.shape)).reshape(self.shape)


def n_classes_of(counts: Ints) -> int:
    """Return the smaller number of different values, of scores or of ratings, in a table of counts."""
    return min(int(np.count_nonzero(counts.sum(axis=1))), int(np.count_nonzero(counts.sum(axis=0))))


def table_taus(counts: Ints) -> tuple[float, float]:
    """tau-b and tau-c of a table of counts, times 100, see `kendall`; NaN without two scores and two ratings."""
    by_score, by_rating, n = counts.sum(axis=1), counts.sum(axis=0), int(counts.sum())
    m = n_classes_of(counts)
    if m < 2:
        return math.nan, math.nan
    # Of the rows with a lower score: how many have each rating, and how many a lower one; scores x ratings.
    lower = np.cumsum(counts, axis=0) - counts
    both_lower = np.cumsum(lower, axis=1) - lower
    discordant = lower.sum(axis=1, keepdims=True) - lower - both_lower
    difference = int((counts * (both_lower - discordant)).sum())  # P - Q
    total = n * (n - 1) // 2
    untied = [total - int((own * (own - 1) // 2).sum()) for own in (by_score, by_rating)]
    return 100 * difference / math.sqrt(untied[0]) / math.sqrt(untied[1]), 200 * difference * m / (n**2 * (m - 1))


def table_spearman(counts: Ints) -> float:
    """Spearman's rank correlation of a table of counts, times 100; NaN where `table_taus` are."""
    sides = counts.sum(axis=1), counts.sum(axis=0)
    if min(map(np.count_nonzero, sides)) < 2:
        return math.nan
    # Mean rank of each score and of each rating, less the mean of all ranks.
    ranks = [np.cumsum(own) - (own - 1) / 2 - (own.sum() + 1) / 2 for own in sides]
    spread = [math.sqrt(own @ rank**2) for own, rank in zip(sides, ranks, strict=True)]
    return 100 * float(ranks[0] @ counts @ ranks[1]) / spread[0] / spread[1]


class SampledTauC:
    """Correct tau-c of bootstrap samples of rows, which is nearer to 0 than that of the rows.

    A row that is drawn twice is a tied pair that the rows do not have, and a sample may lack a class: without a
    correction the interval of scores in perfect agreement with ratings does not reach 1. The classes are counted in the
    rows, and the value is multiplied by the number of pairs of rows over that expected in a sample,
    (1 - 1/g) times all pairs plus the pairs within the g groups. tau-b and Spearman's coefficient, which divide by what
    is not tied, need no correction.

    Args:
        scores: shape ``(n,)``, without NaN.
        ratings: shape ``(n,)``, without NaN.
        groups: Label per row; rows of one label are drawn together.

    Attributes:
        factor: Number of pairs of rows over that expected in a sample, at least 1.
    """

    def __init__(self, scores: Floats, ratings: Floats, groups: Sequence[object]) -> None:
        sizes = np.array([*Counter(groups).values()], dtype=np.float64)
        n_pairs, within = len(groups) * (len(groups) - 1) / 2, float((sizes * (sizes - 1) / 2).sum())
        n_expected = (1 - 1 / len(sizes)) * n_pairs + within if len(sizes) else 0.0
        self.factor = n_pairs / n_expected if n_expected else 1.0
        self._n_classes = min(len(np.unique(scores)), len(np.unique(ratings)))

    def corrected(self, tau_c: float, n_classes: int) -> float:
        """Return the corrected tau-c, times 100 as it comes in.

        Args:
            tau_c: Of a sample, times 100; NaN if it is undefined.
            n_classes: The smaller number of different values in the sample, at least 2 unless tau-c is NaN.
        """
        if math.isnan(tau_c):
            return tau_c
        classes = self._n_classes / (self._n_classes - 1) * (n_classes - 1) / n_classes
        return max(-100.0, min(100.0, tau_c * classes * self.factor))
