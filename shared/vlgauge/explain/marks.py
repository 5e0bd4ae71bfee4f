"""Texts in pieces, of which some are marked with what they did to the score."""

from collections.abc import Sequence
from dataclasses import dataclass

FOR, AGAINST, NIL = "for", "against", "nil"

# Double quotes come as two backticks or two apostrophes; see `vlgauge.text.language.words`.
_QUOTES = ("``", "''")


@dataclass(frozen=True)
class Mark:
    """What a part of a text did to a score.

    Attributes:
        tone: "for", "against", or "nil" for next to nothing.
        strong: Whether it did much.
        note: In numbers; opens by tap, key or pointer.
        number: Links it to something beside the text; 0 for nothing.
        value: Shown beside it.
    """

    tone: str
    strong: bool = False
    note: str = ""
    number: int = 0
    value: str = ""


@dataclass(frozen=True)
class Piece:
    """A piece of a text; all pieces joined are the text.

    Attributes:
        text: As it stands there.
        mark: None for what made no difference.
    """

    text: str
    mark: Mark | None = None


Span = tuple[int, int]


def pieces(text: str, spans: Sequence[Span], marks: Sequence[Mark | None]) -> list[Piece]:
    """The text in pieces; a part that is not in the text as such has no span."""
    found, end = [], 0
    for (start, stop), mark in zip(spans, marks, strict=True):
        if mark is None or start == stop:
            continue
        if start > end:
            found.append(Piece(text[end:start]))
        found.append(Piece(text[start:stop], mark))
        end = stop
    return [*found, Piece(text[end:])] if end < len(text) else found


def word_spans(text: str, words: Sequence[str]) -> list[Span]:
    """Start and end of each word in a text, whatever its case; an empty span for one that is not in it as such."""
    lower = text.lower()
    # A few capitals have no lower case of the same length; then the words without capitals are found.
    within = lower if len(lower) == len(text) else text
    spans, end = [], 0
    for word in words:
        forms = (word, '"') if word in _QUOTES else (word,)
        starts = [(start, start + len(form)) for form in forms if (start := within.find(form.lower(), end)) >= 0]
        start, end = min(starts, default=(end, end))
        spans.append((start, end))
    return spans


def merged(text: str, spans: Sequence[Span], marks: Sequence[Mark | None]) -> list[tuple[Span, Mark | None]]:
    """Neighbouring words with marks of one kind as one span, with the notes of all."""
    runs: list[tuple[Span, Mark | None]] = []
    for (start, stop), mark in zip(spans, marks, strict=True):
        if start == stop:
            continue
        if runs and mark and (last := runs[-1][1]) and (last.tone, last.strong) == (mark.tone, mark.strong):
            (first, end), _ = runs[-1]
            if not text[end:start].strip():
                note = "; ".join(dict.fromkeys(filter(None, [last.note, mark.note])))
                runs[-1] = (first, stop), Mark(mark.tone, mark.strong, note)
                continue
        runs.append(((start, stop), mark))
    return runs


def pieces_of_runs(text: str, words: Sequence[str], marks: Sequence[Mark | None]) -> list[Piece]:
    """The text in pieces, where words side by side with marks of one kind are one piece."""
    runs = merged(text, word_spans(text, words), marks)
    return pieces(text, [span for span, _ in runs], [mark for _, mark in runs])
