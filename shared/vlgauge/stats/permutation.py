"""Permutation tests on sets of captions, and p-values combined over a corpus.

Null hypothesis, everywhere: the n candidate and the m reference captions of a row are exchangeable, so every one
of the C(n+m, n) ways to call n of the pooled captions "candidates" was equally likely. Large statistics speak against
it. Pooled order everywhere: candidates first, then references.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import chain, combinations
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.results import mean_of_defined
from vlgauge.stats.intervals import bootstrap_interval

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PVALUE_MODES = ("exact", "auto", "monte_carlo")
# Which values of a statistic speak against the null hypothesis, and the sign that makes them large.
SIGNS = {"large": 1.0, "small": -1.0}

TOLERANCE = 1e-9  # values this close tie: rounding parts what is equal by much less
_SMALLEST_RECIPROCAL = 1e-300  # below it 1/p may be infinite


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
            rows of the same sizes), or "auto": exact up to `max_partitions`, else Monte-Carlo.
        max_partitions: largest number of partitions that is enumerated.
        draws: number of random partitions, with replacement.
        seed: seed of the random partitions.

    Raises:
        ValueError: unknown `pvalue`, sizes or `draws` below 1, or too many partitions for "exact".
    """
    if pvalue not in PVALUE_MODES:
        raise UsageError(f"`pvalue` must be one of {', '.join(map(repr, PVALUE_MODES))}, got {pvalue!r}")
    for name, value in (("n", n), ("m", m), ("draws", draws)):
        if value < 1:
            raise UsageError(f"`{name}` must be at least 1, got {value}")
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
        raise UsageError(
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
def permutation_pvalues(null: npt.ArrayLike, *, tolerance: npt.ArrayLike = TOLERANCE) -> Floats:
    """The share of partitions whose statistic is at least the observed one.

    With all partitions this is the exact #{Q_b >= Q_obs} / P. With B random ones beside the identity it is
    (b + 1) / (B + 1) (Phipson and Smyth, 2010, "Permutation p-values should never be zero").

    Args:
        null: shape ``(S, P)``, statistics of S rows under P partitions, the identity in column 0.
        tolerance: values this little below the observed one still count as equal to it, one number or shape ``(S,)``;
            0 for integers.

    Returns:
        shape ``(S,)``, in [1/P, 1]; NaN for a row that holds NaN.
    """
    values = np.asarray(null)
    share = np.mean(values >= values[:, :1] - np.asarray(tolerance)[..., None], axis=1)
    return np.where(np.isnan(values).any(axis=1), np.nan, share)


def expected_log_pvalues(null: npt.ArrayLike, *, tolerance: npt.ArrayLike = TOLERANCE) -> Floats:
    """The expectation of ln p under the null hypothesis, when every partition is as likely to be the observed one.

    It is -1 for a continuous statistic of very many partitions only. The p-values of few captions lie on a lattice, on
    which it is nearer to 0: for Q of TRM about -0.6 at 2 v 3, and -0.93 at 5 v 5.

    Args:
        null: shape ``(S, P)``, finite statistics of S rows under P partitions.
        tolerance: gap up to which neighbouring values tie, one number or shape ``(S,)``.

    Returns:
        shape ``(S,)``, at most 0.
    """
    values = np.asarray(null, dtype=np.float64)
    gaps = np.broadcast_to(np.asarray(tolerance, dtype=np.float64), len(values))
    expected = np.empty(len(values))
    n_ways = values.shape[1]
    # ln p of a value above which, or tied with which, all but the first k of the sorted values lie.
    logs = np.log1p(-np.arange(n_ways) / n_ways)
    step = max(1, 2**18 // n_ways)
    for start in range(0, len(values), step):
        block = np.sort(values[start : start + step], axis=1)
        rises = np.diff(block, axis=1) > gaps[start : start + step, None]
        firsts = np.maximum.accumulate(np.where(rises, np.arange(1, n_ways), 0), axis=1)
        expected[start : start + step] = logs[firsts].sum(axis=1) / n_ways  # the smallest value adds ln 1
    return expected


def harmonic_mean_pvalue(pvalues: Iterable[float]) -> float:
    """The raw harmonic mean p-value L / sum(1/p_i) (Wilson, 2019, PNAS 116(4), eq. 1); too small as a p-value.

    NaN entries are left out; NaN if none is left.
    """
    defined = _defined_pvalues(pvalues)
    if not defined.size:
        return math.nan
    smallest = defined.min()  # 1/p of a denormal number would be infinite
    return float(smallest * (defined.size / np.sum(smallest / defined)))


def calibrated_harmonic_pvalue(pvalues: Iterable[float]) -> float:
    """The harmonic mean p-value calibrated by its asymptotic law (Wilson, 2019, PNAS 116(4), eq. 4).

    Under the null 1/p° of L uniform p-values tends to a Landau law with location ln L + 1 - gamma + ln(pi/2) and scale
    pi/2; the result is its upper tail at the observed 1/p°. One p-value is its own combination.

    The law is that of *continuous* p-values. Those of permutation tests of few captions lie on a lattice, on which it
    rejects too little: of 100 rows at 5 v 5 its size at .05 is 0 and its power next to 0. It is here for the
    comparison with the paper; the test of a corpus is that of `SetTest`.

    NaN entries are left out; NaN if none is left.
    """
    defined = _defined_pvalues(pvalues)
    if defined.size <= 1:
        return float(defined[0]) if defined.size else math.nan
    raw = harmonic_mean_pvalue(defined)
    if raw < _SMALLEST_RECIPROCAL:
        return raw  # the tail of the law at 1/p° is p° itself, to more digits than a float has
    from scipy.stats import landau  # takes longer to import than most calls need altogether

    location = math.log(defined.size) + 1.0 - np.euler_gamma + math.log(math.pi / 2)
    return float(landau.sf(1.0 / raw, loc=location, scale=math.pi / 2))


def mean_log_pvalue(pvalues: Iterable[float]) -> float:
    """The mean of ln p_i: the "log p" of Chan et al., Figure 3, Tables B.1 and B.2.

    Of equal distributions it is the mean of `expected_log_pvalues`. NaN entries are left out; NaN if none is left.
    """
    defined = _defined_pvalues(pvalues)
    return float(np.mean(np.log(defined))) if defined.size else math.nan


def _defined_pvalues(pvalues: Iterable[float]) -> Floats:
    """The entries that are not NaN, checked to lie in (0, 1]."""
    values = np.array(list(pvalues), dtype=np.float64)
    values = values[~np.isnan(values)]
    outside = values[(values <= 0.0) | (values > 1.0)]
    if outside.size:
        raise UsageError(f"`pvalues` must lie in (0, 1] or be NaN, got {outside[0]}")
    return values


def _standard_deviations(null: Floats) -> Floats:
    """Population standard deviation of each row, also where the squares of its values overflow or vanish."""
    _, exponents = np.frexp(np.abs(null).max(axis=1))
    scaled = np.ldexp(null, -exponents[:, None])  # by a power of 2, which rounds nothing
    return np.ldexp(scaled.std(axis=1), exponents)


# ---------------------------------------------------------------------------------------------------------------------
# A corpus
# ---------------------------------------------------------------------------------------------------------------------
class SetTest:
    """Per-row permutation tests, and the stratified permutation test of the corpus.

    Null distributions come in by `add`, for any groups of rows in any order; only a few numbers per row and
    one sum per draw are kept. Examples never added, or added with a value that is not finite, are undefined: NaN, left
    out of every aggregate.

    The stratified permutation test shuffles inside each row independently; its statistic is the mean over rows.
    Draw b of row s takes one of its partitions from ``default_rng([seed, s])``, or from the key of the row in
    the place of s: the draws of a row do not depend on how rows were grouped.

    Attributes:
        pvalues: shape ``(n_rows,)``, in (0, 1].
        expected_log_pvalues: shape ``(n_rows,)``, see `expected_log_pvalues`.
        excess_scores: shape ``(n_rows,)``, observed statistic less its null mean.
        null_means: shape ``(n_rows,)``, mean of the statistic over the partitions.
        null_stds: shape ``(n_rows,)``, population standard deviation; exactly 0 where all partitions tie.
        zscores: shape ``(n_rows,)``, excess / null std; NaN where the std is 0.
        observed: shape ``(n_rows,)``, the observed statistic.
        tolerances: shape ``(n_rows,)``, values this close tie.
        sums: shape ``(draws,)``, the statistic of each draw, summed over the defined rows.
    """

    ROWS: ClassVar[tuple[str, ...]] = (
        *("pvalues", "expected_log_pvalues", "observed", "null_means", "null_stds", "zscores", "tolerances"),
    )

    def __init__(
        self,
        n_rows: int,
        *,
        extreme: str = "large",
        draws: int = 9_999,
        seed: int = 0,
        keys: Sequence[int] | None = None,
    ) -> None:
        """Begin a corpus without any row.

        Args:
            n_rows: number of rows, undefined ones included.
            extreme: which values speak against the null hypothesis, "large" or "small".
            draws: number of random partitions of the whole corpus.
            seed: seed of the random partitions and of the interval of the excess.
            keys: a whole number of at least 0 per row, from which its draws come; by default its position.

        Raises:
            ValueError: unknown `extreme`.
        """
        if extreme not in SIGNS:
            raise UsageError(f"`extreme` must be one of {', '.join(map(repr, SIGNS))}, got {extreme!r}")
        self.sign = SIGNS[extreme]
        self.seed = seed
        self.pvalues = np.full(n_rows, np.nan)
        self.expected_log_pvalues = np.full(n_rows, np.nan)
        self.observed = np.full(n_rows, np.nan)
        self.null_means = np.full(n_rows, np.nan)
        self.null_stds = np.full(n_rows, np.nan)
        self.zscores = np.full(n_rows, np.nan)
        self.tolerances = np.zeros(n_rows)
        self.sums = np.zeros(draws)
        self._rounding = 0.0  # of the sums, beyond that of floats
        self._keys = range(n_rows) if keys is None else keys

    @property
    def excess_scores(self) -> Floats:
        """Observed statistic less its null mean, shape ``(n_rows,)``."""
        return self.observed - self.null_means

    def add(
        self,
        rows: Sequence[int],
        null: npt.ArrayLike,
        *,
        pvalues: npt.ArrayLike | None = None,
        tolerance: npt.ArrayLike = TOLERANCE,
    ) -> None:
        """Take in the null distributions of some rows of equal sizes.

        Args:
            rows: positions of the S rows in the corpus, each added once.
            null: shape ``(S, P)``, statistics under the partitions, the observed one in column 0.
            pvalues: shape ``(S,)``, where the caller compared more exactly than floats allow; else
                `permutation_pvalues` of `null`.
            tolerance: values this close tie, one number or shape ``(S,)``.

        Raises:
            ValueError: `null` has not one row per entry of `rows`, or a row was added before.
        """
        where = np.asarray(rows, dtype=np.intp)
        values = np.asarray(null, dtype=np.float64)
        if values.ndim != 2 or len(values) != len(where):
            raise UsageError(f"`null` must have one row for each of {len(where)} `rows`, got shape {values.shape}")
        if len(np.unique(where)) < len(where) or not np.isnan(self.observed[where]).all():
            raise UsageError(f"`rows` must hold each row once and none added before, got {where.tolist()}")
        gaps = np.broadcast_to(np.asarray(tolerance, dtype=np.float64), len(values))
        defined = np.isfinite(values).all(axis=1)
        shares = permutation_pvalues(self.sign * values, tolerance=gaps) if pvalues is None else np.asarray(pvalues)
        self._fill(where[defined], values[defined], shares[defined], gaps[defined])

    def _fill(self, rows: npt.NDArray[np.intp], null: Floats, pvalues: Floats, gaps: Floats) -> None:
        """Store the numbers of defined rows and add their random partitions to the sums."""
        self.pvalues[rows] = pvalues
        self.expected_log_pvalues[rows] = expected_log_pvalues(self.sign * null, tolerance=gaps)
        self.observed[rows] = null[:, 0]
        # Rounding leaves a spread of 1e-17 among equal values: an excess or a z-score of that would be noise.
        equal = np.ptp(null, axis=1) <= gaps
        self.null_means[rows] = np.where(equal, null[:, 0], null.mean(axis=1))
        self.null_stds[rows] = np.where(equal, 0.0, _standard_deviations(null))
        self.tolerances[rows] = gaps
        spread = np.where(self.null_stds[rows] > 0.0, self.null_stds[rows], np.nan)
        self.zscores[rows] = self.excess_scores[rows] / spread
        dtype = np.uint16 if null.shape[1] <= 2**16 else np.uint32
        for row, values in zip(rows.tolist(), null, strict=True):
            draw = np.random.default_rng([self.seed, self._keys[row]]).integers(
                0, len(values), self.sums.size, dtype=dtype
            )
            self.sums += values.take(draw)

    def restore(self, rows: Mapping[str, npt.ArrayLike], sums: npt.ArrayLike, rounding: float) -> None:
        """Take in a whole corpus whose rows were added to other tests.

        Args:
            rows: the attributes of `ROWS`, shape ``(n_rows,)`` each.
            sums: sums over all rows, shape ``(draws,)``.
            rounding: how far a sum may be off.
        """
        for name in self.ROWS:
            setattr(self, name, np.asarray(rows[name], dtype=np.float64))
        self.sums, self._rounding = np.asarray(sums, dtype=np.float64), rounding

    def stratified(self) -> tuple[float, float]:
        """The z-score and the Monte-Carlo p-value, in [1/(draws+1), 1], of the mean over the defined rows.

        z = sum(Q_s - mu_s) / sqrt(sum sigma_s^2). Both NaN if no row varies over its partitions. If only one does,
        p is that of this row: nothing is drawn where it is known exactly.
        """
        defined = ~np.isnan(self.observed)
        spread = math.hypot(*self.null_stds[defined].tolist())  # no square is too large or too small for it
        if not spread > 0.0:
            return math.nan, math.nan
        total = np.sum(self.observed[defined])
        z = (total - np.sum(self.null_means[defined])) / spread
        varying = np.flatnonzero(self.null_stds > 0.0)
        if len(varying) == 1:
            return float(z), float(self.pvalues[varying[0]])
        slack = np.sum(self.tolerances) + self._rounding
        as_extreme = np.count_nonzero(self.sign * (self.sums - total) >= -slack)
        return float(z), float((as_extreme + 1) / (self.sums.size + 1))

    def excess_interval(self) -> tuple[float, float]:
        """The 95% interval of the mean excess, see `bootstrap_interval`; NaN with fewer than two defined rows."""
        interval = bootstrap_interval(self.excess_scores.tolist(), seed=self.seed)
        return (math.nan, math.nan) if interval is None else (interval.low, interval.high)

    def summary(self) -> dict[str, float | list[float]]:
        """Per-row lists and corpus numbers as Python floats, by the names of the result keys."""
        z, pvalue = self.stratified()
        return {
            "pvalue": pvalue,
            "z": z,
            "excess": mean_of_defined(self.excess_scores.tolist()),
            "excess_interval": list(self.excess_interval()),
            "null_mean": mean_of_defined(self.null_means.tolist()),
            "mean_log_pvalue": mean_log_pvalue(self.pvalues),
            "expected_mean_log_pvalue": mean_of_defined(self.expected_log_pvalues.tolist()),
            "pvalues": self.pvalues.tolist(),
            "excess_scores": self.excess_scores.tolist(),
            "null_means": self.null_means.tolist(),
            "zscores": self.zscores.tolist(),
        }
