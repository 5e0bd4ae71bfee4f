"""Leave one out: weights as if a caption had not been in the table, exactly and without fitting again.

One copy of the caption c of an example is taken out of the captions of its style p. With m(x) = number of distinct
n-grams u of c with f_p(u) = x, and cum(x) = number of n-grams of p with 1 <= f <= x:

    f' = f - [t in c];  E' = (cum(f') + m(f' + 1) - m(1)) / (|F| - m(1)) if f' >= 1, else 0
    occ' = occ - [t in c and f = 1];  T' = T - E + E'

The other styles keep their E, and |S| stays, also if p has no caption left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vlgauge.style.counting import Ints
from vlgauge.style.weights import Bools, OrderCounts, PairStatistics


@dataclass(frozen=True, eq=False)
class RemovedCaptions:
    """Some captions taken out of a table, each from the view of its own example only.

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
    def of(cls, counts: OrderCounts, examples: Ints, df: Ints, styles: Ints, removed: Bools) -> RemovedCaptions:
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
        places = np.flatnonzero(self.removed[examples] & (evidence.df > 0))
        taken = own[places].astype(np.int64)
        before, example = evidence.df[places], examples[places]
        left, style = before - taken, self.styles[example]
        vanished = self._count(example, np.ones_like(left))
        at_most = self.counts.at_most(style, left) + self._count(example, left + 1) - vanished
        ecdf = np.where(left > 0, at_most / np.maximum(self.counts.sizes[style] - vanished, 1), 0.0)
        changed = PairStatistics(
            evidence.df.copy(), evidence.ecdf.copy(), evidence.total.copy(), evidence.occurrences.copy()
        )
        changed.df[places] = left
        changed.ecdf[places] = ecdf
        changed.total[places] += ecdf - evidence.ecdf[places]
        changed.occurrences[places] -= (taken == 1) & (before == 1)
        return changed

    def _count(self, examples: Ints, df: Ints) -> Ints:
        """m(df) of each example."""
        wanted = examples * self.width + np.minimum(df, self.width - 1)
        return np.searchsorted(self.keys, wanted, "right") - np.searchsorted(self.keys, wanted, "left")
