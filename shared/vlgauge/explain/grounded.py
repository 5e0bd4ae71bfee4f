"""Explanations of visual grounding scores, by the noun phrases or nouns of a story and the regions found for them."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from markupsafe import Markup

from .explanation import Explanation
from .marks import Mark, Piece
from .pages import format_signed, number, quote_word, safe
from .shares import Share
from .thumbnails import draw_boxes

NEXT_TO_NOTHING = 0.1
MUCH = 0.3


class GroundedStory(Explanation):
    """Stories with their images.

    Attributes:
        parts: Key of the scored parts (phrases or nouns) in the details.
        amount: Key of the contribution of a part.
    """

    parts: ClassVar[str]
    amount: ClassVar[str]

    @abstractmethod
    def note(self, part: Mapping[str, Any], n_parts: int) -> str:
        """Describe the contribution of a part in numbers."""

    def mark(self, part: Mapping[str, Any], number: int, n_parts: int) -> Mark:
        """Return the mark of a part of a story."""
        amount = part[self.amount] or 0.0
        tone = "nil" if abs(amount) < NEXT_TO_NOTHING else "for" if amount > 0 else "against"
        against = tone == "against"
        value = format_signed(amount) if against else ""
        return Mark(tone, against and amount <= -MUCH, self.note(part, n_parts), number, value)

    def reason(self, row: int) -> str:
        """Return the parts with the lowest contributions."""
        parts = [part for part in self.details[row][self.parts] if part[self.amount] is not None]
        lowest = sorted(parts, key=lambda part: part[self.amount])[:2]
        return "least by " + ", ".join(
            f"{quote_word(part['text'])} {format_signed(part[self.amount])}" for part in lowest
        )

    def contributions(self, row: int) -> Sequence[Share]:
        """Return the contributions of the parts, in ascending order."""
        parts = enumerate(self.details[row][self.parts], 1)
        found = [
            Share(part["text"], part[self.amount], place, least=NEXT_TO_NOTHING)
            for place, part in parts
            if part[self.amount] is not None
        ]
        return sorted(found, key=lambda one: one.amount)

    def finding(self, row: int) -> Markup:
        """Count the parts found in the images. Negligible contributions count as neither found nor missing."""
        shares = self.contributions(row)
        against = [one for one in shares if one.tone == "against"]
        n_found, name = sum(one.tone == "for" for one in shares), self.parts.split("_")[-1]
        sentence = safe(f"{n_found} of {len(shares)} {name} are clearly in the images")
        if not against:
            return sentence + "; nothing counts against the story."
        worst = Markup("<em>{}</em>").format(safe(quote_word(against[0].text)))
        if len(against) == 1:
            return Markup("{}; {} is not, and costs {}.").format(sentence, worst, number(-against[0].amount))
        return Markup("{}. {} are not, first of all {}.").format(sentence, len(against), worst)

    def explain_undefined(self, row: int) -> str:
        """Return that the story has no part to search for, or that no image has a region."""
        if not self.details[row].get(self.parts):
            return f"the story has no {self.parts.replace('_', ' ').removesuffix('s')} to look for"
        return "no image has a region"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``sentences`` and ``images``, with marks, ``parts`` for a table, and whether sentences and images are
            shown side by side (``is_paired``), because their numbers are equal.
        """
        detail = self.details[row]
        parts = detail[self.parts]
        marks = [self.mark(part, number, len(parts)) for number, part in enumerate(parts, 1)]
        images = self.columns.get("images")
        cell = None if images is None else images[row]
        drawings = draw_boxes(cell if cell is None or isinstance(cell, Sequence) else [cell], parts, marks)
        sentences = mark_parts(detail["sentences"], [part["text"] for part in parts], marks)
        is_paired = len(drawings) == len(sentences)
        return {"sentences": sentences, "drawings": drawings, "is_paired": is_paired, "parts": parts}


def mark_parts(sentences: Sequence[str], parts: Sequence[str], marks: Sequence[Mark]) -> list[list[Piece]]:
    """Split sentences into pieces with the marks of parts.

    Args:
        sentences: Sentences of the story.
        parts: Parts in the order of the story. Each one is searched for after the previous one.
        marks: Mark of each part.

    Returns:
        Pieces of each sentence, which join to the sentence.
    """
    left = list(zip(parts, marks, strict=True))
    found = []
    for sentence in sentences:
        lower = sentence.lower()
        within = lower if len(lower) == len(sentence) else sentence
        row, end = [], 0
        while left and (start := within.find(left[0][0].lower(), end)) >= 0:
            text, mark = left.pop(0)
            row += [Piece(sentence[end:start]), Piece(sentence[start : start + len(text)], mark)]
            end = start + len(text)
        found.append([*row, Piece(sentence[end:])])
    return found
