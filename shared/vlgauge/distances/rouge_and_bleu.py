"""ROUGE-L and BLEU-4 between single captions, and both as the COCO caption evaluation code computes them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.distances.cider import ORDERS, told_by_order
from vlgauge.progress import Progress
from vlgauge.text.ngrams import Ints, TokenIds, first_of_run, ngram_counts, ngram_sets, token_ids

Floats = npt.NDArray[np.float64]

# The counts of a caption, which are all that its BLEU, and with those of others the BLEU of a corpus, depends on.
COUNT_COLUMNS = (*(f"matches_{order}" for order in ORDERS), "length", "closest")

BETA = 1.2  # of ROUGE-L: how much more recall counts than precision

_CELLS_AT_ONCE = 2**18  # pairs of tokens


def rouge_l(texts: Sequence[Sequence[str]]) -> Floats:
    """2PR / (P + R) of all pairs, with P and R the parts of either text in a longest common subsequence.

    Args:
        texts: Tokens of each text.

    Returns:
        shape ``(n_texts, n_texts)``, symmetric, in [0, 1]; 0 for a text without tokens.
    """
    lengths = np.array([len(tokens) for tokens in texts])
    # PR/(P+R) = common / (length + length)
    return 2.0 * common_subsequences(texts) / np.maximum(lengths[:, None] + lengths, 1)


def common_subsequences(texts: Sequence[Sequence[str]]) -> Ints:
    """Lengths of the longest common subsequences of all pairs, shape ``(n_texts, n_texts)``."""
    ones, others = np.tril_indices(len(texts))
    lengths = np.zeros((len(texts), len(texts)), dtype=np.int64)
    lengths[ones, others] = lengths[others, ones] = common_lengths(token_ids(texts), ones, others)
    return lengths


def common_lengths(
    texts: TokenIds, ones: Ints, others: Ints, advance: Callable[[int], object] = lambda n: None
) -> Ints:
    """Lengths of the longest common subsequences of pairs of texts.

    Args:
        texts: The texts.
        ones: Shape ``(P,)``, the first text of each pair.
        others: Shape ``(P,)``, the second.
        advance: Told the number of pairs that are done.
    """
    found = np.zeros(len(ones), np.int64)
    cells = texts.lengths[ones] * texts.lengths[others]
    order = np.argsort(cells, kind="stable")  # pairs of similar size together, as the longest decides
    for pairs in np.split(order, np.flatnonzero(first_of_run(np.cumsum(cells[order]) // _CELLS_AT_ONCE))[1:]):
        tokens = texts.padded(ones[pairs], -1)
        # Row k: the longest with the first k tokens of each.
        lengths = np.zeros((len(tokens) + 1, len(pairs)), np.int32)
        for following in texts.padded(others[pairs], -2):
            longer = np.maximum(lengths[1:], lengths[:-1] + (tokens == following))
            np.maximum.accumulate(longer, out=lengths[1:])
        found[pairs] = lengths[-1]
        advance(len(pairs))
    return found


def bleu_4(texts: Sequence[Sequence[str]]) -> Floats:
    """BLEU-4 of all ordered pairs without smoothing (Papineni et al., 2002).

    The fourth root of the product of the four clipped n-gram precisions, times exp(1 - |r|/|h|) unless |h| > |r|.

    Args:
        texts: Tokens of each text.

    Returns:
        shape ``(n_texts, n_texts)``, row h, column r, in [0, 1]; 0 where one of the precisions is 0 or undefined.
    """
    product = np.ones((len(texts), len(texts)))
    for counts in ngram_counts(texts):
        matches = np.array([np.minimum(hypothesis, counts).sum(axis=1) for hypothesis in counts])
        product *= matches / np.maximum(counts.sum(axis=1), 1)[:, None]
    lengths = np.array([float(len(tokens)) for tokens in texts])
    ratios = lengths / np.maximum(lengths, 1.0)[:, None]
    return product**0.25 * np.exp(np.minimum(1.0 - ratios, 0.0))


@dataclass(frozen=True, eq=False)
class BleuCounts:
    """What BLEU is computed from; the counts of a corpus are the sums of those of its examples.

    Attributes:
        matches: shape ``(E, 4)``, n-grams of the candidate, clipped at their largest count in any one reference.
        guesses: shape ``(E, 4)``, n-grams of the candidate.
        length: shape ``(E,)``, tokens of the candidate.
        closest: shape ``(E,)``, tokens of the reference whose length is closest; of two, the shorter.
    """

    matches: Floats
    guesses: Floats
    length: Floats
    closest: Floats

    def total(self) -> "BleuCounts":
        """The counts of all examples together, without the leading axis."""
        return BleuCounts(*(getattr(self, name).sum(axis=0) for name in ("matches", "guesses", "length", "closest")))

    def columns(self) -> list[Floats]:
        """The columns of `COUNT_COLUMNS`, shape ``(E,)`` each; how many n-grams a caption has, its length tells."""
        return [*self.matches.T, self.length, self.closest]


def counts_of_columns(columns: Floats) -> Floats:
    """What is added up over a corpus: matches and guesses of the four orders, length, closest.

    Args:
        columns: Shape ``(E, 6)``, in the order of `COUNT_COLUMNS`.

    Returns:
        Shape ``(E, 10)``.
    """
    length = columns[:, len(ORDERS)]
    guesses = np.maximum(length[:, None] - np.arange(len(ORDERS)), 0.0)
    return np.concatenate([columns[:, : len(ORDERS)], guesses, columns[:, len(ORDERS) :]], axis=1)


def summed_bleu_4(counts: Floats) -> Floats:
    """BLEU-4 of counts of the shape ``(..., 10)`` as `counts_of_columns` makes them, or of sums of them."""
    matches, guesses, (length, closest) = counts[..., :4], counts[..., 4:8], np.moveaxis(counts[..., 8:], -1, 0)
    precisions, penalty = _coco_factors(BleuCounts(matches, guesses, length, closest))
    # As `coco_bleu` multiplies them, without the roots of the shorter n-grams: tests ask for millions of corpora.
    product = precisions[..., 0] * precisions[..., 1] * precisions[..., 2] * precisions[..., 3]
    return product ** (1.0 / len(ORDERS)) * penalty


def summed_bleu(counts: Floats, order: int) -> Floats:
    """Return BLEU with n-grams of up to `order` tokens of counts, or sums of counts, as `summed_bleu_4` takes them."""
    matches, guesses, (length, closest) = counts[..., :4], counts[..., 4:8], np.moveaxis(counts[..., 8:], -1, 0)
    return coco_bleu(BleuCounts(matches, guesses, length, closest))[..., order - 1]


def without_match(counts: Floats) -> npt.NDArray[np.bool_]:
    """Whether no four words match in counts as `counts_of_columns` makes them: BLEU-4 would be 0 but for constants."""
    return counts[..., len(ORDERS) - 1] == 0


def bleu_counts(texts: TokenIds, example: Ints, progress: Progress = False) -> BleuCounts:
    """The counts of BLEU of one candidate per example against all its references together.

    Args:
        texts: The candidate of an example, then its references, at least one, then the next example.
        example: shape ``(n_texts,)``, ascending, which of E examples each text is of.
        progress: How to report it.
    """
    is_candidate = first_of_run(example)
    n_examples = np.count_nonzero(is_candidate)
    matches = np.zeros((n_examples, len(ORDERS)))
    counted = told_by_order(ngram_sets(texts, repeated_only=True), len(example), progress)
    for order, grams in enumerate(counted):
        ours = is_candidate[grams.captions]
        # One entry per n-gram and example, in which the candidate comes before the references.
        first = np.flatnonzero(first_of_run(grams.ngrams) | first_of_run(example[grams.captions]))
        most = np.maximum.reduceat(grams.counts * ~ours, first)  # in any one reference
        clipped = np.minimum(grams.counts[first] * ours[first], most)
        matches[:, order] = np.bincount(example[grams.captions[first]], clipped, n_examples)
    every_length = texts.lengths.astype(np.float64)
    lengths, theirs, of = every_length[is_candidate], every_length[~is_candidate], example[~is_candidate]
    guesses = np.maximum(lengths[:, None] - np.arange(len(ORDERS)), 0.0)
    by_gap = np.lexsort((theirs, np.abs(theirs - lengths[of]), of))
    closest = theirs[by_gap][np.searchsorted(of, np.arange(n_examples))]
    return BleuCounts(matches, guesses, lengths, closest)


def coco_bleu(counts: BleuCounts) -> Floats:
    """BLEU-1 to BLEU-4 as the COCO caption evaluation computes them (Papineni et al., 2002, section 2.3).

    BLEU-k is the k-th root of the product of the precisions p_1 to p_k, times the brevity penalty: exp(1 - r/c) where
    the candidate has fewer tokens, c, than the closest reference, r, else 1. Small constants stand for smoothing.

    Args:
        counts: Of single examples, or sums over a corpus, with any leading axes.

    Returns:
        shape ``(..., 4)``, in [0, 1].
    """
    precisions, penalty = _coco_factors(counts)
    roots: Floats = np.cumprod(precisions, axis=-1) ** (1.0 / np.arange(1, len(ORDERS) + 1))
    return roots * penalty[..., None]


def _coco_factors(counts: BleuCounts) -> tuple[Floats, Floats]:
    """Precisions of the four orders, shape ``(..., 4)``, and brevity penalty, shape ``(...)``."""
    precisions = (counts.matches + 1e-15) / (counts.guesses + 1e-9)
    ratio = (counts.length + 1e-15) / (counts.closest + 1e-9)
    return precisions, np.exp(np.minimum(1.0 - 1.0 / ratio, 0.0))


def coco_rouge_l(precision: Floats, recall: Floats) -> Floats:
    """(1 + b^2) P R / (R + b^2 P) with b = 1.2, as the COCO caption evaluation computes ROUGE-L (Lin, 2004, Eq. 4).

    Args:
        precision: P, the largest over the references.
        recall: R, the largest over the references.

    Returns:
        shape of the arguments, in [0, 1]; 0 where nothing is in common.
    """
    weighted = recall + BETA**2 * precision
    return (1 + BETA**2) * precision * recall / np.where(weighted > 0.0, weighted, 1.0)
