"""Texts split into pieces, some of which are marked with their effect on the score."""

from collections.abc import Sequence
from dataclasses import dataclass

FOR, AGAINST, NIL = "for", "against", "nil"

# Double quotes are tokenized as two backticks or two apostrophes. See `vlgauge.inputs.text.language.words`.
_QUOTES = ("``", "''")


@dataclass(frozen=True)
class Mark:
    """Effect of a part of a text on a score.

    Attributes:
        tone: "for", "against", or "nil" for a negligible effect.
        strong: Whether the effect is large.
        note: The effect in numbers, shown on tap, key press or hover.
        number: Number that links it to an element outside the text. 0 for no link.
        value: Value displayed next to it.
    """

    tone: str
    strong: bool = False
    note: str = ""
    number: int = 0
    value: str = ""


@dataclass(frozen=True)
class Piece:
    """Piece of a text. The pieces of a text can be joined to the whole text.

    Attributes:
        text: The text of the piece, unchanged.
        mark: Its mark. None if it had no effect.
    """

    text: str
    mark: Mark | None = None


Span = tuple[int, int]


def pieces(text: str, spans: Sequence[Span], marks: Sequence[Mark | None]) -> list[Piece]:
    """Split a text into pieces.

    Args:
        text: The text.
        spans: Start and end of each word. Words that do not occur in the text have an empty span and are skipped.
        marks: Mark of each word, or None.
    """
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
    """Return start and end of each word in a text, ignoring case. Words that are not found have an empty span."""
    lower = text.lower()
    # A few capital letters change the length of the text when lowercased. In this case, only lowercase words are found.
    within = lower if len(lower) == len(text) else text
    spans, end = [], 0
    for word in words:
        forms = (word, '"') if word in _QUOTES else (word,)
        starts = [(start, start + len(form)) for form in forms if (start := within.find(form.lower(), end)) >= 0]
        start, end = min(starts, default=(end, end))
        spans.append((start, end))
    return spans


def merge_marks(text: str, spans: Sequence[Span], marks: Sequence[Mark | None]) -> list[tuple[Span, Mark | None]]:
    """Merge neighboring words with marks of the same kind to one span with all their notes.

    Args:
        text: The text.
        spans: Start and end of each word, in order.
        marks: Mark of each word, or None.

    Returns:
        Spans that are not empty, each with its mark or None.
    """
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
    """Split a text into pieces, merging neighboring words with marks of the same kind."""
    runs = merge_marks(text, word_spans(text, words), marks)
    return pieces(text, [span for span, _ in runs], [mark for _, mark in runs])
