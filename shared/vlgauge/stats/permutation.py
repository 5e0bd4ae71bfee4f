"""Permutation tests on caption sets, and combinations of their p-values over a corpus.

The null hypothesis is always that the n candidates and the m references of a row are exchangeable, so all C(n+m, n)
choices of n candidates among the pooled captions are equally likely. Large statistics are evidence against it. Pooled
captions are always ordered with the candidates first.
"""

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
from vlgauge.core.validation import check_choice, check_int
from vlgauge.stats.intervals import bootstrap_interval

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PVALUE_MODES = ("exact", "auto", "monte_carlo")
"""Values of the setting `pvalue` of the metrics of caption sets."""

SIGNS = {"large": 1.0, "small": -1.0}
"""Extreme values of a statistic under the null hypothesis, and the sign that makes them large."""

TOLERANCE = 1e-9
"""Maximum gap of ties, far above the rounding error of equal values."""
_SMALLEST_RECIPROCAL = 1e-300  # below it 1/p may overflow


# ---------------------------------------------------------------------------------------------------------------------
# Partitions
# ---------------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Partitions:
    """Ways to choose n candidates among the N = n+m pooled captions.

    Attributes:
        candidates: Shape ``(P, N)``, bool, read-only. True if a caption counts as a candidate. Row 0 is the identity.
        exact: Whether the rows are all partitions, without duplicates.
        count: Number of all partitions, C(N, n), whether enumerated or sampled.
    """

    candidates: Bools
    exact: bool
    count: int


def partitions(
    n: int, m: int, *, pvalue: str = "auto", max_partitions: int = 20_000, draws: int = 9_999, seed: int = 0
) -> Partitions:
    """Return the partitions that a permutation test of n candidates and m references compares.

    For n = m, mirrored partitions are not merged, because they tie only for statistics that are symmetric in the two
    sides, and the mean score of the base metrics is not symmetric.

    Args:
        n: Number of candidates, at least 1.
        m: Number of references, at least 1.
        pvalue: "exact" for all partitions, "monte_carlo" for the identity and `draws` random ones (the same sample for
            all rows of the same sizes), or "auto" for "exact" up to `max_partitions` and "monte_carlo" otherwise.
        max_partitions: Maximum number of partitions that are enumerated.
        draws: Number of random partitions, sampled with replacement.
        seed: Seed of the random partitions.

    Raises:
        ValueError: If `pvalue` is unknown, a size or `draws` is below 1, or there are too many partitions for "exact".
    """
    check_choice("pvalue", pvalue, PVALUE_MODES)
    for name, value in (("n", n), ("m", m), ("draws", draws)):
        check_int(name, value, 1)
    count = math.comb(n + m, n)
    if pvalue == "exact":
        check_partition_count(n, m, max_partitions)
    if pvalue == "exact" or (pvalue == "auto" and count <= max_partitions):
        return _every_partition(n, m)
    return _random_partitions(n, m, draws, seed)


def check_partition_count(n: int, m: int, max_partitions: int) -> None:
    """Check that an exact test has at most `max_partitions` partitions.

    Raises:
        ValueError: If there are more. The message contains their number.
    """
    count = math.comb(n + m, n)
    if count > max_partitions:
        readable = str(count) if count < 10**9 else f"{Decimal(count):.1e}".replace("e+", "e")
        raise UsageError(
            f"`pvalue='exact'` supports at most `max_partitions`={max_partitions} partitions, got {readable} for "
            f"{n} candidates and {m} references; raise `max_partitions` or pass 'auto'"
        )


@lru_cache(maxsize=16)
def _every_partition(n: int, m: int) -> Partitions:
    """Return all C(n+m, n) partitions in lexicographic order, so that the identity comes first."""
    count = math.comb(n + m, n)
    members = chain.from_iterable(combinations(range(n + m), n))
    columns = np.fromiter(members, dtype=np.intp, count=count * n).reshape(count, n)
    candidates = np.zeros((count, n + m), dtype=np.bool_)
    np.put_along_axis(candidates, columns, True, axis=1)
    candidates.setflags(write=False)
    return Partitions(candidates, exact=True, count=count)


@lru_cache(maxsize=16)
def _random_partitions(n: int, m: int, draws: int, seed: int) -> Partitions:
    """Return the identity and `draws` uniform partitions from ``default_rng([seed, n, m])``."""
    candidates = np.zeros((draws + 1, n + m), dtype=np.bool_)
    candidates[:, :n] = True
    np.random.default_rng([seed, n, m]).permuted(candidates[1:], axis=1, out=candidates[1:])
    candidates.setflags(write=False)
    return Partitions(candidates, exact=False, count=math.comb(n + m, n))


