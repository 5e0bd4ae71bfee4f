"""StyleCIDEr of each caption summed over all captions of every style, without a loop over pairs.

A sum of cosines is one product, u(c) . (sum over r of u(r)) with u = g / |g|; with a length penalty there is one such
sum per reference length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vlgauge.progress import Progress, progress_bar
from vlgauge.style.counting import Ints
from vlgauge.style.counts import CaptionNgrams, StyleTable
from vlgauge.style.scoring import AUTHORS_SCALE, length_penalties
from vlgauge.style.weights import Floats, OrderCounts, contrastive_weights

_MAX_CELLS = 2**24


@dataclass(frozen=True, eq=False)
class _Groups:
    """References that a caption treats alike: of one style, and of one length if that matters.

    Attributes:
        of: shape ``(n_references,)``, group of each.
        styles: shape ``(n_groups,)``, ascending.
        lengths: shape ``(n_groups,)``, number of tokens; 0 if it does not matter.
        first: shape ``(n_styles_present,)``, first group of each style.
    """

    of: Ints
    styles: Ints
    lengths: Ints
    first: Ints

    @classmethod
    def made(cls, styles: Ints, lengths: Ints) -> _Groups:
        """Groups of the references with these styles and lengths."""
        distinct, of = np.unique(np.stack([styles, lengths]), axis=1, return_inverse=True)
        return cls(of.ravel(), distinct[0], distinct[1], np.flatnonzero(np.diff(distinct[0], prepend=-1)))


@dataclass(frozen=True, eq=False)
class CosineSums:
    """StyleCIDEr of some captions of one style, summed.

    Attributes:
        style: place of the style, whose weights both sides have.
        captions: shape ``(n,)``, places of the captions.
        sums: shape ``(n, |S|)``, over the references of every style.
        selves: shape ``(n,)``, of each caption with a copy of itself.
    """

    style: int
    captions: Ints
    sums: Floats
    selves: Floats


def cosine_sums(
    table: StyleTable,
    captions: Sequence[Sequence[str]],
    styles: Ints,
    references: Sequence[Sequence[str]],
    reference_styles: Ints,
    variant: str,
    progress: Progress = False,
) -> Iterator[CosineSums]:
    """Sums of all captions, some captions of one style at a time, which bounds the memory.

    Args:
        table: Style table.
        captions: Tokens of each caption.
        styles: shape ``(n_captions,)``.
        references: Tokens of each reference.
        reference_styles: shape ``(n_references,)``.
        variant: "paper" or "authors".
        progress: As in `progress_bar`.
    """
    own, theirs = table.ngrams(captions), table.ngrams(references)
    lengths, their_lengths = (np.fromiter(map(len, rows), np.int64, len(rows)) for rows in (captions, references))
    with_penalty = variant == "authors"
    scale = AUTHORS_SCALE if with_penalty else 1.0
    groups = _Groups.made(reference_styles, their_lengths if with_penalty else np.zeros_like(their_lengths))
    present = np.unique(styles)
    with progress_bar(len(present), "Comparing with every style", progress) as advance:
        for style in present.tolist():
            rows = np.flatnonzero(styles == style)
            vectors = [
                _unit_vectors(counts, style, variant, rows, a, b, groups)
                for counts, a, b in zip(table.orders, own, theirs, strict=True)
            ]
            selves = np.mean([np.diff(own_part.indptr) > 0 for own_part, _ in vectors], axis=0)
            step = max(1, _MAX_CELLS // max(1, len(groups.styles)))
            for start in range(0, len(rows), step):
                part = slice(start, start + step)
                cosines = sum((a[part] @ b).toarray() for a, b in vectors) / len(vectors)
                if with_penalty:
                    cosines *= length_penalties(lengths[rows[part]][:, None], groups.lengths)
                sums = np.zeros((len(cosines), len(table.styles)))
                sums[:, groups.styles[groups.first]] = np.add.reduceat(cosines, groups.first, axis=1)
                yield CosineSums(style, rows[part], scale * sums, scale * selves[part])
            advance(1)


def _unit_vectors(
    counts: OrderCounts,
    style: int,
    variant: str,
    rows: Ints,
    own: CaptionNgrams,
    theirs: CaptionNgrams,
    groups: _Groups,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Two sparse matrices of one order whose product is the sum of cosines, captions by groups of references.

    The first has g^2 / |g_c| (captions by n-grams), the second the sum over a group of 1 / |g_r| (n-grams by groups):
    both sides have the weights g of one style, so g_c . g_r is the sum of g^2 over the n-grams of both.
    """
    squares = _weights_in(counts, style, variant) ** 2
    place = np.full(len(own.sizes), -1)
    place[rows] = np.arange(len(rows))
    here = (own.ngrams >= 0) & (place[own.captions] >= 0)
    here[here] = squares[own.ngrams[here]] > 0.0
    owners, ngrams = place[own.captions[here]], own.ngrams[here]
    norms = np.sqrt(np.bincount(owners, squares[ngrams], len(rows)))
    first = sparse.csr_array((squares[ngrams] / norms[owners], (owners, ngrams)), shape=(len(rows), len(squares)))

    wanted = np.zeros(len(squares), np.bool_)
    wanted[ngrams] = True
    seen = theirs.ngrams >= 0
    captions, ngrams = theirs.captions[seen], theirs.ngrams[seen]
    norms = np.sqrt(np.bincount(captions, squares[ngrams], len(theirs.sizes)))
    there = wanted[ngrams]
    captions, ngrams = captions[there], ngrams[there]
    entries = (ngrams, groups.of[captions])
    return first, sparse.csr_array((1.0 / norms[captions], entries), shape=(len(squares), len(groups.styles)))


def _weights_in(counts: OrderCounts, style: int, variant: str) -> Floats:
    """Weights of all n-grams of an order in one style, shape ``(V_n,)``."""
    pairs = np.flatnonzero(counts.styles == style)
    ngrams = np.searchsorted(counts.bounds, pairs, "right") - 1
    df, ecdf = np.zeros(len(counts.keys), np.int64), np.zeros(len(counts.keys))
    df[ngrams], ecdf[ngrams] = counts.df[pairs], counts.ecdf[pairs]
    return contrastive_weights(df, ecdf, counts.totals, counts.occurrences, counts.n_styles, variant)
