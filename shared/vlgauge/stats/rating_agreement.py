"""Agreement of scores with human ratings: rank and linear correlations with intervals and p-values."""

import math
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_choice
from vlgauge.stats import FEW, RESAMPLES, compute_grouped_samples, percentile_interval
from vlgauge.stats.drawing import check_labels, check_resampling
from vlgauge.stats.rank_correlation import (
    MAX_CLASSES,
    RankTable,
    SampledTauC,
    is_constant,
    n_classes_of,
    table_spearman,
    table_taus,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

COEFFICIENTS = ("tau_b", "tau_c", "spearman", "pearson")

MOST_PERMUTED = 50
"""Maximum number of examples with permutation p-values. For more examples, tau and rho are nearly normal."""
N_PERMUTATIONS = 9_999
EXACT = "all permutations"
RANDOM = f"{N_PERMUTATIONS:,} random permutations"
APPROXIMATE = "approximation"
PVALUE_NOTE = (
    f"p up to {MOST_PERMUTED} rows from all permutations or {N_PERMUTATIONS:,} random ones, for more rows from "
    "the normal or Student's t distribution"
)
_DIGITS = 9  # decimals to which sums of products of numbers up to 1 are compared
_BATCH = 2**20  # maximum number of products in memory
_LEAST = sys.float_info.min  # minimum p-value, because a p-value is above 0 even if it underflows


@dataclass(frozen=True)
class Correlation:
    """Correlation coefficient of scores and ratings.

    Attributes:
        value: Coefficient in [-1, 1]. NaN for fewer than two examples, or without two different scores and ratings.
        low: Lower end of the interval. NaN without an interval.
        high: Upper end of the interval. NaN without an interval.
        pvalue: Two-sided p-value for no association, above 0. NaN if the value is NaN.
        pvalue_method: Method of the p-value, one of `EXACT`, `RANDOM` and `APPROXIMATE`. Empty without a p-value.
    """

    value: float
    low: float
    high: float
    pvalue: float
    pvalue_method: str = ""

    @property
    def least_pvalue(self) -> float:
        """Smallest p-value that random permutations can give. 0 for the other methods."""
        return 1 / (N_PERMUTATIONS + 1) if self.pvalue_method == RANDOM else 0.0


@dataclass(frozen=True)
class Agreement:
    """Agreement of scores with ratings.

    Attributes:
        correlations: Coefficients by name: Kendall's tau-b, tau-c (Stuart, 1953), Spearman's and Pearson's coefficient.
        n: Number of examples with a score and a rating.
        n_dropped: Number of examples without a score or without a rating.
        n_units: Number of examples, or groups of examples, that the intervals sample.
    """

    correlations: Mapping[str, Correlation]
    n: int
    n_dropped: int
    n_units: int

    @property
    def is_of_few(self) -> bool:
        """Whether the intervals have so few units that they must be marked."""
        return self.n_units < FEW


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
    """Compute the agreement of scores with ratings, with intervals from examples that are sampled with replacement.

    A p-value is the share of the pairings of scores and ratings for which the coefficient is at least as far from 0. Up
    to `MOST_PERMUTED` examples it is computed from all pairings if there are at most 9,999 of them, or if scores and
    ratings have no ties (Kendall's tau), and from 9,999 random pairings otherwise. For more examples it is computed
    with scipy's approximations.

    Args:
        scores: One score per example. NaN is left out.
        ratings: One rating per example, higher for better. NaN is left out.
        coefficients: Names from `COEFFICIENTS`.
        groups: Label per example. Examples with the same label, such as the stories of one image sequence, are sampled
            together.
        level: Coverage of the percentile intervals, in (0, 1).
        resamples: Number of bootstrap samples. 0 computes no intervals.
        seed: Seed of the samples.

    Returns:
        The agreement. All coefficients are NaN if scores or ratings are constant.

    Raises:
        ValueError: If there is not one rating or one label per score, a number is infinite, or a coefficient is
            unknown.
    """
    for name in coefficients:
        check_choice("coefficients", name, COEFFICIENTS)
    first, second = np.asarray(scores, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise UsageError.about(
            "ratings", f"must have one rating per score, got shapes {second.shape} and {first.shape}"
        )
    check_labels(len(first), groups)
    check_resampling(level, resamples, least=0)
    for name, values in (("scores", first), ("ratings", second)):
        if np.isinf(values).any():
            raise UsageError.about(name, f"must be finite or NaN, got {values[np.isinf(values)][0]}")
    kept = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    dropped = len(first) - len(kept)
    first, second = first[kept], second[kept]
    labels: Sequence[object] = range(len(kept)) if groups is None else [groups[i] for i in kept.tolist()]
    n_units = len(set(labels))
    if is_constant(first) or is_constant(second):
        nothing = Correlation(math.nan, math.nan, math.nan, math.nan)
        return Agreement(dict.fromkeys(coefficients, nothing), len(kept), dropped, n_units)
    sampler, values = create_sampler(first, second, coefficients, labels), np.stack([first, second], axis=1)
    samples = compute_grouped_samples(sampler, labels, read=values, resamples=resamples, seed=seed)
    found = {}
    for name, column, tested in zip(coefficients, samples.T, _pvalues(coefficients, first, second), strict=True):
        ends = percentile_interval(column, level)
        found[name] = Correlation(_exact(name, first, second)[0], *ends, *tested)
    return Agreement(found, len(kept), dropped, n_units)


def coefficient(name: str, scores: Sequence[float] | Floats, ratings: Sequence[float] | Floats) -> float:
    """Compute a coefficient of the examples with a score and a rating, without an interval and a p-value.

    Args:
        name: Name from `COEFFICIENTS`.
        scores: One score per example. NaN is left out.
        ratings: One rating per example. NaN is left out.

    Returns:
        Coefficient in [-1, 1]. NaN without two different scores and two different ratings.
    """
    first, second = np.asarray(scores, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    kept = ~np.isnan(first) & ~np.isnan(second)
    first, second = first[kept], second[kept]
    return math.nan if is_constant(first) or is_constant(second) else _exact(name, first, second)[0]


def _pvalues(coefficients: Sequence[str], scores: Floats, ratings: Floats) -> list[tuple[float, str]]:
    """Return the p-value of each coefficient and its method.

    Args:
        coefficients: Names of coefficients.
        scores: Scores with at least two different values, shape ``(n,)``.
        ratings: Ratings with at least two different values, shape ``(n,)``.
    """
    from scipy import stats

    n = len(scores)
    if n > MOST_PERMUTED:
        return [(max(_exact(name, scores, ratings)[1], _LEAST), APPROXIMATE) for name in coefficients]
    method = EXACT if math.factorial(n) <= N_PERMUTATIONS else RANDOM
    known: dict[str, tuple[float, str]] = {}
    if len(np.unique(scores)) == len(np.unique(ratings)) == n:
        exact = float(stats.kendalltau(scores, ratings, method="exact").pvalue)
        known |= dict.fromkeys(("tau_b", "tau_c"), (max(exact, _LEAST), EXACT))
    # Factors of a sum that is proportional to the coefficient in every pairing. For tau-b and tau-c the sum is the
    # number of concordant minus discordant pairs.
    products = {
        "tau": (np.sign(scores[:, None] - scores), np.sign(ratings[:, None] - ratings)),
        "spearman": (_standardize(stats.rankdata(scores)), _standardize(stats.rankdata(ratings))),
        "pearson": (_standardize(scores), _standardize(ratings)),
    }
    found = []
    for name in coefficients:
        key = "tau" if name.startswith("tau") else name
        if name not in known and key not in known:
            known[key] = (_compute_permuted_pvalue(*products[key]), method)
        found.append(known.get(name) or known[key])
    return found


def _compute_permuted_pvalue(ours: Floats, theirs: Floats) -> float:
    """Return the share of pairings for which the sum of products is at least as far from 0 as for the observed pairing.

    Args:
        ours: Value of each example, shape ``(n,)``, or of each pair of examples, shape ``(n, n)``.
        theirs: Values of the other side, with the same shape.
    """
    from scipy import stats

    def distance(order: Ints, axis: int = -1) -> Floats:
        """Return the distance from 0 for pairings of shape ``(..., n)``, after `axis` is moved to the end."""
        placed = np.moveaxis(order, axis, -1).astype(np.intp)
        drawn = theirs[placed] if theirs.ndim == 1 else theirs[placed[..., :, None], placed[..., None, :]]
        sums = (drawn * ours).reshape(*placed.shape[:-1], -1).sum(axis=-1)
        return np.round(np.abs(sums), _DIGITS)

    found = stats.permutation_test(
        (np.arange(len(ours)),),
        distance,
        permutation_type="pairings",
        n_resamples=N_PERMUTATIONS,
        batch=_BATCH // ours.size + 1,
        alternative="greater",
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)


def _standardize(values: Floats) -> Floats:
    """Return centered values of norm 1. They are scaled first, because the squares of tiny values underflow."""
    centred = values - values.mean()
    centred /= np.abs(centred).max()
    return centred / math.sqrt(float(centred @ centred))


def _exact(name: str, scores: Floats, ratings: Floats) -> tuple[float, float]:
    from scipy import stats

    found: Any
    with warnings.catch_warnings():
        # Differences in the last digits make the input nearly constant, but the coefficient is still in [-1, 1].
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)
        if name == "pearson":
            found = stats.pearsonr(scores, ratings)
        elif name == "spearman":
            found = stats.spearmanr(scores, ratings)
        else:
            found = stats.kendalltau(scores, ratings, variant="b" if name == "tau_b" else "c")
    return float(found.statistic), float(found.pvalue)


def create_sampler(
    scores: Floats, ratings: Floats, coefficients: Sequence[str], groups: Sequence[object]
) -> Callable[[Ints], list[float]]:
    """Return a function that computes the coefficients of samples, with tau-c corrected by `SampledTauC`.

    Rank correlations are computed from a contingency table if there are few different ratings.

    Args:
        scores: Scores without NaN, shape ``(n,)``.
        ratings: Ratings without NaN, shape ``(n,)``.
        coefficients: Names from `COEFFICIENTS`.
        groups: Label per row. Rows with the same label are sampled together.

    Returns:
        Function from indices of rows, repeated as sampled, to one value per coefficient.
    """
    tau_c = SampledTauC(scores, ratings, groups)
    ranks = [name for name in coefficients if name != "pearson"]
    table = RankTable(scores, ratings) if ranks and len(np.unique(ratings)) <= MAX_CLASSES else None

    def figures(drawn: Ints) -> list[float]:
        found: dict[str, float] = {}
        n_classes = 0
        if table is not None:
            counts = table.counts(drawn)
            found = dict(zip(("tau_b", "tau_c"), table_taus(counts), strict=True))
            found |= {"spearman": table_spearman(counts)} if "spearman" in ranks else {}
            n_classes = n_classes_of(counts) if "tau_c" in ranks else 0
        if rest := [name for name in coefficients if name not in found]:
            ours, theirs = scores[drawn], ratings[drawn]
            if is_constant(ours) or is_constant(theirs):
                return [math.nan] * len(coefficients)
            if "pearson" in rest:
                found["pearson"] = float(_standardize(ours) @ _standardize(theirs))  # five times faster than scipy
            found |= {name: _exact(name, ours, theirs)[0] for name in rest if name != "pearson"}
            n_classes = min(len(np.unique(ours)), len(np.unique(theirs))) if "tau_c" in rest else n_classes
        if "tau_c" in ranks:
            found["tau_c"] = tau_c.correct(found["tau_c"], n_classes)
        return [found[name] for name in coefficients]

    return figures
