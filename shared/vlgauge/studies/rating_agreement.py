"""How well do scores agree with ratings: Kendall's tau-c with a bootstrap interval over the examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.statistics import grouped_intervals


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau-c of scores and ratings (Stuart, 1953).

    Attributes:
        tau_c: In [-1, 1]; NaN with fewer than two examples, or without two different scores and ratings.
        pvalue: Of no association, two-sided, as scipy has it.
        low: Lower end of the interval; NaN without one.
        high: Upper end.
        n: Number of examples with a score and a rating.
        n_dropped: Number of the others.
    """

    tau_c: float
    pvalue: float
    low: float
    high: float
    n: int
    n_dropped: int


def agreement(
    scores: Sequence[float],
    ratings: Sequence[float],
    *,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Rank agreement of scores with ratings; the interval draws examples with replacement.

    Args:
        scores: One per example; NaN is left out.
        ratings: One per example; NaN is left out.
        level: Coverage of the percentile interval.
        resamples: Number of bootstrap samples; 0 for no interval.
        seed: Of the samples.

    Raises:
        ValueError: If there is not one rating per score.
    """
    first, second = np.asarray(scores, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"`ratings` must have one rating per score, got shapes {second.shape} and {first.shape}")
    both = ~np.isnan(first) & ~np.isnan(second)
    dropped = int(len(first) - np.count_nonzero(both))
    first, second = first[both], second[both]
    tau, pvalue = _tau_c(first, second)
    ((low, high),) = grouped_intervals(
        lambda drawn: [_tau_c(first[drawn], second[drawn])[0]],
        range(len(first)),
        level=level,
        resamples=0 if math.isnan(tau) else resamples,
        seed=seed,
    )
    return Agreement(tau, pvalue, low, high, len(first), dropped)


def _tau_c(scores: npt.NDArray[np.float64], ratings: npt.NDArray[np.float64]) -> tuple[float, float]:
    from scipy.stats import kendalltau

    if len(np.unique(scores)) < 2 or len(np.unique(ratings)) < 2:
        return math.nan, math.nan
    found = kendalltau(scores, ratings, variant="c")
    return float(found.statistic), float(found.pvalue)
