"""What explains a score by single things that a caption says: those that its references support, and the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .explanation import Explanation
from .pages import quoted


class SaidThings(Explanation):
    """Captions with what they say in chips: blue where the references say it too, orange where they do not."""

    on_axis = (0.0, 1.0)

    def undefined(self, row: int) -> str:
        """Nothing to compare with."""
        return "its references say nothing of a scene, or there are none"

    def texts(self, row: int) -> list[str]:
        """The references of an example."""
        texts = self.columns.get("references")
        own: Any = None if texts is None else texts[row]
        return [] if own is None else [own] if isinstance(own, str) else list(own)


def chip(text: str, supported: bool, note: str = "") -> dict[str, Any]:
    """One thing that is said.

    Args:
        text: What is said.
        supported: Whether the references say it too.
        note: Shown behind it, such as a number.
    """
    return {"text": text, "tone": "for" if supported else "against", "note": note}


def counted(things: Sequence[tuple[str, bool]], empty: str) -> str:
    """How many of some things are supported, and one that is not."""
    if not things:
        return empty
    alone = [text for text, supported in things if not supported]
    said = f"{len(things) - len(alone)} of {len(things)} things that it says are in its references"
    return f"{said}; {quoted(alone[0])} is not" if alone else said
