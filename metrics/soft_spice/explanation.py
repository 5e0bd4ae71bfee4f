"""Soft-SPICE: the scene content of a caption, and its similarity to the references."""

from collections.abc import Iterator
from typing import Any

from vlgauge.explain.pages import number, quote_word
from vlgauge.explain.said import MentionedContent, chip

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

    def tuples(self, row: int) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """Yield the tuples of a caption with the cosine similarity of each one."""
        for one in self.details[row]["phrases"]:
            yield one["parts"], chip(one["parts"][0], one["cosine"] >= NEAR, number(one["cosine"]))
