"""Document frequencies of the n-grams of one order in every style, and the weights derived from them.

The symbols are as in Li and Harrison (2022). f_p(t) is the number of captions of style p that contain the n-gram t
(Eq. 1). E_p(t) is the fraction of the n-grams of p whose f is at most f_p(t) (Eq. 2). occ(t) is the number of styles
that contain t (Eq. 3). T(t) is the sum of E over the styles, and S is the set of styles.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from vlgauge.inputs.text.ngrams import Ints, run_lengths

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

VARIANTS = ("paper", "released")

# An evenly distributed n-gram has a weight of exactly 0, but sums of floats leave up to 4e-17, which a cosine would
# increase to 1. The smallest genuine weight observed is 7e-11.
_ZERO = 1e-13


@dataclass(frozen=True)
class PairStatistics:
    """Statistics of some (n-gram, style) pairs, as arrays of one shape.

    Attributes:
        df: f_p(t).
        ecdf: E_p(t). 0 if f_p(t) is 0.
        total: T(t).
        occurrences: occ(t). 0 for an n-gram that is in no style.
    """

    df: Ints
    ecdf: Floats
    total: Floats
    occurrences: Ints

    def weights(self, n_styles: int, variant: str) -> Floats:
        """Compute CNG_p(t) of each pair, shape ``(n_pairs,)``. See `contrastive_weights`."""
        return contrastive_weights(self.df, self.ecdf, self.total, self.occurrences, n_styles, variant)


def contrastive_weights(
    df: Ints, ecdf: Floats, total: Floats, occurrences: Ints, n_styles: int, variant: str = "paper"
) -> Floats:
    """Compute CNG_p(t) = (E_p(t) - T(t)/|S|) / occ(t), the contrastive n-gram score (Eq. 4 in closed form).

    The score is 0 if occ(t) = 0. In the variant "paper" it is in [-1/|S|, (|S|-1)/|S|]. In the variant "released" it is
    multiplied by |S|/(|S|-1) if t occurs in p, and 0 otherwise, as in the authors' code.

    Args:
        df: f_p(t), any shape.
        ecdf: E_p(t), same shape.
        total: T(t), same shape.
        occurrences: occ(t), same shape.
        n_styles: |S|.
        variant: "paper" or "released".

    Returns:
        CNG_p(t), the shape of `df`, float64.
    """
    mean, divisor, factor = contrast(total, occurrences, n_styles, variant)
    weights = (ecdf - mean) / divisor
    weights[np.abs(weights) < _ZERO] = 0.0
    if variant == "released":
        weights[df == 0] = 0.0
    return factor * weights


def contrast(total: Floats, occurrences: Ints, n_styles: int, variant: str) -> tuple[Floats, Ints, float]:
    """Return the terms of CNG_p(t) = factor (E_p(t) - mean) / divisor that are the same in all styles p.

    Args:
        total: T(t), any shape.
        occurrences: occ(t), same shape.
        n_styles: |S|.
        variant: "paper" or "released".

    Returns:
        The mean T(t)/|S|, the divisor occ(t), or 1 if occ(t) is 0, and the factor, which is 1, or |S|/(|S|-1) for
        "released".
    """
    factor = n_styles / (n_styles - 1) if variant == "released" else 1.0
    return total / n_styles, np.maximum(occurrences, 1), factor


@dataclass(frozen=True, eq=False)
class OrderCounts:
    """Document frequencies f of all n-grams of one order, as a sparse matrix of n-grams by styles.

    Attributes:
        keys: Shape ``(V_n,)``, ascending, as in `NgramSets`.
        bounds: Shape ``(V_n + 1,)``. The pairs of n-gram t are ``bounds[t]:bounds[t + 1]``.
        styles: Shape ``(pairs,)``, ascending within an n-gram.
        df: Shape ``(pairs,)``, at least 1.
        n_styles: |S|.
    """

    keys: Ints
    bounds: Ints
    styles: npt.NDArray[np.uint16]
    df: npt.NDArray[np.uint32]
    n_styles: int

    @classmethod
    def count(cls, keys: Ints, ngrams: Ints, styles: Ints, n_styles: int) -> "OrderCounts":
        """Count f_p(t), the number of captions of style p that contain the n-gram t (Eq. 1).

        Args:
            keys: Shape ``(V_n,)``.
            ngrams: Shape ``(m,)``, id of the n-gram, one entry per caption and n-gram.
            styles: Shape ``(m,)``, style of the caption of each entry.
            n_styles: |S|.
        """
        pairs = ngrams * n_styles + styles
        pairs.sort()
        distinct, df = run_lengths(pairs)
        rows = distinct // n_styles
        bounds = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(keys)))])
        columns = (distinct - rows * n_styles).astype(np.uint16)
        return cls(keys, bounds.astype(np.int64), columns, df.astype(np.uint32), n_styles)

    @cached_property
    def occurrences(self) -> Ints:
        """occ(t), the number of styles that contain the n-gram (Eq. 3), shape ``(V_n,)``."""
        return np.diff(self.bounds)

    @cached_property
    def _pairs(self) -> Ints:
        """All pairs as t * |S| + p, ascending."""
        return np.repeat(np.arange(len(self.keys)) * self.n_styles, self.occurrences) + self.styles

    @cached_property
    def _histogram(self) -> tuple[Ints, Ints]:
        """Cumulative counts (cum, first), so that ``cum[first[p] + x]`` is the number of n-grams of p with 1 <= f <= x.

        x is at most the largest f of the style. Each style has a separate length, so that a large style does not
        require memory for the others.
        """
        largest = np.zeros(self.n_styles, np.uint32)
        np.maximum.at(largest, self.styles.astype(np.intp), self.df)  # twenty times faster with these types
        sizes = largest.astype(np.int64) + 1
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        counts = np.bincount(bounds[self.styles] + self.df, minlength=bounds[-1])
        running = np.cumsum(counts)
        before = running[bounds[:-1]]  # f = 0 does not occur, so this is the sum over the previous styles
        return running - np.repeat(before, sizes), bounds[:-1]

    @cached_property
    def sizes(self) -> Ints:
        """|F_p|, the number of n-grams of each style, shape ``(|S|,)``."""
        return np.bincount(self.styles, minlength=self.n_styles)

    def at_most(self, styles: Ints, df: Ints) -> Ints:
        """Count the n-grams u of each style with 1 <= f_p(u) <= df.

        Args:
            styles: Rows of the styles, shape ``(m,)``.
            df: Shape ``(m,)``, at most the maximum f_p of the style.

        Returns:
            Shape ``(m,)``.
        """
        cumulated, first = self._histogram
        return cumulated[first[styles] + df]

    @cached_property
    def ecdf(self) -> Floats:
        """E_p(t), the fraction of the n-grams of p whose f_p is at most f_p(t) (Eq. 2), shape ``(pairs,)``."""
        cumulated, first = self._histogram
        return cumulated[first[self.styles] + self.df] / self.sizes[self.styles]

    @cached_property
    def totals(self) -> Floats:
        """T(t), the sum of E over the styles, shape ``(V_n,)``."""
        rows = np.repeat(np.arange(len(self.keys)), self.occurrences)
        return np.bincount(rows, weights=self.ecdf, minlength=len(self.keys)).astype(np.float64)

    def matrix(self, data: Floats) -> sparse.csr_array:
        """Return values of all pairs as a sparse matrix, shape ``(V_n, |S|)``."""
        columns, bounds = self._csr_indices
        return sparse.csr_array((data, columns, bounds), shape=(len(self.keys), self.n_styles))

    @cached_property
    def _csr_indices(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        return self.styles.astype(np.int32), self.bounds.astype(np.int32)

    def find(self, ngrams: Ints, styles: Ints) -> Ints:
        """Return the index of each (n-gram, style) among the pairs, shape ``(m,)``. -1 if f is 0, or for n-gram -1.

        Args:
            ngrams: Shape ``(m,)``, ids.
            styles: Shape ``(m,)``, rows of the styles.
        """
        return rows_among(self._pairs, ngrams * self.n_styles + styles)  # negative for n-gram -1, so never found

    def evidence(self, ngrams: Ints, styles: Ints) -> PairStatistics:
        """Return the statistics of each (n-gram, style), shape ``(m,)`` each."""
        pairs = self.find(ngrams, styles)
        return PairStatistics(
            df=_take_rows(self.df, pairs).astype(np.int64),
            ecdf=_take_rows(self.ecdf, pairs),
            total=_take_rows(self.totals, ngrams),
            occurrences=_take_rows(self.occurrences, ngrams),
        )


@dataclass(frozen=True, eq=False)
class RemovedCaptions:
    """Leave-one-out statistics: captions are removed from a table, each for its own example only, without refitting.

    The result is exact. One copy of the caption c of an example is removed from the captions of its style p. With m(x)
    = number of distinct n-grams u of c with f_p(u) = x, and cum(x) = number of n-grams of p with 1 <= f <= x:

        f' = f - [t in c];  E' = (cum(f') + m(f' + 1) - m(1)) / (|F| - m(1)) if f' >= 1, else 0
        occ' = occ - [t in c and f = 1];  T' = T - E + E'

    E of the other styles and |S| do not change, even if p has no captions left.

    Attributes:
        counts: N-grams of one order.
        styles: Shape ``(n_examples,)``, style p of each example.
        removed: Shape ``(n_examples,)``, whether c is among the captions of p. Otherwise nothing changes.
        keys: Ascending, example * width + f_p(u) for each distinct n-gram u of a removed caption.
        width: Larger than any f + 1.
    """

    counts: OrderCounts
    styles: Ints
    removed: Bools
    keys: Ints
    width: int

    @classmethod
    def of(cls, counts: OrderCounts, examples: Ints, df: Ints, styles: Ints, removed: Bools) -> "RemovedCaptions":
        """Create the removal of captions from their n-grams.

        Args:
            counts: N-grams of one order.
            examples: Shape ``(m,)``, one entry per example and distinct n-gram u of its caption.
            df: Shape ``(m,)``, f_p(u).
            styles: Shape ``(n_examples,)``, style p of each example.
            removed: Shape ``(n_examples,)``, whether the caption is among the captions of p.
        """
        width = int(df.max(initial=0)) + 3
        inside = removed[examples]
        return cls(counts, styles, removed, np.sort(examples[inside] * width + df[inside]), width)

    def apply(self, evidence: PairStatistics, examples: Ints, own: Bools) -> PairStatistics:
        """Return the statistics after the removal.

        Args:
            evidence: Statistics of some pairs of an n-gram and the style of the example.
            examples: Shape ``(m,)``, example of each entry.
            own: Shape ``(m,)``, whether the caption of the example contains the n-gram.
        """
        rows = np.flatnonzero(self.removed[examples] & (evidence.df > 0))
        taken = own[rows].astype(np.int64)
        before, example = evidence.df[rows], examples[rows]
        left, style = before - taken, self.styles[example]
        vanished = self._count(example, np.ones_like(left))
        at_most = self.counts.at_most(style, left) + self._count(example, left + 1) - vanished
        ecdf = np.where(left > 0, at_most / np.maximum(self.counts.sizes[style] - vanished, 1), 0.0)
        changed = PairStatistics(**{name: values.copy() for name, values in vars(evidence).items()})
        changed.df[rows] = left
        changed.ecdf[rows] = ecdf
        changed.total[rows] += ecdf - evidence.ecdf[rows]
        changed.occurrences[rows] -= (taken == 1) & (before == 1)
        return changed

    def _count(self, examples: Ints, df: Ints) -> Ints:
        """Return m(df) of each example."""
        wanted = examples * self.width + np.minimum(df, self.width - 1)
        return np.searchsorted(self.keys, wanted, "right") - np.searchsorted(self.keys, wanted, "left")


# -- Look-ups ---------------------------------------------------------------------------------------------------------
def rows_among(ascending: npt.NDArray, wanted: npt.NDArray) -> Ints:
    """Return the row of each wanted value in an ascending array of distinct values. -1 if it is not found.

    Args:
        ascending: Distinct values, ascending, shape ``(n,)``.
        wanted: Values, shape ``(m,)``.

    Returns:
        Shape ``(m,)``, int64.
    """
    # Sorted queries traverse the array once, but unsorted ones miss the cache at every step.
    order = np.argsort(wanted)
    rows = np.empty(len(wanted), np.int64)
    rows[order] = rows_among_sorted(ascending, wanted[order])
    return rows


def rows_among_sorted(ascending: npt.NDArray, wanted: npt.NDArray) -> Ints:
    """Return the same as `rows_among`, but faster for wanted values that are sorted or nearly sorted.

    Returns:
        Shape ``(m,)``, for `wanted` of this shape.
    """
    if not len(ascending):
        return np.full(len(wanted), -1, np.int64)
    found = np.searchsorted(ascending, wanted)
    found[found == len(ascending)] = 0
    return np.where(ascending[found] == wanted, found, -1)


def _take_rows(values: npt.NDArray, rows: Ints) -> npt.NDArray:
    """Return the values of rows, and 0 for row -1."""
    if not len(values):
        return np.zeros(len(rows), values.dtype)
    taken = values[rows]  # -1 reads the last value, which is then overwritten
    taken[rows < 0] = 0
    return taken
