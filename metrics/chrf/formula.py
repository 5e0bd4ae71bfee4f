"""The n-grams that captions share with references, and their F-score (Popovic, 2015 and 2017)."""

import string
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.progress import Progress
from vlgauge.progress import reported
from vlgauge.text.ngrams import Ints
from vlgauge.text.ngrams import Tokens
from vlgauge.text.ngrams import first_of_run
from vlgauge.text.ngrams import ngram_sets
from vlgauge.text.ngrams import token_ids

Floats = npt.NDArray[np.float64]

CHARACTER_ORDERS, WORD_ORDERS = 6, 2
BETA = 2.0  # how much more recall counts than precision

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
"""What is known of a caption and its best reference: n-grams that both have, and how long they are."""

_AT_ONCE = 2_000  # examples whose n-grams are in memory together


@dataclass(frozen=True, eq=False)
class BestReferences:
    """Captions beside the best of their references.

    Attributes:
        per_reference: F-score of each caption with each of its references.
        best: shape ``(E,)``, position of the best of these; of equal ones, the first.
        columns: shape ``(E, 12)``, the counts with the best, in the order of `COUNT_COLUMNS`.
    """

    per_reference: list[list[float]]
    best: list[int]
    columns: Ints


def words(text: str) -> list[str]:
    """The words of chrF++ (Popovic, 2017): one punctuation mark at the end of a word, else at its start, is a word."""
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
    """The text without white space."""
    return "".join(text.split())


def summands(columns: Floats) -> Floats:
    """What is added over a corpus, from the columns of `COUNT_COLUMNS`.

    Args:
        columns: shape ``(E, 12)``.

    Returns:
        shape ``(E, 3 * 8)``: n-grams that both have, those of the caption, those of the reference; of each the orders 1
        to 6 of characters, then 1 and 2 of words. Where the reference has none, those of the caption do not count.
    """
    shared, lengths = columns[:, : len(_ORDERS)], columns[:, len(_ORDERS) :]
    own, theirs = (
        np.stack([np.maximum(lengths[:, first + (kind == "words")] - (n - 1), 0.0) for kind, n in _ORDERS], axis=1)
        for first in (0, 2)
    )
    return np.concatenate([shared, own * (theirs > 0), theirs], axis=1)


def f_score(sums: Floats) -> Floats:
    """chrF, (1 + b^2) P R / (b^2 P + R) (Popovic, 2015, Eq. 1), with P and R the means over the orders.

    Orders of which caption or reference has no n-gram are left out of the means.

    Args:
        sums: shape ``(..., 24)``, as `summands` has them, of one caption or added over many.

    Returns:
        shape ``(...)``, in [0, 1]; 0 where nothing is shared.
    """
    shared, own, theirs = (sums[..., start : start + len(_ORDERS)] for start in (0, 8, 16))
    counts = (own > 0) & (theirs > 0)
    # Added order by order, so that equal references stay equal whatever the shape.
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
    """Each caption beside its references, with the counts of the best.

    Args:
        predictions: one caption per row.
        references: at least one per caption.
        word_order: 0, or 2 to count words too.
        progress: How to report it.
    """
    per_reference: list[list[float]] = []
    chosen, columns = [], [np.zeros((0, len(COUNT_COLUMNS)), np.int64)]
    starts = range(0, len(predictions), _AT_ONCE)
    for start in reported(starts, len(starts), "Scoring captions", progress, block=1):
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
    """The columns of `COUNT_COLUMNS` of each caption with each of its references, shape ``(n_references, 12)``."""
    texts = [text for own, theirs in zip(predictions, references, strict=True) for text in (own, *theirs)]
    example = np.repeat(np.arange(len(predictions)), [1 + len(theirs) for theirs in references])
    candidate = np.flatnonzero(first_of_run(example))[example]  # of each text, the position of the caption beside it
    is_reference = candidate != np.arange(len(texts))
    found = [*_shared([characters(text) for text in texts], example, candidate, CHARACTER_ORDERS)]
    split = [words(text) if word_order else [] for text in texts]
    found += _shared(split, example, candidate, WORD_ORDERS)
    lengths = [np.array([len(characters(text)) for text in texts]), np.array([len(one) for one in split])]
    found += [length[candidate] for length in lengths] + lengths
    return np.stack([column[is_reference] for column in found], axis=1).astype(np.int64)


def _shared(texts: Sequence[Tokens], example: Ints, candidate: Ints, max_order: int) -> Iterator[Ints]:
    """Of each order, how many n-grams a text shares with the caption of its example, shape ``(n_texts,)``."""
    for grams in ngram_sets(token_ids(texts), max_order=max_order):
        # Within the entries of one n-gram those of a row stand together, its caption before its references.
        runs = np.flatnonzero(first_of_run(grams.ngrams) | first_of_run(example[grams.captions]))
        first = np.repeat(runs, np.diff(runs, append=len(grams.ngrams)))
        has = grams.captions[first] == candidate[grams.captions]
        shared = np.minimum(grams.counts, grams.counts[first]) * has
        yield np.bincount(grams.captions, shared, len(texts)).astype(np.int64)
