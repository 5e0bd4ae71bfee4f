"""Rank correlations of samples, from contingency tables: Kendall's tau-b and tau-c and Spearman's rho."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

# Maximum number of different ratings in a table. A larger table needs more memory and time than it saves.
MAX_CLASSES = 64


def is_constant(values: Floats) -> bool:
    """Return whether an array of shape ``(n,)`` has fewer than two different values."""
    return not len(values) or bool(np.all(values == values[0]))


class RankTable:
    """Contingency table of scores and ratings, from which the rank correlations of samples are computed.

    Args:
        scores: Scores without NaN, shape ``(n,)``.
        ratings: Ratings without NaN and with few different values, shape ``(n,)``.
    """

    def __init__(self, scores: Floats, ratings: Floats) -> None:
        levels, row = np.unique(scores, return_inverse=True)
        classes, column = np.unique(ratings, return_inverse=True)
        self.shape = (len(levels), len(classes))
        self._cell = row * len(classes) + column

    def counts(self, drawn: Ints) -> Ints:
        """Count each combination of score and rating in a sample.

        Args:
            drawn: Indices of the sampled rows.

        Returns:
            Counts by ascending score and rating, shape ``(n_scores, n_ratings)``.
        """
        return np.bincount(self._cell[drawn], minlength=math.prod(self.shape)).reshape(self.shape)


def n_classes_of(counts: Ints) -> int:
    """Return the smaller of the numbers of different scores and ratings in a contingency table.

    Args:
        counts: Number of items per score and rating, shape ``(n_scores, n_ratings)``.
    """
    return min(int(np.count_nonzero(counts.sum(axis=1))), int(np.count_nonzero(counts.sum(axis=0))))


def table_taus(counts: Ints) -> tuple[float, float]:
    """Compute tau-b and tau-c of a contingency table.

    tau-c (Stuart, 1953) is 2(P - Q) / (n^2 (m - 1) / m), where m is the smaller number of different values. It assumes
    that the classes are filled evenly. If most ratings are equal, as in Flickr8k-CF, it is far below tau-b.

    Args:
        counts: Number of items per score and rating, ascending, shape ``(n_scores, n_ratings)``.

    Returns:
        tau-b and tau-c, each in [-1, 1]. NaN without two different scores and two different ratings.
    """
    by_score, by_rating, n = counts.sum(axis=1), counts.sum(axis=0), int(counts.sum())
    m = n_classes_of(counts)
    if m < 2:
        return math.nan, math.nan
    # Number of rows with a lower score and each rating, and with a lower score and a lower rating (scores x ratings).
    lower = np.cumsum(counts, axis=0) - counts
    both_lower = np.cumsum(lower, axis=1) - lower
    discordant = lower.sum(axis=1, keepdims=True) - lower - both_lower
    difference = int((counts * (both_lower - discordant)).sum())  # P - Q
    total = n * (n - 1) // 2
    untied = [total - int((own * (own - 1) // 2).sum()) for own in (by_score, by_rating)]
    return difference / math.sqrt(untied[0]) / math.sqrt(untied[1]), 2 * difference * m / (n**2 * (m - 1))


def table_spearman(counts: Ints) -> float:
    """Compute Spearman's rank correlation of a contingency table.

    Args:
        counts: Number of items per score and rating, ascending, shape ``(n_scores, n_ratings)``.

    Returns:
        Coefficient in [-1, 1]. NaN without two different scores and two different ratings.
    """
    sides = counts.sum(axis=1), counts.sum(axis=0)
    if min(map(np.count_nonzero, sides)) < 2:
        return math.nan
    # Mean rank of each score and of each rating, minus the mean of all ranks.
    ranks = [np.cumsum(own) - (own - 1) / 2 - (own.sum() + 1) / 2 for own in sides]
    spread = [math.sqrt(own @ rank**2) for own, rank in zip(sides, ranks, strict=True)]
    return float(ranks[0] @ counts @ ranks[1]) / spread[0] / spread[1]


class SampledTauC:
    """Bias correction for tau-c of bootstrap samples, which is closer to 0 than tau-c of the rows.

    A row that is sampled twice is a tied pair that does not exist among the rows, and a sample may lack a class.
    Without a correction, the interval of scores in perfect agreement with ratings does not reach 1. The corrected value
    uses the number of classes of the rows, and is multiplied by the number of pairs of rows divided by its expectation
    in a sample. The expectation is (1 - 1/g) times all pairs plus the pairs within the g groups. tau-b and Spearman's
    coefficient need no correction, because they are divided by the number of pairs that are not tied.

    Args:
        scores: Scores without NaN, shape ``(n,)``.
        ratings: Ratings without NaN, shape ``(n,)``.
        groups: Label per row. Rows with the same label are sampled together.

    Attributes:
        factor: Number of pairs of rows divided by its expectation in a sample, at least 1.
    """

    def __init__(self, scores: Floats, ratings: Floats, groups: Sequence[object]) -> None:
        sizes = np.array([*Counter(groups).values()], dtype=np.float64)
        n_pairs, within = len(groups) * (len(groups) - 1) / 2, float((sizes * (sizes - 1) / 2).sum())
        n_expected = (1 - 1 / len(sizes)) * n_pairs + within if len(sizes) else 0.0
        self.factor = n_pairs / n_expected if n_expected else 1.0
        self._n_classes = min(len(np.unique(scores)), len(np.unique(ratings)))

    def correct(self, tau_c: float, n_classes: int) -> float:
        """Return the corrected tau-c of a sample.

        Args:
            tau_c: tau-c of the sample. NaN if it is undefined.
            n_classes: Smaller number of different values in the sample, at least 2 unless tau-c is NaN.

        Returns:
            Coefficient clipped to [-1, 1]. NaN if `tau_c` is NaN.
        """
        if math.isnan(tau_c):
            return tau_c
        classes = self._n_classes / (self._n_classes - 1) * (n_classes - 1) / n_classes
        return max(-1.0, min(1.0, tau_c * classes * self.factor))
