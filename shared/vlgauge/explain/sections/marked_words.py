"""Words of a caption that raised or lowered its style score, and where they stand in its text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlgauge.text.ngrams import MAX_ORDER

from .repeated_words import word_spans

RAISED, LOWERED = "raised", "lowered"
N_NAMED = 3  # n-grams that a note names
_NEXT_TO_NOTHING = 0.005  # a weight that is shown as 0.00


@dataclass(frozen=True)
class Mark:
    """What a word did to a score.

    Attributes:
        effect: "raised" or "lowered".
        level: 1 to 3, how much.
        note: In numbers.
    """

    effect: str
    level: int
    note: str


@dataclass(frozen=True)
class MarkedPiece:
    """A piece of a caption; all pieces joined are the caption.

    Attributes:
        text: As it stands in the caption.
        mark: None for what made no difference.
    """

    text: str
    mark: Mark | None = None


def marked_caption(caption: str, tokens: Sequence[str], marks: Sequence[Mark | None]) -> list[MarkedPiece]:
    """The caption in pieces, with the marked words set apart.

    Args:
        caption: Text.
        tokens: Its tokens, in lower case, in their order. One that is written otherwise in the text stays unmarked.
        marks: Mark of each token.
    """
    lower = caption.lower()
    # A few capitals have no lower case of the same length; then the words without capitals are found.
    spans = word_spans(lower if len(lower) == len(caption) else caption, tokens)
    pieces, end = [], 0
    for (start, stop), mark in zip(spans, marks, strict=True):
        if mark is None or start == stop:
            continue
        if start > end:
            pieces.append(MarkedPiece(caption[end:start]))
        pieces.append(MarkedPiece(caption[start:stop], mark))
        end = stop
    return [*pieces, MarkedPiece(caption[end:])] if end < len(caption) else pieces


def ngram_weights(grams: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Contrastive weights by n-gram, from the details of a style metric, in their order."""
    return {gram["ngram"]: gram["cng"] for gram in grams}


def n_distinct(tokens: Sequence[str]) -> int:
    """Number of distinct 1- to 4-grams."""
    return len({tuple(tokens[i : i + n]) for n in range(1, MAX_ORDER + 1) for i in range(len(tokens) - n + 1)})


def level(amount: float, steps: Sequence[float]) -> int:
    """How many of the ascending steps an amount reaches, whatever its sign."""
    return sum(abs(amount) >= step for step in steps)


def covering(tokens: Sequence[str], place: int, ngrams: Mapping[str, float]) -> list[str]:
    """The n-grams that the word at a place is part of, in the order of the mapping.

    Args:
        tokens: Tokens of the caption.
        place: Of the word.
        ngrams: Tokens joined by spaces, and a number, which is not read.
    """
    found = []
    for ngram in ngrams:
        words = ngram.split(" ")
        starts = range(max(0, place - len(words) + 1), place + 1)
        if any(list(tokens[start : start + len(words)]) == words for start in starts):
            found.append(ngram)
    return found


def weights_note(tokens: Sequence[str], place: int, weights: Mapping[str, float]) -> str:
    """The contrastive weights of the first n-grams that a word is part of."""
    named = covering(tokens, place, named_weights(weights))
    texts = [f"{ngram} {signed(weights[ngram])}" for ngram in named[:N_NAMED]]
    more = f" and {len(named) - N_NAMED} more" if len(named) > N_NAMED else ""
    return f"weights: {', '.join(texts)}{more}" if texts else ""


def named_weights(weights: Mapping[str, float], most: int | None = None) -> dict[str, float]:
    """The first n-grams, without those whose weight rounds to 0."""
    named = [(ngram, weight) for ngram, weight in weights.items() if abs(weight) >= _NEXT_TO_NOTHING]
    return dict(named[:most])


def signed(number: float, digits: int = 2) -> str:
    """A number with its sign, such as "+0.71"."""
    return f"{number:+.{digits}f}".replace("-", "\N{MINUS SIGN}")
