"""Permutation tests on sets of captions, and p-values combined over a corpus.

Null hypothesis, everywhere: the n candidate and the m reference captions of an example are exchangeable, so every one
of the C(n+m, n) ways to call n of the pooled captions "candidates" was equally likely. Large statistics speak against
it. Pooled order everywhere: candidates first, then references.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from itertools import combinations

import numpy as np
import numpy.typing as npt

from vlgauge.results import mean_of_defined

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PVALUE_MODES = ("exact", "auto", "monte_carlo")


# ---------------------------------------------------------------------------------------------------------------------
# Partitions
# ---------------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Partitions:
    """Ways to call n of the N = n+m pooled captions candidates.

    Attributes:
        candidates: shape ``(P, N)``, read-only, True where a caption counts as a candidate; row 0 is the identity.
        exact: whether every partition is there, each once.
        count: number of all partitions, C(N, n), whether enumerated or drawn from.
    """

    candidates: Bools
    exact: bool
    count: int


def partitions(
    n: int, m: int, *, pvalue: str = "auto", max_partitions: int = 20_000, draws: int = 9_999, seed: int = 0
) -> Partitions:
    """The partitions that a permutation test of n candidates and m references compares.

    Equal sizes are not halved: mirror images tie only for statistics that are symmetric in the two sides, and the
    mean score of the base metrics is not.

    Args:
        n: number of candidates, at least 1.
        m: number of references, at least 1.
        pvalue: "exact" (all partitions), "monte_carlo" (the identity and `draws` random ones, one sample for all
            examples of the same sizes), or "auto": exact up to `max_partitions`, else Monte-Carlo.
        max_partitions: largest number of partitions that is enumerated.
        draws: number of random partitions, with replacement.
        seed: seed of the random partitions.

    Raises:
        ValueError: unknown `pvalue`, sizes or `draws` below 1, or too many partitions for "exact".
    """
    if pvalue not in PVALUE_MODES:
        raise ValueError(f"`pvalue` must be one of {', '.join(map(repr, PVALUE_MODES))}, got {pvalue!r}")
    for name, value in (("n", n), ("m", m), ("draws", draws)):
        if value < 1:
            raise ValueError(f"`{name}` must be at least 1, got {value}")
    count = math.comb(n + m, n)
    if pvalue == "exact":
        check_partition_count(n, m, max_partitions)
    if pvalue == "exact" or (pvalue == "auto" and count <= max_partitions):
        return _every_partition(n, m)
    return _random_partitions(n, m, draws, seed)


def check_partition_count(n: int, m: int, max_partitions: int) -> None:
    """Refuse an exact test of more than `max_partitions` partitions.

    Raises:
        ValueError: If there are more; the message names how many.
    """
    count = math.comb(n + m, n)
    if count > max_partitions:
        readable = str(count) if count < 10**9 else f"{Decimal(count):.1e}".replace("e+", "e")
        raise ValueError(
            f"`pvalue`='exact' must have at most `max_partitions`={max_partitions} partitions, got {readable} for "
            f"{n} candidates and {m} references; raise `max_partitions` or use 'auto'"
        )


@lru_cache(maxsize=16)
def _every_partition(n: int, m: int) -> Partitions:
    """All C(n+m, n) partitions in lexicographic order, so the identity comes first."""
    count = math.comb(n + m, n)
    members = chain.from_iterable(combinations(range(n + m), n))
    columns = np.fromiter(members, dtype=np.intp, count=count * n).reshape(count, n)
    candidates = np.zeros((count, n + m), dtype=np.bool_)
    np.put_along_axis(candidates, columns, True, axis=1)
    candidates.setflags(write=False)
    return Partitions(candidates, exact=True, count=count)


@lru_cache(maxsize=16)
def _random_partitions(n: int, m: int, draws: int, seed: int) -> Partitions:
    """The identity and `draws` uniform partitions from ``default_rng([seed, n, m])``."""
    candidates = np.zeros((draws + 1, n + m), dtype=np.bool_)
    candidates[:, :n] = True
    np.random.default_rng([seed, n, m]).permuted(candidates[1:], axis=1, out=candidates[1:])
    candidates.setflags(write=False)
    return Partitions(candidates, exact=False, count=math.comb(n + m, n))


# ---------------------------------------------------------------------------------------------------------------------
# p-values
# ---------------------------------------------------------------------------------------------------------------------
def permutation_pvalues(null: npt.ArrayLike, *, tolerance: float = 1e-9) -> Floats:
    """The share of partitions whose statistic is at least the observed one.

    With all partitions this is the exact #{Q_b >= Q_obs} / P. With B random ones beside the identity it is
    (b + 1) / (B + 1) (Phipson and Smyth, 2010, "Permutation p-values should never be zero").

    Args:
        null: shape ``(S, P)``, statistics of S examples under P partitions, the identity in column 0.
        tolerance: values this little below the observed one still count as equal to it; 0 for integers.

    Returns:
        shape ``(S,)``, in [1/P, 1]; NaN for a row that holds NaN.
    """
    values = np.asarray(null)
    share = np.mean(values >= values[:, :1] - tolerance, axis=1)
    return np.where(np.isnan(values).any(axis=1), np.nan, share)


def harmonic_mean_pvalue(pvalues: Iterable[float]) -> float:
    """The raw harmonic mean p-value L / sum(1/p_i) (Wilson, 2019, PNAS 116(4), eq. 1); too small as a p-value.

    NaN entries are left out; NaN if none is left.
    """
    defined = _defined_pvalues(pvalues)
    return float(defined.size / np.sum(1.0 / defined)) if defined.size else math.nan


def calibrated_harmonic_pvalue(pvalues: Iterable[float]) -> float:
    """The harmonic mean p-value calibrated by its asymptotic law (Wilson, 2019, PNAS 116(4), eq. 4).

    Under the null 1/p° of L uniform p-values tends to a Landau law with location ln L + 1 - gamma + ln(pi/2) and scale
    pi/2; the result is its upper tail at the observed 1/p°. One p-value is its own combination.

    NaN entries are left out; NaN if none is left.
    """
    defined = _defined_pvalues(pvalues)
    if defined.size <= 1:
        return float(defined[0]) if defined.size else math.nan
    from scipy.stats import landau  # takes longer to import than most calls need altogether

    location = math.log(defined.size) + 1.0 - np.euler_gamma + math.log(math.pi / 2)
    return float(landau.sf(1.0 / harmonic_mean_pvalue(defined), loc=location, scale=math.pi / 2))


def mean_log_pvalue(pvalues: Iterable[float]) -> float:
    """The mean of ln p_i, -1 for uniform p-values: the "log p" of Chan et al., Figure 3, Tables B.1 and B.2.

    NaN entries are left out; NaN if none is left.
    """
    defined = _defined_pvalues(pvalues)
    return float(np.mean(np.log(defined))) if defined.size else math.nan


def _defined_pvalues(pvalues: Iterable[float]) -> Floats:
    """The entries that are not NaN, checked to lie in (0, 1]."""
    values = np.array(list(pvalues), dtype=np.float64)
    values = values[~np.isnan(values)]
    outside = values[(values <= 0.0) | (values > 1.0)]
    if outside.size:
        raise ValueError(f"`pvalues` must lie in (0, 1] or be NaN, got {outside[0]}")
    return values


# ---------------------------------------------------------------------------------------------------------------------
# A corpus
# ---------------------------------------------------------------------------------------------------------------------
class SetTest:
    """Per-example permutation tests and the corpus-level numbers made of them.

    Null distributions come in by `add`, for any groups of examples in any order; only a few numbers per example and
    one sum per draw are kept. Examples never added, or added with a value that is not finite, are undefined: NaN, left
    out of every aggregate.

    The stratified permutation test shuffles inside each example independently; its statistic is the mean over examples.
    Draw b of example s takes one of its partitions from ``default_rng([seed, s])``: the draws of an example do not
    depend on how examples were grouped.

    Attributes:
        pvalues: shape ``(n_examples,)``, in (0, 1].
        null_means: shape ``(n_examples,)``, mean of the statistic over the partitions.
        null_stds: shape ``(n_examples,)``, population standard deviation; exactly 0 where all partitions tie.
        zscores: shape ``(n_examples,)``, (observed - null mean) / null std; NaN where the std is 0.
    """

    def __init__(self, n_examples: int, *, draws: int = 9_999, seed: int = 0, tolerance: float = 1e-9) -> None:
        """Start without any example.

        Args:
            n_examples: number of examples in the corpus.
            draws: number B of random partitions of the stratified test.
            seed: seed of the random partitions.
            tolerance: statistics this close count as equal.
        """
        self.seed = seed
        self.tolerance = tolerance
        self.pvalues = np.full(n_examples, np.nan)
        self.observed = np.full(n_examples, np.nan)
        self.null_means = np.full(n_examples, np.nan)
        self.null_stds = np.full(n_examples, np.nan)
        self.zscores = np.full(n_examples, np.nan)
        self._sums = np.zeros(draws)

    def add(self, rows: Sequence[int], null: npt.ArrayLike, *, pvalues: npt.ArrayLike | None = None) -> None:
        """Take in the null distributions of some examples of equal sizes.

        Args:
            rows: positions of the S examples in the corpus, each added once.
            null: shape ``(S, P)``, statistics under the partitions, the observed one in column 0.
            pvalues: shape ``(S,)``, where the caller compared more exactly than floats allow; else
                `permutation_pvalues` of `null`.

        Raises:
            ValueError: `null` has not one row per entry of `rows`, or an example was added before.
        """
        where = np.asarray(rows, dtype=np.intp)
        values = np.asarray(null, dtype=np.float64)
        if values.ndim != 2 or len(values) != len(where):
            raise ValueError(f"`null` must have one row for each of {len(where)} `rows`, got shape {values.shape}")
        if len(np.unique(where)) < len(where) or not np.isnan(self.observed[where]).all():
            raise ValueError(f"`rows` must hold each example once and none added before, got {where.tolist()}")
        defined = np.isfinite(values).all(axis=1)
        shares = permutation_pvalues(values, tolerance=self.tolerance) if pvalues is None else np.asarray(pvalues)
        self._fill(where[defined], values[defined], shares[defined])

    def _fill(self, rows: npt.NDArray[np.intp], null: Floats, pvalues: Floats) -> None:
        """Store the numbers of defined examples and add their random partitions to the sums."""
        self.pvalues[rows] = pvalues
        self.observed[rows] = null[:, 0]
        self.null_means[rows] = null.mean(axis=1)
        # Rounding leaves a spread of 1e-17 among equal values: a z-score of that would be noise.
        self.null_stds[rows] = np.where(np.ptp(null, axis=1) <= self.tolerance, 0.0, null.std(axis=1))
        deviation = self.observed[rows] - self.null_means[rows]
        spread = np.where(self.null_stds[rows] > 0.0, self.null_stds[rows], np.nan)
        self.zscores[rows] = deviation / spread
        dtype = np.uint16 if null.shape[1] <= 2**16 else np.uint32
        for row, values in zip(rows.tolist(), null, strict=True):
            draw = np.random.default_rng([self.seed, row]).integers(0, len(values), self._sums.size, dtype=dtype)
            self._sums += values[draw]

    def stratified(self) -> tuple[float, float]:
        """The z-score and the Monte-Carlo p-value, in [1/(draws+1), 1], of the mean over the defined examples.

        z = sum(Q_s - mu_s) / sqrt(sum sigma_s^2). Both NaN if no example varies over its partitions.
        """
        defined = ~np.isnan(self.observed)
        variance = np.sum(self.null_stds[defined] ** 2)
        if not variance > 0.0:
            return math.nan, math.nan
        total = np.sum(self.observed[defined])
        z = (total - np.sum(self.null_means[defined])) / math.sqrt(variance)
        as_large = np.count_nonzero(self._sums >= total - self.tolerance * np.count_nonzero(defined))
        return float(z), float((as_large + 1) / (self._sums.size + 1))

    def summary(self) -> dict[str, float | list[float]]:
        """Per-example lists and corpus numbers as Python floats, by the names of the result keys."""
        z, pvalue = self.stratified()
        return {
            "pvalues": self.pvalues.tolist(),
            "pvalue": calibrated_harmonic_pvalue(self.pvalues),
            "pvalue_harmonic": harmonic_mean_pvalue(self.pvalues),
            "mean_log_pvalue": mean_log_pvalue(self.pvalues),
            "null_means": self.null_means.tolist(),
            "zscores": self.zscores.tolist(),
            "null_mean": mean_of_defined(self.null_means.tolist()),
            "stratified_z": z,
            "stratified_pvalue": pvalue,
        }
