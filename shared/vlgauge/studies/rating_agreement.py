"""How well scores agree with ratings of people: rank and linear correlations with bootstrap intervals."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.errors import UsageError
from vlgauge.statistics import RESAMPLES, grouped_intervals
from vlgauge.statistics.drawing import check_labels
from vlgauge.studies.protocols.ratings import MAX_CLASSES, RankTable, is_constant, table_spearman, table_taus

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

COEFFICIENTS = ("tau_b", "tau_c", "spearman", "pearson")


@dataclass(frozen=True)
class Correlation:
    """One coefficient of scores and ratings.

    Attributes:
        value: In [-1, 1]; NaN with fewer than two examples, or without two different scores and ratings.
        low: Lower end of its interval; NaN without one.
        high: Upper end.
        pvalue: Of no association, two-sided, as scipy has it.
    """

    value: float
    low: float
    high: float
    pvalue: float


@dataclass(frozen=True)
class Agreement:
    """Agreement of scores with ratings.

    Attributes:
        correlations: By name: Kendall's tau-b, tau-c (Stuart, 1953), Spearman's and Pearson's coefficient.
        n: Number of examples with a score and a rating.
        n_dropped: Number of the others.
    """

    correlations: Mapping[str, Correlation]
    n: int
    n_dropped: int


def agreement(
    scores: Sequence[float],
    ratings: Sequence[float],
    *,
    coefficients: Sequence[str] = COEFFICIENTS,
    groups: Sequence[object] | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Agreement:
    """Agreement of scores with ratings; the intervals draw examples with replacement.

    Args:
        scores: One per example; NaN is left out.
        ratings: One per example, higher for better; NaN is left out.
        coefficients: Which of `COEFFICIENTS`.
        groups: Label per example; those of one label, such as the stories of one image sequence, are drawn together.
        level: Coverage of the percentile intervals.
        resamples: Number of bootstrap samples; 0 for no intervals.
        seed: Of the samples.

    Raises:
        ValueError: If there is not one rating, or one label, per score, a number is infinite, or a coefficient unknown.
    """
    unknown = [name for name in coefficients if name not in COEFFICIENTS]
    if unknown:
        raise UsageError(f"`coefficients` must be of {', '.join(COEFFICIENTS)}, got {unknown[0]!r}")
    first, second = np.asarray(scores, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise UsageError(f"`ratings` must have one rating per score, got shapes {second.shape} and {first.shape}")
    check_labels(len(first), groups)
    for name, values in (("scores", first), ("ratings", second)):
        if np.isinf(values).any():
            raise UsageError(f"`{name}` must be finite or NaN, got {values[np.isinf(values)][0]}")
    kept = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    dropped = len(first) - len(kept)
    first, second = first[kept], second[kept]
    if is_constant(first) or is_constant(second):
        nothing = Correlation(math.nan, math.nan, math.nan, math.nan)
        return Agreement(dict.fromkeys(coefficients, nothing), len(kept), dropped)
    exact = {name: _exact(name, first, second) for name in coefficients}
    intervals = grouped_intervals(
        _sampled(first, second, coefficients),
        range(len(kept)) if groups is None else [groups[i] for i in kept.tolist()],
        read=np.stack([first, second], axis=1),
        level=level,
        resamples=resamples,
        seed=seed,
    )
    found = zip(exact.items(), intervals, strict=True)
    return Agreement({name: Correlation(value, *ends, p) for (name, (value, p)), ends in found}, len(kept), dropped)


def _standardised(values: Floats) -> Floats:
    """Values less their mean, of length 1; scaled first, as squares of tiny ones would be 0."""
    centred = values - values.mean()
    centred /= np.abs(centred).max()
    return centred / math.sqrt(float(centred @ centred))


def _exact(name: str, scores: Floats, ratings: Floats) -> tuple[float, float]:
    from scipy import stats

    found: Any
    with warnings.catch_warnings():
        # Differences next to the last digit are a constant as good as any; what comes of them lies in [-1, 1].
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)
        if name == "pearson":
            found = stats.pearsonr(scores, ratings)
        elif name == "spearman":
            found = stats.spearmanr(scores, ratings)
        else:
            found = stats.kendalltau(scores, ratings, variant="b" if name == "tau_b" else "c")
    return float(found.statistic), float(found.pvalue)


def _sampled(scores: Floats, ratings: Floats, coefficients: Sequence[str]) -> Callable[[Ints], list[float]]:
    """The coefficients of a sample; rank correlations from a table of counts where the ratings have few values."""
    ranks = [name for name in coefficients if name != "pearson"]
    table = RankTable(scores, ratings) if ranks and len(np.unique(ratings)) <= MAX_CLASSES else None

    def figures(drawn: Ints) -> list[float]:
        ours, theirs = scores[drawn], ratings[drawn]
        if is_constant(ours) or is_constant(theirs):
            return [math.nan] * len(coefficients)
        found: dict[str, float] = {}
        if table is not None:
            counts = table.counts(drawn)
            values = (*table_taus(counts), table_spearman(counts))
            found = {name: value / 100 for name, value in zip(COEFFICIENTS, values, strict=False)}
        if "pearson" in coefficients:
            found["pearson"] = float(_standardised(ours) @ _standardised(theirs))  # scipy's takes five times as long
        return [found[name] if name in found else _exact(name, ours, theirs)[0] for name in coefficients]

    return figures
