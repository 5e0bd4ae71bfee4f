"""Which words of a story RoViST-NR counts as repeated, and where they stand in its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# A word gets a stronger mark from so many repetitions on.
LEVELS = (1, 2, 4)

# Double quotes come as two backticks or two apostrophes; see `vlgauge.text.language.words`.
_QUOTES = ("``", "''")


@dataclass(frozen=True)
class Piece:
    """A piece of a sentence; all pieces joined are the sentence.

    Attributes:
        text: As it stands in the sentence.
        level: 0 for what is not repeated, else 1 to 3.
        nearby: Whether the word comes again in a neighbouring n-gram of its sentence.
        note: Where the word is repeated.
    """

    text: str
    level: int = 0
    nearby: bool = False
    note: str = ""


def marked_story(sentences: Sequence[str], words: Sequence[Sequence[str]], n: int) -> list[list[Piece]]:
    """The sentences in pieces, with the repeated words marked.

    Args:
        sentences: Text of each sentence.
        words: The words of each sentence that were compared.
        n: Length of the n-grams that were compared within a sentence.
    """
    return [_pieces(sentence, words, row, n) for row, sentence in enumerate(sentences)]


def _pieces(sentence: str, words: Sequence[Sequence[str]], row: int, n: int) -> list[Piece]:
    pieces = []
    end = 0
    for place, (start, stop) in enumerate(word_spans(sentence, words[row])):
        if start > end:
            pieces.append(Piece(sentence[end:start]))
        pieces.append(_marked(sentence[start:stop], words, row, place, n))
        end = stop
    return [*pieces, Piece(sentence[end:])] if end < len(sentence) else pieces


def _marked(text: str, words: Sequence[Sequence[str]], row: int, place: int, n: int) -> Piece:
    """The word at a place of a sentence, marked if it is repeated."""
    word = words[row][place]
    elsewhere = {other: count for other, kept in enumerate(words) if other != row and (count := kept.count(word))}
    nearby = neighbouring_words(words[row], place, n)[word]
    repetitions = sum(elsewhere.values()) + nearby
    notes = []
    if elsewhere:
        notes.append(f"also in sentence{'s' * (len(elsewhere) > 1)} {_listed([other + 1 for other in elsewhere])}")
    if nearby:
        notes.append(f"again in the neighbouring {n} words")
    return Piece(text, sum(repetitions >= least for least in LEVELS), bool(nearby), "; ".join(notes))


def neighbouring_words(words: Sequence[str], place: int, n: int) -> Counter[str]:
    """Words of the n-grams before and after the one that the place is in; n-grams start at 0, n, 2n, ..."""
    start = place - place % n
    return Counter([*words[max(0, start - n) : start], *words[start + n : start + 2 * n]])


def word_spans(sentence: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of each word in the text of its sentence; an empty span for a word that is not in it as such."""
    spans = []
    end = 0
    for word in words:
        found = [(start, start + len(form)) for form in _forms(word) if (start := sentence.find(form, end)) >= 0]
        start, end = min(found, default=(end, end))
        spans.append((start, end))
    return spans


def _forms(word: str) -> tuple[str, ...]:
    return (word, '"') if word in _QUOTES else (word,)


def _listed(numbers: Sequence[int]) -> str:
    texts = [str(number) for number in numbers]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