# ---------------------------------------------------------------------------------------------------------------------
# p-values
# ---------------------------------------------------------------------------------------------------------------------
def permutation_pvalues(null: npt.ArrayLike, *, tolerance: npt.ArrayLike = TOLERANCE) -> Floats:
    """Compute the share of partitions whose statistic is at least the observed one.

    With all partitions this is the exact p-value #{Q_b >= Q_obs} / P. With B random partitions and the identity it is
    (b + 1) / (B + 1) (Phipson and Smyth, 2010, "Permutation p-values should never be zero").

    Args:
        null: Statistics of S rows under P partitions, shape ``(S, P)``, with the identity in column 0.
        tolerance: Maximum distance below the observed value that still counts as equal, a number or shape ``(S,)``.
            Pass 0 for integers.

    Returns:
        P-values, shape ``(S,)``, in [1/P, 1]. NaN for a row that contains NaN.
    """
    values = np.asarray(null)
    share = np.mean(values >= values[:, :1] - np.asarray(tolerance)[..., None], axis=1)
    return np.where(np.isnan(values).any(axis=1), np.nan, share)


def expected_log_pvalues(null: npt.ArrayLike, *, tolerance: npt.ArrayLike = TOLERANCE) -> Floats:
    """Compute the expectation of ln p under the null hypothesis that each partition is equally likely to be observed.

    The expectation is -1 only for a continuous statistic with a very large number of partitions. The p-values of few
    captions are discrete, so it is closer to 0. For Q of TRM it is about -0.6 for 2 candidates and 3 references, and
    -0.93 for 5 and 5.

    Args:
        null: Finite statistics of S rows under P partitions, shape ``(S, P)``.
        tolerance: Maximum gap between neighboring values that tie, a number or shape ``(S,)``.

    Returns:
        Expectations, shape ``(S,)``, at most 0.
    """
    values = np.asarray(null, dtype=np.float64)
    gaps = np.broadcast_to(np.asarray(tolerance, dtype=np.float64), len(values))
    expected = np.empty(len(values))
    n_ways = values.shape[1]
    # ln p of a value that is less than, or tied with, all but the first k of the sorted values.
    logs = np.log1p(-np.arange(n_ways) / n_ways)
    step = max(1, 2**18 // n_ways)
    for start in range(0, len(values), step):
        block = np.sort(values[start : start + step], axis=1)
        rises = np.diff(block, axis=1) > gaps[start : start + step, None]
        firsts = np.maximum.accumulate(np.where(rises, np.arange(1, n_ways), 0), axis=1)
        expected[start : start + step] = logs[firsts].sum(axis=1) / n_ways  # the minimum contributes ln 1
    return expected


def harmonic_mean_pvalue(pvalues: Iterable[float]) -> float:
    """Compute the raw harmonic mean p-value L / sum(1/p_i) (Wilson, 2019, PNAS 116(4), Eq. 1).

    It is too small to be used as a p-value. NaN entries are left out.

    Returns:
        Harmonic mean, in (0, 1]. NaN if no entry is defined.

    Raises:
        ValueError: If an entry is outside of (0, 1].
    """
    defined = _drop_undefined(pvalues)
    if not defined.size:
        return math.nan
    smallest = defined.min()  # factor that keeps 1/p finite for subnormal p
    return float(smallest * (defined.size / np.sum(smallest / defined)))


def compute_calibrated_harmonic_pvalue(pvalues: Iterable[float]) -> float:
    """Compute the harmonic mean p-value calibrated by its asymptotic distribution (Wilson, 2019, PNAS 116(4), Eq. 4).

    Under the null hypothesis, 1/p° of L uniform p-values converges to a Landau distribution with location ln L + 1 -
    gamma + ln(pi/2) and scale pi/2. The result is its upper tail at the observed 1/p°. A single p-value is returned
    unchanged.

    The distribution assumes *continuous* p-values. The p-values of permutation tests of few captions are discrete, so
    the test rejects too rarely. For 100 rows with 5 candidates and 5 references, its size at 0.05 is 0 and its power is
    close to 0. The function exists for the comparison with the paper. Use `SetTest` to test a corpus.

    NaN entries are left out.

    Returns:
        Calibrated p-value. NaN if no entry is defined.

    Raises:
        ValueError: If an entry is outside of (0, 1].
    """
    defined = _drop_undefined(pvalues)
    if defined.size <= 1:
        return float(defined[0]) if defined.size else math.nan
    raw = harmonic_mean_pvalue(defined)
    if raw < _SMALLEST_RECIPROCAL:
        return raw  # the tail at 1/p°, which equals p° in double precision
    from scipy.stats import landau  # slower to import than most calls take

    location = math.log(defined.size) + 1.0 - np.euler_gamma + math.log(math.pi / 2)
    return float(landau.sf(1.0 / raw, loc=location, scale=math.pi / 2))


def mean_log_pvalue(pvalues: Iterable[float]) -> float:
    """Compute the mean of ln p_i, the "log p" of Chan et al., Figure 3, Tables B.1 and B.2.

    For equal distributions its expectation is the mean of `expected_log_pvalues`. NaN entries are left out.

    Returns:
        Mean, at most 0. NaN if no entry is defined.

    Raises:
        ValueError: If an entry is outside of (0, 1].
    """
    defined = _drop_undefined(pvalues)
    return float(np.mean(np.log(defined))) if defined.size else math.nan


def _drop_undefined(pvalues: Iterable[float]) -> Floats:
    """Return the entries that are not NaN.

    Raises:
        ValueError: If an entry is outside of (0, 1].
    """
    values = np.array(list(pvalues), dtype=np.float64)
    values = values[~np.isnan(values)]
    outside = values[(values <= 0.0) | (values > 1.0)]
    if outside.size:
        raise UsageError.about("pvalues", f"must be in (0, 1] or NaN, got {outside[0]}")
    return values


def _standard_deviations(null: Floats) -> Floats:
    """Return the population standard deviation of each row, without overflow or underflow of squares."""
    _, exponents = np.frexp(np.abs(null).max(axis=1))
    scaled = np.ldexp(null, -exponents[:, None])  # exact, because the factor is a power of 2
    return np.ldexp(scaled.std(axis=1), exponents)


# ---------------------------------------------------------------------------------------------------------------------
# A corpus
# ---------------------------------------------------------------------------------------------------------------------
class SetTest:
    """Per-row permutation tests, and the stratified permutation test of the corpus.

    `add` accepts the null distributions of groups of rows, in any order. Only a few numbers per row and one sum per
    draw are stored. Rows that are never added, or are added with a value that is not finite, are undefined. They are
    NaN and left out of every aggregate.

    The stratified permutation test permutes each row independently. Its statistic is the mean over rows. Draw b of row
    s uses a partition from ``default_rng([seed, s])``, or ``default_rng([seed, key])`` if keys are passed, so the draws
    of a row do not depend on the grouping of the rows.

    Attributes:
        pvalues: P-values, shape ``(n_rows,)``, in (0, 1].
        expected_log_pvalues: Expectations of ln p, shape ``(n_rows,)``. See `expected_log_pvalues`.
        excess_scores: Observed statistic minus its null mean, shape ``(n_rows,)``.
        null_means: Mean of the statistic over the partitions, shape ``(n_rows,)``.
        null_stds: Population standard deviation over the partitions, shape ``(n_rows,)``. Exactly 0 if all partitions
            tie.
        zscores: Excess divided by the null standard deviation, shape ``(n_rows,)``. NaN if the standard deviation is 0.
        observed: Observed statistic, shape ``(n_rows,)``.
        tolerances: Maximum gap of values that tie, shape ``(n_rows,)``.
        sums: Statistic of each draw, summed over the defined rows, shape ``(draws,)``.
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
        """Create a test of a corpus without defined rows.

        Args:
            n_rows: Number of rows, including undefined ones.
            extreme: Values that are evidence against the null hypothesis, "large" or "small".
            draws: Number of random partitions of the whole corpus.
            seed: Seed of the random partitions and of the interval of the excess.
            keys: Integer of at least 0 per row that seeds its draws. The default is its position.

        Raises:
            ValueError: If `extreme` is unknown.
        """
        self.sign = SIGNS[check_choice("extreme", extreme, tuple(SIGNS))]
        self.seed = seed
        self.pvalues = np.full(n_rows, np.nan)
        self.expected_log_pvalues = np.full(n_rows, np.nan)
        self.observed = np.full(n_rows, np.nan)
        self.null_means = np.full(n_rows, np.nan)
        self.null_stds = np.full(n_rows, np.nan)
        self.zscores = np.full(n_rows, np.nan)
        self.tolerances = np.zeros(n_rows)
        self.sums = np.zeros(draws)
        self._rounding = 0.0  # of the sums, in addition to floating point
        self._keys = range(n_rows) if keys is None else keys

    @property
    def excess_scores(self) -> Floats:
        """Observed statistic minus its null mean, shape ``(n_rows,)``."""
        return self.observed - self.null_means

    def add(
        self,
        rows: Sequence[int],
        null: npt.ArrayLike,
        *,
        pvalues: npt.ArrayLike | None = None,
        tolerance: npt.ArrayLike = TOLERANCE,
    ) -> None:
        """Add the null distributions of some rows of equal sizes.

        Args:
            rows: Positions of the S rows in the corpus. Each row is added once.
            null: Statistics under the partitions, shape ``(S, P)``, with the observed one in column 0.
            pvalues: P-values, shape ``(S,)``, if the caller compared more exactly than floats allow. The default is
                `permutation_pvalues` of `null`.
            tolerance: Maximum gap of values that tie, a number or shape ``(S,)``.

        Raises:
            ValueError: If `null` does not have one row per entry of `rows`, or a row was added before.
        """
        where = np.asarray(rows, dtype=np.intp)
        values = np.asarray(null, dtype=np.float64)
        if values.ndim != 2 or len(values) != len(where):
            raise UsageError.about(
                "null", f"must have one row for each of {len(where)} `rows`, got shape {values.shape}"
            )
        if len(np.unique(where)) < len(where) or not np.isnan(self.observed[where]).all():
            raise UsageError.about("rows", f"must contain each row once and no row added before, got {where.tolist()}")
        gaps = np.broadcast_to(np.asarray(tolerance, dtype=np.float64), len(values))
        defined = np.isfinite(values).all(axis=1)
        shares = permutation_pvalues(self.sign * values, tolerance=gaps) if pvalues is None else np.asarray(pvalues)
        self._fill(where[defined], values[defined], shares[defined], gaps[defined])

    def _fill(self, rows: npt.NDArray[np.intp], null: Floats, pvalues: Floats, gaps: Floats) -> None:
        """Store the results of defined rows and add their random partitions to the sums."""
        self.pvalues[rows] = pvalues
        self.expected_log_pvalues[rows] = expected_log_pvalues(self.sign * null, tolerance=gaps)
        self.observed[rows] = null[:, 0]
        # Rounding leaves a spread of 1e-17 among equal values, from which an excess or a z-score would be noise.
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
        """Set the results of a whole corpus whose rows were added to other tests.

        Args:
            rows: Attributes of `ROWS`, shape ``(n_rows,)`` each.
            sums: Sums over all rows, shape ``(draws,)``.
            rounding: Maximum error of a sum.
        """
        for name in self.ROWS:
            setattr(self, name, np.asarray(rows[name], dtype=np.float64))
        self.sums, self._rounding = np.asarray(sums, dtype=np.float64), rounding

    def compute_stratified(self) -> tuple[float, float]:
        """Compute the z-score and the Monte Carlo p-value of the mean over the defined rows.

        z = sum(Q_s - mu_s) / sqrt(sum sigma_s^2). If only one row varies over its partitions, p is the p-value of this
        row, because it is known without sampling.

        Returns:
            The z-score, and the p-value in [1/(draws+1), 1]. Both are NaN if no row varies over its partitions.
        """
        defined = ~np.isnan(self.observed)
        spread = math.hypot(*self.null_stds[defined].tolist())  # `hypot` does not overflow or underflow
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
        """Compute the 95% interval of the mean excess with `bootstrap_interval`.

        Returns:
            Lower and upper end. NaN for fewer than two defined rows.
        """
        interval = bootstrap_interval(self.excess_scores.tolist(), seed=self.seed)
        return (math.nan, math.nan) if interval is None else (interval.low, interval.high)

    def summary(self) -> dict[str, float | list[float]]:
        """Return the results of the test as Python floats, by the names of the result keys.

        Returns:
            ``pvalue``, ``z``, ``excess``, ``excess_interval`` (lower and upper end), ``null_mean``, ``mean_log_pvalue``
            and ``expected_mean_log_pvalue`` of the corpus, and ``pvalues``, ``excess_scores``, ``null_means`` and
            ``zscores``, lists with one value per row. NaN if undefined.
        """
        z, pvalue = self.compute_stratified()
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
