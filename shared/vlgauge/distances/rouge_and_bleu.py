"""ROUGE-L and BLEU-4 between single captions, and both as the COCO caption evaluation code computes them."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt

from vlgauge.distances.cider import ORDERS, told_by_order
from vlgauge.progress import Progress
from vlgauge.text.ngrams import Ints, TokenIds, first_of_run, ngram_counts, ngram_sets

Floats = npt.NDArray[np.float64]

# The counts of a caption, which are all that its BLEU, and with those of others the BLEU of a corpus, depends on.
COUNT_COLUMNS = (*(f"matches_{order}" for order in ORDERS), "length", "closest")

BETA = 1.2  # of ROUGE-L: how much more recall counts than precision

# Tokens of a text of which the masks of all words fit into memory, and how many are kept of a longer one.
_SHORT, _KEPT_MASKS = 2**12, 2**8


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
    lengths = np.zeros((len(texts), len(texts)), dtype=np.int64)
    for i, text in enumerate(texts):
        lengths[i, : i + 1] = lengths[: i + 1, i] = common_with(text, texts[: i + 1])
    return lengths


def common_with(text: Sequence[str], others: Sequence[Sequence[str]]) -> list[int]:
    """Lengths of the longest common subsequences of a text and each of the others."""
    everything = (1 << len(text)) - 1
    mask_of = _mask_of_word(text, set().union(*others))
    lengths = []
    for other in others:
        # Bit k of row falls to 0 where one more token of text[: k + 1] is in common (Hyyro, 2004, "Bit-parallel LCS
        # length computation revisited").
        row = everything
        for token in other:
            if mask := mask_of(token):
                hits = row & mask
                row = ((row + hits) | (row - hits)) & everything
        lengths.append(len(text) - row.bit_count())
    return lengths


def _mask_of_word(text: Sequence[str], wanted: Container[str]) -> Callable[[str], int | None]:
    """Which tokens of a text a word is, one bit each; asked for a word that the text does not have, None.

    Masks of all words would take the square of a long text: those of its rare words are made when they are asked for.
    """
    places: dict[str, list[int]] = {}
    for place, token in enumerate(text):
        if token in wanted:
            places.setdefault(token, []).append(place)
    fewest = 0 if len(text) <= _SHORT else len(text) // _KEPT_MASKS
    kept = {token: _mask(found, len(text)) for token, found in places.items() if len(found) > fewest}
    if not fewest:
        return kept.get

    def mask_of(token: str) -> int | None:
        found = kept.get(token)
        return _mask(places[token], len(text)) if found is None and token in places else found

    return mask_of


def _mask(places: Sequence[int], n_bits: int) -> int:
    if n_bits <= _SHORT:
        return reduce(or_, (1 << place for place in places))
    bits = np.zeros(n_bits, dtype=bool)
    bits[places] = True
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


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
