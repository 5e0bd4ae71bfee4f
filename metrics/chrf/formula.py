"""The n-grams that captions share with references, and their F-score (Popovic, 2015 and 2017)."""

import string
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.core.progress import Progress
from vlgauge.core.progress import report_progress
from vlgauge.inputs.text.ngrams import Ints
from vlgauge.inputs.text.ngrams import Tokens
from vlgauge.inputs.text.ngrams import first_of_run
from vlgauge.inputs.text.ngrams import ngram_sets
from vlgauge.inputs.text.ngrams import token_ids

Floats = npt.NDArray[np.float64]

CHARACTER_ORDERS, WORD_ORDERS = 6, 2
BETA = 2.0  # weight of recall relative to precision

_ORDERS = (
    *(("characters", n) for n in range(1, CHARACTER_ORDERS + 1)),
    *(("words", n) for n in range(1, WORD_ORDERS + 1)),
)

COUNT_COLUMNS = (
    *(f"{kind}_shared_{n}" for kind, n in _ORDERS),
    "characters",
    "words",
    "reference_characters",
    "reference_words",
)
"""Counts of a caption and its best reference: shared n-grams and lengths."""

_AT_ONCE = 2_000  # examples whose n-grams are in memory at the same time


@dataclass(frozen=True, eq=False)
class BestReferences:
    """Best references of captions, with their scores and counts.

    Attributes:
        per_reference: F-score of each caption with each of its references.
        best: Index of the best reference of each caption, length E. Ties are broken in favor of the first one.
        columns: Counts with the best reference, shape ``(E, 12)``, in the order of `COUNT_COLUMNS`.
    """

    per_reference: list[list[float]]
    best: list[int]
    columns: Ints


def words(text: str) -> list[str]:
    """Split a text into the words of chrF++ (Popovic, 2017).

    One punctuation mark at the end of a word, or otherwise at its start, becomes a separate word.
    """
    found: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in string.punctuation:
            found += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in string.punctuation:
            found += [word[0], word[1:]]
        else:
            found.append(word)
    return found


def characters(text: str) -> str:
    """Remove all whitespace from a text."""
    return "".join(text.split())


def summands(columns: Floats) -> Floats:
    """Compute the quantities that are summed over a corpus from the columns of `COUNT_COLUMNS`.

    Args:
        columns: Counts, shape ``(E, 12)``.

    Returns:
        Shape ``(E, 3 * 8)``: shared n-grams, n-grams of the caption and n-grams of the reference, each with the orders
        1 to 6 of characters, then 1 and 2 of words. N-grams of the caption do not count for orders that the reference
        lacks.
    """
    shared, lengths = columns[:, : len(_ORDERS)], columns[:, len(_ORDERS) :]
    own, theirs = (
        np.stack([np.maximum(lengths[:, first + (kind == "words")] - (n - 1), 0.0) for kind, n in _ORDERS], axis=1)
        for first in (0, 2)
    )
    return np.concatenate([shared, own * (theirs > 0), theirs], axis=1)


def f_score(sums: Floats) -> Floats:
    """Compute chrF, (1 + b^2) P R / (b^2 P + R) (Popovic, 2015, Eq. 1), with P and R averaged over the orders.

    Orders without n-grams in the caption or in the reference are left out of the means.

    Args:
        sums: Output of `summands` for one caption, or summed over several, shape ``(..., 24)``.

    Returns:
        Shape ``(...)``, in [0, 1]. 0 if there are no shared n-grams.
    """
    shared, own, theirs = (sums[..., start : start + len(_ORDERS)] for start in (0, 8, 16))
    counts = (own > 0) & (theirs > 0)
    # Sum order by order, so that equal references have equal scores for any array shape.
    precision, recall = (
        sum(np.where(counts[..., k], shared[..., k] / np.maximum(of[..., k], 1.0), 0.0) for k in range(len(_ORDERS)))
        / np.maximum(counts.sum(axis=-1), 1)
        for of in (own, theirs)
    )
    weighed = BETA**2 * precision + recall
    return (1 + BETA**2) * precision * recall / np.where(weighed > 0, weighed, 1.0)


def best_references(
    predictions: Sequence[str], references: Sequence[Sequence[str]], word_order: int, progress: Progress = False
) -> BestReferences:
    """Score each caption with each of its references and select the best reference.

    Args:
        predictions: Captions, one per row.
        references: References of each caption, at least one.
        word_order: 0, or 2 to count words too.
        progress: Progress setting. See `vlgauge.core.progress`.
    """
    per_reference: list[list[float]] = []
    chosen, columns = [], [np.zeros((0, len(COUNT_COLUMNS)), np.int64)]
    starts = range(0, len(predictions), _AT_ONCE)
    for start in report_progress(starts, len(starts), "Scoring captions", progress, block=1):
        own, theirs = predictions[start : start + _AT_ONCE], references[start : start + _AT_ONCE]
        pairs = _pair_columns(own, theirs, word_order)
        scores = f_score(summands(pairs.astype(np.float64))).tolist()
        first = 0
        for captions in theirs:
            of_each = scores[first : first + len(captions)]
            best = of_each.index(max(of_each))
            per_reference.append(of_each)
            chosen.append(best)
            columns.append(pairs[first + best : first + best + 1])
            first += len(captions)
    return BestReferences(per_reference, chosen, np.concatenate(columns))


def _pair_columns(predictions: Sequence[str], references: Sequence[Sequence[str]], word_order: int) -> Ints:
    """Return the `COUNT_COLUMNS` of each caption with each of its references, shape ``(n_references, 12)``."""
    texts = [text for own, theirs in zip(predictions, references, strict=True) for text in (own, *theirs)]
    example = np.repeat(np.arange(len(predictions)), [1 + len(theirs) for theirs in references])
    candidate = np.flatnonzero(first_of_run(example))[example]  # index of the caption that each text belongs to
    is_reference = candidate != np.arange(len(texts))
    found = [*_find_shared([characters(text) for text in texts], example, candidate, CHARACTER_ORDERS)]
    split = [words(text) if word_order else [] for text in texts]
    found += _find_shared(split, example, candidate, WORD_ORDERS)
    lengths = [np.array([len(characters(text)) for text in texts]), np.array([len(one) for one in split])]
    found += [length[candidate] for length in lengths] + lengths
    return np.stack([column[is_reference] for column in found], axis=1).astype(np.int64)


def _find_shared(texts: Sequence[Tokens], example: Ints, candidate: Ints, max_order: int) -> Iterator[Ints]:
    """Yield, for each order, the n-grams that each text shares with its caption, shape ``(n_texts,)``."""
    for grams in ngram_sets(token_ids(texts), max_order=max_order):
        # The entries of an n-gram are grouped by row, with the caption before its references.
        runs = np.flatnonzero(first_of_run(grams.ngrams) | first_of_run(example[grams.captions]))
        first = np.repeat(runs, np.diff(runs, append=len(grams.ngrams)))
        has = grams.captions[first] == candidate[grams.captions]
        shared = np.minimum(grams.counts, grams.counts[first]) * has
        yield np.bincount(grams.captions, shared, len(texts)).astype(np.int64)
