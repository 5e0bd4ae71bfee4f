"""OnlyStyle and StyleCIDEr of single captions and in every style (Li and Harrison, 2022, Eqs. 5 to 8).

Symbols: caption c, reference r, style p, set M_n of the n-grams of order n in c, and weight CNG_p(t) of the n-gram t
(Eqs. 1 to 4, see `vlgauge.families.style.weights`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vlgauge.core.progress import Progress, progress_bar
from vlgauge.families.ngram.cider import SCALE, length_penalties
from vlgauge.families.style.counts import CaptionNgrams, StyleCounts
from vlgauge.families.style.scoring import WeightedNgrams, blocks, weigh_ngrams
from vlgauge.families.style.weights import Bools, Floats, OrderCounts, contrastive_weights
from vlgauge.inputs.text.ngrams import MAX_ORDER, Ints, lengths_of

ORDER_RULES = ("available", "four")

_MAX_CELLS = 2**24


# -- OnlyStyle --------------------------------------------------------------------------------------------------------
def order_scores(sums: Floats, sizes: Ints) -> Floats:
    """Compute OnlyStyle_n(c, p), the mean of CNG_p(t) over the n-grams t in M_n (Eq. 6). 0 if M_n is empty.

    Args:
        sums: Sum of CNG_p(t) over M_n, any shape.
        sizes: |M_n|, of a shape that broadcasts with `sums`.
    """
    return sums / np.maximum(sizes, 1)


def onlystyle_scores(scores: Iterable[Floats], sizes: Ints, orders: str = "available") -> Floats:
    """Compute OnlyStyle(c, p), the mean of OnlyStyle_n over the orders n = 1 to 4 (Eq. 5).

    The score is 0 for a caption without words.

    Args:
        scores: OnlyStyle_n by order, each of the same shape.
        sizes: |M_n| by order, shape ``(4, ...)``, each of a shape that broadcasts with `scores`.
        orders: "available" for the mean over the orders of which a caption has n-grams, so that a single word can reach
            the bounds of the paper. "four" for a quarter of the sum, as printed in the paper.
    """
    divisor = np.maximum(np.count_nonzero(sizes, axis=0), 1) if orders == "available" else MAX_ORDER
    return sum(scores, start=np.zeros(())) / divisor


def own_scores(weighted: Sequence[WeightedNgrams], orders: str = "available") -> Floats:
    """Compute OnlyStyle of each caption in the style for which its n-grams are weighted, shape ``(n_captions,)``.

    Args:
        weighted: N-grams of the captions, by order.
        orders: "available" or "four", see `onlystyle_scores`.
    """
    sizes = np.stack([order.grams.sizes for order in weighted])
    return onlystyle_scores((order_scores(order.sums(), order.grams.sizes) for order in weighted), sizes, orders)


def shares(sizes: Ints, orders: str) -> Floats:
    """Compute the contribution of an n-gram to the score of its caption per unit of weight, shape ``(4, n_captions)``.

    Args:
        sizes: Shape ``(4, n_captions)``, |M_n|.
        orders: "available" or "four", see `onlystyle_scores`.
    """
    # Score of a caption with one n-gram of weight 1 and all others of weight 0. Axes: order of the mean, order of
    # that n-gram, caption.
    alone = np.eye(MAX_ORDER)[:, :, None]
    return onlystyle_scores(order_scores(alone, sizes[:, None]), sizes[:, None], orders)


def score_blocks(
    table: StyleCounts,
    captions: Sequence[Sequence[str]],
    variant: str = "paper",
    *,
    orders: str = "available",
    left_out_of: Ints | None = None,
) -> Iterator[Floats]:
    """Compute OnlyStyle of captions in every style, in blocks of rows.

    Args:
        table: Style table.
        captions: Tokens of each caption.
        variant: "paper" or "released".
        orders: "available" or "four", see `onlystyle_scores`.
        left_out_of: Shape ``(n_captions,)``, style from which one copy of the caption is removed. None to remove
            nothing.

    Yields:
        Scores of the next n captions, shape ``(n, |S|)``, float64.
    """
    for part in blocks(len(captions)):
        own = None if left_out_of is None else left_out_of[part]
        styles = np.zeros(len(captions[part]), np.int64) if own is None else own
        weighted = weigh_ngrams(table, captions[part], styles, variant, exclude_self=own is not None)
        sizes = np.stack([order.grams.sizes[:, None] for order in weighted])  # (4, captions, 1)
        means = (
            order_scores(order.sums_in_every_style(counts, variant), order.grams.sizes[:, None])
            for counts, order in zip(table.orders, weighted, strict=True)
        )
        scores = onlystyle_scores(means, sizes, orders)
        if own is not None:
            # Above, each column uses E of all captions. In the caption's own style, E must be computed without the
            # caption.
            scores[np.arange(len(own)), own] = own_scores(weighted, orders)
        yield scores


# -- StyleCIDEr -------------------------------------------------------------------------------------------------------
def compute_squared_norms(weights: Floats, owners: Ints, n: int) -> Floats:
    """Compute |g_n|^2 of n vectors g_n that contain CNG_p(t) for each distinct n-gram t, shape ``(n,)``.

    Args:
        weights: Shape ``(m,)``, entries of all vectors.
        owners: Shape ``(m,)``, index of the vector of each entry.
        n: Number of vectors.
    """
    return np.bincount(owners, weights**2, n).astype(np.float64)


def ngram_cosines(candidates: tuple[Floats, Ints], references: tuple[Floats, Ints], shared: Bools, of: Ints) -> Floats:
    """Compute cos_n = g_n(c).g_n(r) / (|g_n(c)| |g_n(r)|) of n-gram vectors (Eq. 8).

    Both sides use the target style p of the candidate, so every product is a square.

    Args:
        candidates: Weights of the n-grams of all candidates, shape ``(m_c,)``, and the example of each n-gram.
        references: Weights of the n-grams of all references, shape ``(m_r,)``, and the reference of each n-gram.
        shared: Shape ``(m_r,)``, whether the candidate also contains the n-gram.
        of: Shape ``(n_references,)``, example of each reference.

    Returns:
        Shape ``(n_references,)``, in [0, 1]. 0 if a norm is 0.
    """
    weights, owners = references
    products = compute_squared_norms(weights[shared], owners[shared], len(of))
    norms = compute_squared_norms(*candidates, int(of.max(initial=-1)) + 1)[of]
    norms = np.sqrt(norms * compute_squared_norms(weights, owners, len(of)))
    return np.minimum(np.divide(products, norms, out=np.zeros(len(of)), where=norms > 0.0), 1.0)


def reference_cosines(
    own: Sequence[WeightedNgrams], theirs: Sequence[tuple[WeightedNgrams, Bools]], of: Ints
) -> Floats:
    """Compute cos_n of each reference with the candidate of its example, shape ``(4, n_references)``.

    Args:
        own: N-grams of the candidates, by order.
        theirs: N-grams of the references, by order, and whether the candidate also contains each of them.
        of: Shape ``(n_references,)``, example of each reference.
    """
    return np.stack(
        [
            ngram_cosines((a.weights, a.grams.captions), (b.weights, b.grams.captions), shared, of)
            for a, (b, shared) in zip(own, theirs, strict=True)
        ]
    )


def reference_scores(cosines: Iterable[Floats], variant: str, candidates: Ints, references: Ints) -> Floats:
    """Compute StyleCIDEr(c, r, p) = (cos_1 + cos_2 + cos_3 + cos_4) / 4 (Eq. 7).

    The divisor is always 4, as in CIDEr: a caption of three words has no 4-gram and scores at most 0.75. The authors'
    code also applies the length penalty and the factor 10 of CIDEr-D.

    Args:
        cosines: cos_n by order, each of the same shape.
        variant: "paper" or "released".
        candidates: Numbers of tokens, of a shape that broadcasts with the cosines.
        references: Numbers of tokens, of a shape that broadcasts with the cosines.
    """
    scores = sum(cosines, start=np.zeros(())) / MAX_ORDER
    return scores if variant == "paper" else SCALE * length_penalties(candidates, references) * scores


def mean_over_references(scores: Floats, of: Ints, n_examples: int) -> Floats:
    """Compute the mean over the references of each example, shape ``(n_examples,)``. NaN without references.

    Args:
        scores: Shape ``(n_references,)``.
        of: Shape ``(n_references,)``, example of each reference.
        n_examples: Number of examples.
    """
    counts = np.bincount(of, minlength=n_examples)
    sums = np.bincount(of, scores, n_examples)
    return np.divide(sums, counts, out=np.full(n_examples, np.nan), where=counts > 0)


@dataclass(frozen=True, eq=False)
class CosineSums:
    """Sums of StyleCIDEr of some captions of one style.

    Attributes:
        style: Row of the style whose weights are used on both sides.
        captions: Shape ``(n,)``, rows of the captions.
        sums: Shape ``(n, |S|)``, sums over the references of each style.
        selves: Shape ``(n,)``, score of each caption with a copy of itself.
    """

    style: int
    captions: Ints
    sums: Floats
    selves: Floats


def cosine_sums(
    table: StyleCounts,
    captions: Sequence[Sequence[str]],
    styles: Ints,
    references: Sequence[Sequence[str]],
    reference_styles: Ints,
    variant: str,
    progress: Progress = False,
) -> Iterator[CosineSums]:
    """Compute sums of StyleCIDEr over the references of each style, without a loop over pairs.

    Captions are processed in blocks of one style, which limits the memory. A sum of cosines is one product, u(c) . (sum
    over r of u(r)) with u = g / |g|. With a length penalty there is one such sum per reference length.

    Args:
        table: Style table.
        captions: Tokens of each caption.
        styles: Shape ``(n_captions,)``, style of each caption.
        references: Tokens of each reference.
        reference_styles: Shape ``(n_references,)``, style of each reference.
        variant: "paper" or "released".
        progress: Progress reporting, see `progress_bar`.

    Yields:
        Sums of a block of captions.
    """
    own, theirs = table.ngrams(captions), table.ngrams(references)
    lengths, their_lengths = lengths_of(captions), lengths_of(references)
    # References of the same style and, if it matters, of the same length have equal contributions.
    keys = np.stack([reference_styles, np.zeros_like(their_lengths) if variant == "paper" else their_lengths])
    (group_styles, group_lengths), group_of = np.unique(keys, axis=1, return_inverse=True)
    first = np.flatnonzero(np.diff(group_styles, prepend=-1))  # first group of each style
    present = np.unique(styles)
    with progress_bar(len(present), "Comparing with every style", progress) as advance:
        for style in present.tolist():
            rows = np.flatnonzero(styles == style)
            vectors = [
                _unit_vectors(counts, style, variant, rows, a, b, group_of.ravel(), len(group_styles))
                for counts, a, b in zip(table.orders, own, theirs, strict=True)
            ]
            cosines_with_self = (np.diff(a.indptr).astype(np.bool_).astype(np.float64) for a, _ in vectors)
            selves = reference_scores(cosines_with_self, variant, lengths[rows], lengths[rows])
            step = max(1, _MAX_CELLS // max(1, len(group_styles)))
            for start in range(0, len(rows), step):
                part = slice(start, start + step)
                # Axes: caption, group of references.
                cosines = ((a[part] @ b).toarray() for a, b in vectors)
                scores = reference_scores(cosines, variant, lengths[rows[part], None], group_lengths)
                sums = np.zeros((len(scores), len(table.styles)))
                sums[:, group_styles[first]] = np.add.reduceat(scores, first, axis=1)
                yield CosineSums(style, rows[part], sums, selves[part])
            advance(1)


def _unit_vectors(
    counts: OrderCounts,
    style: int,
    variant: str,
    rows: Ints,
    own: CaptionNgrams,
    theirs: CaptionNgrams,
    group_of: Ints,
    n_groups: int,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Build two sparse matrices of one order whose product contains the sums of cosines (Eq. 8).

    The shape of the product is captions by groups of references.

    The first matrix contains g^2 / |g_c| (captions by n-grams), the second the sum over a group of 1 / |g_r| (n-grams
    by groups). Both sides use the weights g of one style, so g_c . g_r is the sum of g^2 over the n-grams of both.
    """
    weights = _weights_in(counts, style, variant)
    row = np.full(len(own.sizes), -1)
    row[rows] = np.arange(len(rows))
    here = (own.ngrams >= 0) & (row[own.captions] >= 0)
    here[here] = weights[own.ngrams[here]] != 0.0
    owners, ngrams = row[own.captions[here]], own.ngrams[here]
    norms = np.sqrt(compute_squared_norms(weights[ngrams], owners, len(rows)))
    entries = weights[ngrams] ** 2 / norms[owners]
    first = sparse.csr_array((entries, (owners, ngrams)), shape=(len(rows), len(weights)))

    wanted = np.zeros(len(weights), np.bool_)
    wanted[ngrams] = True
    seen = theirs.ngrams >= 0
    captions, ngrams = theirs.captions[seen], theirs.ngrams[seen]
    norms = np.sqrt(compute_squared_norms(weights[ngrams], captions, len(theirs.sizes)))
    there = wanted[ngrams]
    captions, ngrams = captions[there], ngrams[there]
    where = (ngrams, group_of[captions])
    return first, sparse.csr_array((1.0 / norms[captions], where), shape=(len(weights), n_groups))


def _weights_in(counts: OrderCounts, style: int, variant: str) -> Floats:
    """Return the weights of all n-grams of an order in one style, shape ``(V_n,)``."""
    pairs = np.flatnonzero(counts.styles == style)
    ngrams = np.searchsorted(counts.bounds, pairs, "right") - 1
    df, ecdf = np.zeros(len(counts.keys), np.int64), np.zeros(len(counts.keys))
    df[ngrams], ecdf[ngrams] = counts.df[pairs], counts.ecdf[pairs]
    return contrastive_weights(df, ecdf, counts.totals, counts.occurrences, counts.n_styles, variant)
