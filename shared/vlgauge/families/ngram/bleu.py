"""BLEU-4 between single captions, and BLEU as computed by the COCO caption evaluation code."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.core.progress import Progress
from vlgauge.families.ngram.cider import ORDERS, iterate_orders
from vlgauge.inputs.text.ngrams import Ints, TokenIds, first_of_run, ngram_counts, ngram_sets, ranges

Floats = npt.NDArray[np.float64]

# Counts of a caption that determine its BLEU. Together with the counts of other captions they determine the corpus
# BLEU.
COUNT_COLUMNS = (*(f"matches_{order}" for order in ORDERS), "length", "closest")


def bleu_4(texts: Sequence[Sequence[str]]) -> Floats:
    """Compute BLEU-4 of all ordered pairs without smoothing (Papineni et al., 2002).

    BLEU-4 is the fourth root of the product of the four clipped n-gram precisions, times exp(1 - |r|/|h|) unless |h| >
    |r|.

    Args:
        texts: Tokens of each text.

    Returns:
        Shape ``(n_texts, n_texts)``, row h, column r, float64, in [0, 1]. 0 if a precision is 0 or undefined.
    """
    product = np.ones((len(texts), len(texts)))
    for counts in ngram_counts(texts):
        matches = np.array([np.minimum(hypothesis, counts).sum(axis=1) for hypothesis in counts])
        product *= matches / np.maximum(counts.sum(axis=1), 1)[:, None]
    lengths = np.array([float(len(tokens)) for tokens in texts])
    ratios = lengths / np.maximum(lengths, 1.0)[:, None]
    return product**0.25 * np.exp(np.minimum(1.0 - ratios, 0.0))


def counts_of_columns(columns: Floats) -> Floats:
    """Return the counts that are summed over a corpus: matches and guesses of the four orders, length, closest.

    Args:
        columns: Shape ``(E, 6)``, in the order of `COUNT_COLUMNS`.

    Returns:
        Shape ``(E, 10)``. See `bleu_counts`.
    """
    lengths = columns[:, len(ORDERS), None]
    guesses = np.maximum(lengths - np.arange(len(ORDERS)), 0.0)
    return np.concatenate([columns[:, : len(ORDERS)], guesses, columns[:, len(ORDERS) :]], axis=1)


def columns_of_counts(counts: Floats) -> Floats:
    """Return the columns of `COUNT_COLUMNS`, shape ``(E, 6)``. The length determines the number of n-grams."""
    return np.delete(counts, np.s_[len(ORDERS) : 2 * len(ORDERS)], axis=1)


def compute_bleu_4(counts: Floats) -> Floats:
    """Compute BLEU-4 from counts of captions, or from sums of them.

    Args:
        counts: Shape ``(..., 10)``. See `bleu_counts`.

    Returns:
        Shape ``(...)``, in [0, 1].
    """
    precisions, penalty = _coco_factors(counts)
    # Multiply in the order of `coco_bleu`, but without the roots of the lower orders, because tests need millions
    # of corpora.
    product = precisions[..., 0] * precisions[..., 1] * precisions[..., 2] * precisions[..., 3]
    return product ** (1.0 / len(ORDERS)) * penalty


def compute_bleu(counts: Floats, order: int) -> Floats:
    """Compute BLEU with n-grams of up to `order` tokens. See `coco_bleu`."""
    return coco_bleu(counts)[..., order - 1]


def without_match(counts: Floats) -> npt.NDArray[np.bool_]:
    """Return whether there are no 4-gram matches, in which case BLEU-4 is 0 apart from the smoothing constants.

    Args:
        counts: Shape ``(..., 10)``. See `bleu_counts`.

    Returns:
        Shape ``(...)``, bool.
    """
    return counts[..., len(ORDERS) - 1] == 0


def bleu_counts(texts: TokenIds, example: Ints, progress: Progress = False) -> Floats:
    """Count the n-grams of one candidate per example against all its references together, for BLEU.

    The counts of a corpus are the sums over its examples.

    Args:
        texts: The candidate of an example, then its references (at least one), then the next example.
        example: Shape ``(n_texts,)``, ascending, index of the example of each text, from 0 to E - 1.
        progress: Progress reporting.

    Returns:
        Shape ``(E, 10)``: for each of the four orders the n-grams of the candidate, clipped at their maximum count in a
        single reference, then for each of them the n-grams of the candidate, its tokens, and the tokens of the
        reference with the closest length, or of the shorter one if two are equally close.
    """
    is_candidate = first_of_run(example)
    n_examples = np.count_nonzero(is_candidate)
    matches = np.zeros((n_examples, len(ORDERS)))
    counted = iterate_orders(ngram_sets(texts, repeated_only=True), len(example), progress)
    for order, grams in enumerate(counted):
        ours = is_candidate[grams.captions]
        # One entry per n-gram and example, in which the candidate precedes the references.
        first = np.flatnonzero(first_of_run(grams.ngrams) | first_of_run(example[grams.captions]))
        most = np.maximum.reduceat(grams.counts * ~ours, first)  # in a single reference
        clipped = np.minimum(grams.counts[first] * ours[first], most)
        matches[:, order] = np.bincount(example[grams.captions[first]], clipped, n_examples)
    every_length = texts.lengths.astype(np.float64)
    lengths, theirs, of = every_length[is_candidate], every_length[~is_candidate], example[~is_candidate]
    return counts_of_columns(np.column_stack([matches, lengths, _closest_lengths(lengths, theirs, of)]))


def leave_one_out_counts(texts: TokenIds, example: Ints, progress: Progress = False) -> Floats:
    """Count the n-grams of each text against all other texts of its example as references, for BLEU.

    Args:
        texts: Texts of an example (at least two), then of the next example.
        example: Shape ``(n_texts,)``, ascending, index of the example of each text, from 0 to E - 1.
        progress: Progress reporting.

    Returns:
        Shape ``(n_texts, 10)``. See `bleu_counts`.
    """
    n_texts = len(example)
    matches = np.zeros((n_texts, len(ORDERS)))
    counted = iterate_orders(ngram_sets(texts, repeated_only=True), n_texts, progress)
    for order, grams in enumerate(counted):
        # One group per n-gram and example. The others of a text have the largest count of the group, or the second
        # largest if only this text has the largest.
        is_new = first_of_run(grams.ngrams) | first_of_run(example[grams.captions])
        first, group = np.flatnonzero(is_new), np.cumsum(is_new) - 1
        largest = np.maximum.reduceat(grams.counts, first)
        is_largest = grams.counts == largest[group]
        second = np.maximum.reduceat(np.where(is_largest, 0, grams.counts), first)
        is_alone = np.bincount(group, is_largest, len(first)) == 1
        most = np.where(is_largest & is_alone[group], second[group], largest[group])
        matches[:, order] = np.bincount(grams.captions, np.minimum(grams.counts, most), n_texts)
    lengths = texts.lengths.astype(np.float64)
    sizes = np.bincount(example)
    owners, others = ranges((np.cumsum(sizes) - sizes)[example], sizes[example])
    is_other = owners != others
    closest = _closest_lengths(lengths, lengths[others[is_other]], owners[is_other])
    return counts_of_columns(np.column_stack([matches, lengths, closest]))


def _closest_lengths(lengths: Floats, theirs: Floats, of: Ints) -> Floats:
    """Return the reference length closest to the length of each candidate, shape ``(E,)``.

    Args:
        lengths: Shape ``(E,)``, lengths of the candidates.
        theirs: Lengths of the references.
        of: Candidate of each reference, ascending, with at least one reference per candidate.
    """
    by_gap = np.lexsort((theirs, np.abs(theirs - lengths[of]), of))
    return theirs[by_gap][np.searchsorted(of, np.arange(len(lengths)))]


def coco_bleu(counts: Floats) -> Floats:
    """Compute BLEU-1 to BLEU-4 as the COCO caption evaluation does (Papineni et al., 2002, Section 2.3).

    BLEU-k is the k-th root of the product of the precisions p_1 to p_k, times the brevity penalty. The penalty is exp(1
    - r/c) if the candidate has fewer tokens, c, than the closest reference, r, and 1 otherwise. Small constants replace
    smoothing.

    Args:
        counts: Counts of single examples, or sums over a corpus, shape ``(..., 10)``. See `bleu_counts`.

    Returns:
        Shape ``(..., 4)``, in [0, 1].
    """
    precisions, penalty = _coco_factors(counts)
    roots: Floats = np.cumprod(precisions, axis=-1) ** (1.0 / np.arange(1, len(ORDERS) + 1))
    return roots * penalty[..., None]


def _coco_factors(counts: Floats) -> tuple[Floats, Floats]:
    """Return the precisions of the four orders, shape ``(..., 4)``, and the brevity penalty, shape ``(...)``."""
    precisions = (counts[..., :4] + 1e-15) / (counts[..., 4:8] + 1e-9)
    ratio = (counts[..., 8] + 1e-15) / (counts[..., 9] + 1e-9)
    return precisions, np.exp(np.minimum(1.0 - 1.0 / ratio, 0.0))
