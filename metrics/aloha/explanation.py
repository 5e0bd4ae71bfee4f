"""ALOHa: the objects of a caption, each with the reference object that it was matched with."""

from typing import Any

from vlgauge.explain.pages import number, quote_word
from vlgauge.explain.said import MentionedContent, chip

SUPPORTED = 0.5  # below this similarity, a matched object is shown as unsupported


class AlohaExplanation(MentionedContent):
    """Captions with their objects and the matched reference objects."""

    name = "aloha"
    why_undefined = "its references name no object, or there are none"

    def reason(self, row: int) -> str:
        """Return the least supported object as text."""
        matches = self.details[row]["matches"]
        if not matches:
            return "it names no object"
        worst = min(matches, key=lambda one: one["similarity"])
        if worst["reference"] is None:
            return f"{quote_word(worst['object'])} has no partner left in the references"
        object_, reference = quote_word(worst["object"]), quote_word(worst["reference"])
        return f"{object_} is matched with {reference}, {number(worst['similarity'])}"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``caption``, ``graph`` (empty), ``groups`` (a chip for each object and its match) and ``references``.
        """
        chips = []
        for one in self.details[row]["matches"]:
            partner = one["reference"]
            text = one["object"] if partner in (None, one["object"]) else f"{one['object']} ~ {partner}"
            chips.append(chip(text, one["similarity"] >= SUPPORTED, number(one["similarity"])))
        groups = [{"name": "Objects", "chips": chips}]
        return {"caption": self.predictions[row], "graph": [], "groups": groups, "references": self.references_of(row)}
