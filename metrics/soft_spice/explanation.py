"""Soft-SPICE: what a caption says of the scene, and how near to it its references come."""

from typing import Any

from vlgauge.explain.pages import number, quoted
from vlgauge.explain.said import SaidThings, chip, drawn

NEAR = 0.7  # above, two phrases mostly mean one thing


class SoftSpice(SaidThings):
    """Captions with their phrases, each with the nearest phrase of the references."""

    name = "soft_spice"
    reading = (
        "Each object, attribute and relation of a caption is compared with all that its references say.",
        "The score is the mean of the largest cosines: 1 means that all of it is said there in the same words.",
        "It does not ask whether the caption says enough: a single right word scores highest.",
    )

    def reason(self, row: int) -> str:
        """The phrase that is farthest from all that the references say."""
        phrases = self.details[row]["phrases"]
        if not phrases:
            return "it says nothing of a scene"
        worst = min(phrases, key=lambda one: one["cosine"])
        nearest = f"{quoted(worst['phrase'])}, {number(worst['cosine'])} near to {quoted(worst['nearest'])}"
        return f"least supported is {nearest}"

    def values(self, row: int) -> dict[str, Any]:
        """Its graph, each phrase with its cosine."""
        phrases = self.details[row]["phrases"]
        graph = drawn(
            (one["parts"], chip(one["parts"][0], one["cosine"] >= NEAR, number(one["cosine"]))) for one in phrases
        )
        return {"caption": self.predictions[row], "graph": graph, "groups": [], "references": self.texts(row)}
