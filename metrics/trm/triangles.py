"""Triangles of captions (Chan et al., Eqs. 3 and 4), under all partitions at the same time.

A triangle (x; y, w) has y and w on one side and the lone caption x on the other. Q is invariant to exchanging
candidates and references, to reordering either, and to strictly monotone transforms of the distances.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import short_repr

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.signedinteger]
Weights = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]

TIES = ("fractional", "paper")

# Sizes of working arrays that fit into the cache.
_EXAMPLES_PER_BLOCK = 128
_VALUES_PER_BLOCK = 2**14
_LARGEST_ARRAY = 2**23


def levels(distances: Floats, tie_tol: float) -> Ints:
    """Rank the N^2 distances of each example. Tied distances share a rank.

    In sorted order, the rank increases at each gap to the previous distance that exceeds `tie_tol`. Rounding to a grid
    instead would separate ties on either side of a grid line.

    Args:
        distances: Shape ``(S, N, N)``. Infinite distances get the highest rank.
        tie_tol: Largest gap between neighboring distances that counts as a tie.

    Returns:
        Ranks starting at 0, shape ``(S, N, N)``. Undefined for NaN distances.
    """
    flat = distances.reshape(len(distances), -1)
    order = np.argsort(flat, axis=1)
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        rises = np.diff(np.take_along_axis(flat, order, axis=1), axis=1) > tie_tol
    found = np.zeros(flat.shape, dtype=np.int16 if flat.shape[1] < 2**15 else np.int32)
    np.put_along_axis(found, order[:, 1:], np.cumsum(rises, axis=1, dtype=found.dtype), axis=1)
    return found.reshape(distances.shape)


def rank_values(levels: Ints, ties: str) -> npt.NDArray[np.int8]:
    """Compute the rank of the side y-w among the three sides of each triangle (x; y, w) (Chan et al., Eq. 3).

    With "paper", I_0 = 1 if d(y,w) <= both d(x,y) and d(x,w), I_1 = 1 if it is between them, and I_2 = 1 if it is >=
    both. Several of them may be 1. With "fractional", a tie divides one triangle among its ranks, in sixths: 6, 3 + 3
    or 2 + 2 + 2.

    Args:
        levels: Ranks of the distances, shape ``(N, N, S)``, the examples last.
        ties: "fractional" or "paper".

    Returns:
        Shape ``(N, N, N, K, S)``, axes x, y, w. With "fractional", K = 2: the values of the smallest and the largest
        rank, which add up to 6 with the middle one. With "paper", K = 3: smallest, middle and largest. 0 if two of x,
        y, w are equal.
    """
    n, _, n_examples = levels.shape
    values = np.empty((n, n, n, 2 if ties == "fractional" else 3, n_examples), dtype=np.int8)
    for x in range(n):
        to_y, to_w = levels[x, :, None], levels[x, None]
        lower, higher = np.minimum(to_y, to_w), np.maximum(to_y, to_w)
        if ties == "fractional":
            share = 3 - (lower == higher).astype(np.int8)
            values[x, :, :, 0] = np.where(levels < lower, 6, share * (levels == lower))
            values[x, :, :, 1] = np.where(levels > higher, 6, share * (levels == higher))
        else:
            values[x, :, :, 0] = levels <= lower
            values[x, :, :, 1] = (levels >= lower) & (levels <= higher)
            values[x, :, :, 2] = levels >= higher
        values[x, x] = values[x, :, x] = 0
    same = np.arange(n)
    values[:, same, same] = 0
    return values


def q_statistics(counts: Floats) -> Floats:
    """Compute pooled and separate Q from triangle counts c_k^C (lone candidate) and c_k^R (lone reference).

    Pooled Q (Chan et al., Eq. 4) is sum_k |(c_k^C + c_k^R) / I - 1/3|, range [0, 4/3], with I the sum of all counts.
    Separate Q (the form of the authors' code) is sum_k |c_k^C / I^C - 1/3| + sum_k |c_k^R / I^R - 1/3|, range [0, 8/3].

    Args:
        counts: Counts by rank in any unit, lone candidate and lone reference, shape ``(2, 3, ...)``.

    Returns:
        Pooled and separate Q, shape ``(2, ...)``.
    """
    totals = counts.sum(axis=1)
    apart = np.abs(3 * counts - totals[:, None]).sum(axis=1) / (3 * totals)
    total = totals.sum(axis=0)
    pooled = np.abs(3 * counts.sum(axis=0) - total).sum(axis=0) / (3 * total)
    return np.stack([pooled, apart.sum(axis=0)])


@dataclass(frozen=True, eq=False)
class TriangleTests:
    """TRM of S examples of equal sizes under P partitions.

    Attributes:
        q: Pooled and separate Q, shape ``(2, S, P)``. See `q_statistics`.
        pvalues: Proportion of the partitions with a Q of at least the Q of the first one, shape ``(2, S)``.
        counts: Triangles of the first partition by rank, lone candidate and lone reference, shape ``(S, 2, 3)``.
        expected: Frequency of each rank over all partitions, on either side, shape ``(S, 3)``. See
            `compute_expected_shares`.
    """

    q: Floats
    pvalues: Floats
    counts: Floats
    expected: Floats


def triangle_tests(levels: Ints, candidates: Bools, ties: str = "fractional") -> TriangleTests:
    """Compute Q under every partition, and p-values. With "fractional", they compare integers and are exact.

    Args:
        levels: Ranks of d(a, b), shape ``(S, N, N)``. The lone caption of a triangle is always a.
        candidates: Partitions, shape ``(P, N)``, n True in each row, the observed partition in row 0.
        ties: "fractional" or "paper". See `rank_values`.

    Raises:
        ValueError: If `ties` is unknown, or a side has fewer than 2 captions.
    """
    n_captions = levels.shape[1]
    n = int(np.count_nonzero(candidates[0]))
    if ties not in TIES:
        raise UsageError.about("ties", f"must be one of {', '.join(map(repr, TIES))}, got {short_repr(ties)}")
    if min(n, n_captions - n) < 2:
        raise UsageError.about(
            "candidates",
            f"must have at least 2 captions, and so must the references, got {n} candidates and {n_captions - n} "
            "references",
        )
    step = max(1, min(_EXAMPLES_PER_BLOCK, _LARGEST_ARRAY // n_captions**3))
    blocks = [_tests_of_block(levels[i : i + step], candidates, ties) for i in range(0, len(levels), step)]
    return TriangleTests(
        q=np.concatenate([block.q for block in blocks], axis=1),
        pvalues=np.concatenate([block.pvalues for block in blocks], axis=1),
        counts=np.concatenate([block.counts for block in blocks]),
        expected=np.concatenate([block.expected for block in blocks]),
    )


def _tests_of_block(levels: Ints, candidates: Bools, ties: str) -> TriangleTests:
    """Compute `triangle_tests` of a few examples, a few partitions at a time."""
    n_examples, n_captions, _ = levels.shape
    n = int(np.count_nonzero(candidates[0]))
    m = n_captions - n
    # Axes: x, y, w, rank, example. Rank and example are then merged into columns.
    values = rank_values(np.ascontiguousarray(levels.transpose(1, 2, 0)), ties)
    sums = triangle_sums(values.reshape(n_captions, n_captions, n_captions, -1))
    q = np.empty((2, n_examples, len(candidates)))
    as_large = np.zeros((2, n_examples))
    step = max(1, min(_VALUES_PER_BLOCK // n_examples, 2 * _LARGEST_ARRAY // n_captions**2))
    for start in range(0, len(candidates), step):
        block = candidates[start : start + step]
        # Axes: lone side, rank, example, partition.
        counts = side_sums(sums, block).reshape(2, -1, n_examples, len(block))
        if ties == "fractional":
            counts = _all_sixths(counts, n, m)
        found = q[:, :, start : start + step] = q_statistics(counts)
        # Fractional Q is a fraction with this denominator. Numerators tie exactly, but quotients may not.
        denominators = 18 * n * m * np.array([n + m - 2, (n - 1) * (m - 1)])[:, None, None]
        compared = np.rint(found * denominators) if ties == "fractional" else found
        if start == 0:
            least = compared[:, :, :1] - (0.0 if ties == "fractional" else 1e-9)
            observed = counts[:, :, :, 0].transpose(2, 0, 1)
        as_large += np.count_nonzero(compared >= least, axis=2)
    of_all = sums.constant.reshape(-1, n_examples).T.astype(np.float64)
    return TriangleTests(
        q,
        as_large / len(candidates),
        observed / (6 if ties == "fractional" else 1),
        compute_expected_shares(of_all, n_captions, ties),
    )


def compute_expected_shares(sums: Floats, n_captions: int, ties: str) -> Floats:
    """Compute the share of each rank among all triangles (x; y, w) of the pooled captions, on either side.

    Over all partitions, every triangle has a lone candidate equally often, and a lone reference equally often.
    Therefore each rank has this share on average for both types. It is one third if d(a, b) = d(b, a) and there are no
    ties, because the sides of three captions are then compared three times, once from each caption.

    Args:
        sums: Sums of `rank_values` over all triangles, shape ``(S, K)``.
        n_captions: Number N of the pooled captions.
        ties: "fractional" or "paper".

    Returns:
        Shares of smallest, middle and largest, shape ``(S, 3)``. With "paper", a tie counts for several ranks, and the
        counts are divided by their sum.
    """
    if ties == "paper":
        return sums / sums.sum(axis=1, keepdims=True)
    shares = sums / (6.0 * n_captions * (n_captions - 1) * (n_captions - 2))
    return np.stack([shares[:, 0], 1.0 - shares.sum(axis=1), shares[:, 1]], axis=1)


def _all_sixths(counts: Floats, n: int, m: int) -> Floats:
    """Return sixths of triangles by all three ranks from the smallest and the largest rank, shape ``(2, 3, S, P)``."""
    sixths = 6 * n * m * np.array([m - 1, n - 1])[:, None, None]
    return np.stack([counts[:, 0], sixths - counts[:, 0] - counts[:, 1], counts[:, 1]], axis=1)


# -- Sums over triangles, by matrix products --------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class TriangleSums:
    """Coefficients of the sums over the triangles of each lone side, for any partition.

    Let s_i be 1 for a candidate and -1 for a reference. A triangle (x; y, w) counts if y and w are on one side and x on
    the other: (1 - s_x s_y - s_x s_w + s_y s_w) / 4 is 1 then, and 0 otherwise. Multiplied by s_x it is (s_x - s_y -
    s_w + s_x s_y s_w) / 4, which is 1 for a lone candidate and -1 for a lone reference. So 4 times the sum over both
    types is a constant plus a quadratic form in s, and 4 times their difference is a linear plus a cubic form. N
    captions have N(N-1)(N-2)/6 products of three, but 3 times as many triangles of each type.

    Columns are the S examples, once per rank. All values are integers, exact in their data type.

    Attributes:
        constant: Shape ``(columns,)``.
        single: Shape ``(N, columns)``.
        pairs: Shape ``(N(N-1)/2, columns)``, in the order of ``np.triu_indices(N, 1)``.
        triples: One array per first caption a, whose rows are the pairs b < c after a, in the same order.
    """

    constant: Weights
    single: Weights
    pairs: Weights
    triples: list[npt.NDArray[np.float32]]


def triangle_sums(values: npt.NDArray[np.int8]) -> TriangleSums:
    """Compute the coefficients for a value of each triangle (x; y, w).

    Args:
        values: Values in [0, 6], shape ``(N, N, N, columns)``, axes x, y, w. 0 if two of them are equal.
    """
    n = len(values)
    # Every triangle contributes to 8 coefficients, and float32 is exact for integers up to 2^24. It is sufficient for
    # the products of triples in any case, because they are summed caption by caption, and 36 n^2 / 2 is small enough.
    dtype = np.float32 if 8 * 6 * n**3 < 2**24 else np.float64
    over_x, over_y, over_w = (values.sum(axis=axis, dtype=np.int32) for axis in (0, 1, 2))
    lone, first, second = over_y.sum(axis=1), over_w.sum(axis=0), over_y.sum(axis=0)
    form = over_x - over_y - over_w  # axes: the two remaining captions, columns
    left, right = np.triu_indices(n, 1)
    triples = []
    for a in range(n - 2):
        rest = slice(a + 1, None)
        # Axes: b, c, columns, with the first caption a at each of the three positions of a triangle.
        block = values[a, rest, rest] + values[rest, a, rest] + values[rest, rest, a]
        b, c = np.triu_indices(n - a - 1, 1)
        triples.append((block[b, c] + block[c, b]).astype(np.float32))
    return TriangleSums(
        constant=lone.sum(axis=0, dtype=dtype),
        single=(lone - first - second).astype(dtype),
        pairs=(form[left, right] + form[right, left]).astype(dtype),
        triples=triples,
    )


def side_sums(sums: TriangleSums, candidates: Bools) -> Floats:
    """Compute the sums over the triangles with a lone candidate and over the triangles with a lone reference.

    Args:
        sums: Output of `triangle_sums`.
        candidates: Partitions, shape ``(P, N)``.

    Returns:
        Exact sums, shape ``(2, columns, P)``.
    """
    n = candidates.shape[1]
    signs = np.where(candidates.T, 1, -1).astype(np.float32)
    left, right = np.triu_indices(n, 1)
    pairs = signs[left] * signs[right]  # axes: pairs, partitions
    both = sums.constant[:, None] + sums.pairs.T @ pairs
    difference = sums.single.T @ signs
    start = 0
    for a, triples in enumerate(sums.triples):
        start += n - a - 1  # pairs of captions after a are the last ones
        difference += signs[a] * (triples.T @ pairs[start:])
    # Float32 could represent the sums, which are integers, but not every product with other integers.
    return np.stack([both + difference, both - difference]).astype(np.float64) / 8
