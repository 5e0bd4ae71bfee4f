"""Document frequencies of the n-grams of one order in every style, and the weights that follow from them.

Symbols as in Li and Harrison (2022): f_p(t) is the number of captions of style p that contain the n-gram t (Eq. 1),
E_p(t) the share of the n-grams of p whose f is at most f_p(t) (Eq. 2), occ(t) the number of styles that contain t
(Eq. 3), T(t) the sum of E over the styles, S the set of styles.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from vlgauge.text.ngrams import Ints, run_lengths

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

VARIANTS = ("paper", "released")

# An n-gram that is spread evenly weighs exactly 0, but sums of floats leave up to 4e-17, which a cosine would blow up
# to 1. The smallest genuine weight seen is 7e-11.
_ZERO = 1e-13


@dataclass(frozen=True)
class PairStatistics:
    """What a table knows of some (n-gram, style) pairs; arrays of one shape.

    Attributes:
        df: f_p(t).
        ecdf: E_p(t), 0 where f_p(t) is.
        total: T(t).
        occurrences: occ(t), 0 for an n-gram that is in no style.
    """

    df: Ints
    ecdf: Floats
    total: Floats
    occurrences: Ints

    def weights(self, n_styles: int, variant: str) -> Floats:
        """CNG_p(t); see `contrastive_weights`."""
        return contrastive_weights(self.df, self.ecdf, self.total, self.occurrences, n_styles, variant)


def contrastive_weights(
    df: Ints, ecdf: Floats, total: Floats, occurrences: Ints, n_styles: int, variant: str = "paper"
) -> Floats:
    """The contrastive n-gram score CNG_p(t) = (E_p(t) - T(t)/|S|) / occ(t), Eq. 4 in closed form; 0 if occ(t) = 0.

    "paper": in [-1/|S|, (|S|-1)/|S|]. "released": times |S|/(|S|-1) where t occurs in p, else 0, as in their code.

    Args:
        df: f_p(t), any shape.
        ecdf: E_p(t), same shape.
        total: T(t), same shape.
        occurrences: occ(t), same shape.
        n_styles: |S|.
        variant: "paper" or "released".
    """
    mean, divisor, factor = contrast(total, occurrences, n_styles, variant)
    weights = (ecdf - mean) / divisor
    weights[np.abs(weights) < _ZERO] = 0.0
    if variant == "released":
        weights[df == 0] = 0.0
    return factor * weights


def contrast(total: Floats, occurrences: Ints, n_styles: int, variant: str) -> tuple[Floats, Ints, float]:
    """What CNG_p(t) = factor (E_p(t) - mean) / divisor has in every style p alike.

    Args:
        total: T(t), any shape.
        occurrences: occ(t), same shape.
        n_styles: |S|.
        variant: "paper" or "released".

    Returns:
        The mean T(t)/|S|; the divisor occ(t), or 1 where that is 0; the factor 1, in "released" |S|/(|S|-1).
    """
    factor = n_styles / (n_styles - 1) if variant == "released" else 1.0
    return total / n_styles, np.maximum(occurrences, 1), factor


@dataclass(frozen=True, eq=False)
class OrderCounts:
    """f of all n-grams of one order: a sparse matrix, n-grams by styles.

    Attributes:
        keys: shape ``(V_n,)``, ascending, as in `NgramSets`.
        bounds: shape ``(V_n + 1,)``: the pairs of n-gram t are ``bounds[t]:bounds[t + 1]``.
        styles: shape ``(pairs,)``, ascending within an n-gram.
        df: shape ``(pairs,)``, at least 1.
        n_styles: |S|.
    """

    keys: Ints
    bounds: Ints
    styles: npt.NDArray[np.uint16]
    df: npt.NDArray[np.uint32]
    n_styles: int

    @classmethod
    def counted(cls, keys: Ints, ngrams: Ints, styles: Ints, n_styles: int) -> "OrderCounts":
        """f_p(t), the number of captions of style p with the n-gram t (Eq. 1), from one entry per caption and n-gram.

        Args:
            keys: shape ``(V_n,)``.
            ngrams: shape ``(m,)``, ids.
            styles: shape ``(m,)``, style of the caption of each entry.
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
        """occ(t), the number of styles that have the n-gram (Eq. 3), shape ``(V_n,)``."""
        return np.diff(self.bounds)

    @cached_property
    def _pairs(self) -> Ints:
        """Every pair as t * |S| + p, ascending."""
        return np.repeat(np.arange(len(self.keys)) * self.n_styles, self.occurrences) + self.styles

    @cached_property
    def _histogram(self) -> tuple[Ints, Ints]:
        """(cum, first): ``cum[first[p] + x]`` = number of n-grams of p with 1 <= f <= x, for x up to the largest f.

        Each style has its own length, so that one large style does not cost every other one memory.
        """
        largest = np.zeros(self.n_styles, np.uint32)
        np.maximum.at(largest, self.styles.astype(np.intp), self.df)  # with these types it is twenty times faster
        sizes = largest.astype(np.int64) + 1
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        counts = np.bincount(bounds[self.styles] + self.df, minlength=bounds[-1])
        running = np.cumsum(counts)
        before = running[bounds[:-1]]  # nothing has f = 0, so this is the sum over the styles before
        return running - np.repeat(before, sizes), bounds[:-1]

    @cached_property
    def sizes(self) -> Ints:
        """|F_p|, the number of n-grams of each style, shape ``(|S|,)``."""
        return np.bincount(self.styles, minlength=self.n_styles)

    def at_most(self, styles: Ints, df: Ints) -> Ints:
        """Number of n-grams u of each given style with 1 <= f_p(u) <= df, which is the f_p of one of them or less."""
        cumulated, first = self._histogram
        return cumulated[first[styles] + df]

    @cached_property
    def ecdf(self) -> Floats:
        """E_p(t), the share of the n-grams of p whose f_p is at most f_p(t) (Eq. 2), shape ``(pairs,)``."""
        cumulated, first = self._histogram
        return cumulated[first[self.styles] + self.df] / self.sizes[self.styles]

    @cached_property
    def totals(self) -> Floats:
        """T(t), shape ``(V_n,)``."""
        rows = np.repeat(np.arange(len(self.keys)), self.occurrences)
        return np.bincount(rows, weights=self.ecdf, minlength=len(self.keys)).astype(np.float64)

    def matrix(self, data: Floats) -> sparse.csr_array:
        """Values of all pairs as a sparse matrix, shape ``(V_n, |S|)``."""
        columns, bounds = self._csr_indices
        return sparse.csr_array((data, columns, bounds), shape=(len(self.keys), self.n_styles))

    @cached_property
    def _csr_indices(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        return self.styles.astype(np.int32), self.bounds.astype(np.int32)

    def find(self, ngrams: Ints, styles: Ints) -> Ints:
        """Position of each (n-gram, style) among the pairs, -1 where f is 0; n-gram -1 is in no style.

        Args:
            ngrams: shape ``(m,)``.
            styles: shape ``(m,)``.
        """
        return rows_among(self._pairs, ngrams * self.n_styles + styles)  # negative for n-gram -1, so not there

    def evidence(self, ngrams: Ints, styles: Ints) -> PairStatistics:
        """What is known of each (n-gram, style); shapes ``(m,)``."""
        pairs = self.find(ngrams, styles)
        return PairStatistics(
            df=_taken(self.df, pairs).astype(np.int64),
            ecdf=_taken(self.ecdf, pairs),
            total=_taken(self.totals, ngrams),
            occurrences=_taken(self.occurrences, ngrams),
        )


@dataclass(frozen=True, eq=False)
class RemovedCaptions:
    """Leave one out: captions taken out of a table, each for its own example only, exactly and without fitting again.

    One copy of the caption c of an example is taken out of the captions of its style p. With m(x) = number of distinct
    n-grams u of c with f_p(u) = x, and cum(x) = number of n-grams of p with 1 <= f <= x:

        f' = f - [t in c];  E' = (cum(f') + m(f' + 1) - m(1)) / (|F| - m(1)) if f' >= 1, else 0
        occ' = occ - [t in c and f = 1];  T' = T - E + E'

    The other styles keep their E, and |S| stays, also if p has no caption left.

    Attributes:
        counts: the n-grams of one order.
        styles: shape ``(n_examples,)``, the style p of each example.
        removed: shape ``(n_examples,)``, where c is among the captions of p; elsewhere nothing changes.
        keys: ascending, example * width + f_p(u) for every distinct n-gram u of a removed caption.
        width: more than any f + 1.
    """

    counts: OrderCounts
    styles: Ints
    removed: Bools
    keys: Ints
    width: int

    @classmethod
    def of(cls, counts: OrderCounts, examples: Ints, df: Ints, styles: Ints, removed: Bools) -> "RemovedCaptions":
        """The removal of the captions whose n-grams are given.

        Args:
            counts: the n-grams of one order.
            examples: shape ``(m,)``, one entry per example and distinct n-gram u of its caption.
            df: shape ``(m,)``, f_p(u).
            styles: as above.
            removed: as above.
        """
        width = int(df.max(initial=0)) + 3
        inside = removed[examples]
        return cls(counts, styles, removed, np.sort(examples[inside] * width + df[inside]), width)

    def applied(self, evidence: PairStatistics, examples: Ints, own: Bools) -> PairStatistics:
        """The evidence that is left.

        Args:
            evidence: of some (n-gram, style of the example).
            examples: shape ``(m,)``, example of each entry.
            own: shape ``(m,)``, where the n-gram is one of the example's caption.
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
        """m(df) of each example."""
        wanted = examples * self.width + np.minimum(df, self.width - 1)
        return np.searchsorted(self.keys, wanted, "right") - np.searchsorted(self.keys, wanted, "left")


# -- Look-ups ---------------------------------------------------------------------------------------------------------
def rows_among(ascending: npt.NDArray, wanted: npt.NDArray) -> Ints:
    """Row of each wanted value in an ascending array of distinct ones; -1 where it is not there."""
    # Sorted queries walk through the array once; unsorted ones miss the cache at every step.
    order = np.argsort(wanted)
    rows = np.empty(len(wanted), np.int64)
    rows[order] = rows_among_sorted(ascending, wanted[order])
    return rows


def rows_among_sorted(ascending: npt.NDArray, wanted: npt.NDArray) -> Ints:
    """As `rows_among`, for wanted values that are in order already, or nearly so."""
    if not len(ascending):
        return np.full(len(wanted), -1, np.int64)
    found = np.searchsorted(ascending, wanted)
    found[found == len(ascending)] = 0
    return np.where(ascending[found] == wanted, found, -1)


def _taken(values: npt.NDArray, rows: Ints) -> npt.NDArray:
    """Values of the rows, 0 for row -1."""
    if not len(values):
        return np.zeros(len(rows), values.dtype)
    taken = values[rows]  # -1 reads the last value, which is then dropped
    taken[rows < 0] = 0
    return taken
