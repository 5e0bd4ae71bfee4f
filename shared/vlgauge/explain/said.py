"""Explanations by the single statements of a caption, which its references support or do not support."""

from collections.abc import Iterable, Sequence
from typing import Any

from .explanation import Explanation
from .pages import quote_word


class MentionedContent(Explanation):
    """Captions whose statements are chips, blue if the references contain them and orange otherwise."""

    on_axis = (0.0, 1.0)
    why_undefined = "its references describe no scene, or there are no references"

    def tuples(self, row: int) -> Iterable[tuple[Sequence[str], dict[str, Any]]]:
        """Return the tuples of the scene graph of a caption, with their chips."""
        return ()

    def chip_groups(self, row: int) -> list[dict[str, Any]]:
        """Return the ``name`` and the ``chips`` of each group of other statements."""
        return []

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row: ``caption``, ``graph``, ``groups`` and ``references``."""
        return {
            "caption": self.predictions[row],
            "graph": arrange_graph(self.tuples(row)),
            "groups": self.chip_groups(row),
            "references": self.references_of(row),
        }


def chip(text: str, supported: bool, note: str = "") -> dict[str, Any]:
    """Return a chip for one statement.

    Returns:
        ``text``, ``tone`` ("for" if it is supported, otherwise "against") and ``note``.
    """
    return {"text": text, "tone": "for" if supported else "against", "note": note}


def nil(text: str) -> dict[str, Any]:
    """Return a chip with the tone "nil", for one statement that does not affect the score. See `chip`."""
    return chip(text, False) | {"tone": "nil"}


def arrange_graph(tuples: Iterable[tuple[Sequence[str], dict[str, Any]]]) -> list[dict[str, Any]]:
    """Arrange the tuples of a scene graph as boxes, one per object, with its attributes and its outgoing relations.

    Args:
        tuples: Tuples of the graph (object, attribute or relation) with their chips.

    Returns:
        Per object its `chip`, its `attributes`, and its `relations`, which are chips with the chip of their `target`.

    Raises:
        KeyError: If an attribute or a relation refers to an object that is not among the tuples.
    """
    boxes: dict[str, dict[str, Any]] = {}
    found = list(tuples)
    for parts, own in found:
        if len(parts) == 1:
            boxes[parts[0]] = {"chip": own, "attributes": [], "relations": []}
    for parts, own in found:
        if len(parts) == 2:
            boxes[parts[0]]["attributes"].append(own | {"text": parts[1]})
        elif len(parts) == 3:
            relation = own | {"text": parts[1], "target": boxes[parts[2]]["chip"] | {"note": ""}}
            boxes[parts[0]]["relations"].append(relation)
    return list(boxes.values())


def count_statements(things: Sequence[tuple[str, bool]], empty: str) -> str:
    """Count the supported statements, and quote one that is not supported."""
    if not things:
        return empty
    alone = [text for text, supported in things if not supported]
    said = f"{len(things) - len(alone)} of {len(things)} of its statements are in its references"
    return f"{said}; {quote_word(alone[0])} is not" if alone else said
