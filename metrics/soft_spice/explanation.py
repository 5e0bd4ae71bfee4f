"""Soft-SPICE: the scene content of a caption, and its similarity to the references."""

from typing import Any

from vlgauge.explain.pages import number, quote_word
from vlgauge.explain.said import MentionedContent, arrange_graph, chip

NEAR = 0.7  # above this similarity, two phrases mostly have the same meaning


class SoftSpiceExplanation(MentionedContent):
    """Captions with their phrases and the most similar phrases of the references."""

    name = "soft_spice"

    def reason(self, row: int) -> str:
        """Return the least supported phrase as text."""
        phrases = self.details[row]["phrases"]
        if not phrases:
            return "it describes no scene"
        worst = min(phrases, key=lambda one: one["cosine"])
        nearest = f"{quote_word(worst['phrase'])}, {number(worst['cosine'])} near to {quote_word(worst['nearest'])}"
        return f"least supported is {nearest}"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``caption``, ``graph`` with the cosine similarity of each phrase, ``groups`` (empty) and ``references``.
        """
        phrases = self.details[row]["phrases"]
        graph = arrange_graph(
            (one["parts"], chip(one["parts"][0], one["cosine"] >= NEAR, number(one["cosine"]))) for one in phrases
        )
        return {"caption": self.predictions[row], "graph": graph, "groups": [], "references": self.texts(row)}
