"""GROOViST: the contribution of each noun phrase, and its best region."""

from collections.abc import Mapping
from typing import Any

from vlgauge.explain.grounded import GroundedStory
from vlgauge.explain.pages import number, signed


class Groovist(GroundedStory):
    """Stories with their noun phrases marked by contribution."""

    name = "groovist"
    reading = (
        "Each noun phrase looks for its best match among the regions of all pictures; what lies above a threshold "
        "counts for the story, and by default what lies below it against.",
        "By default a phrase weighs more the more concrete it is; the score is the mean over the phrases.",
        "It asks whether the pictures show what is named, not whether the story is good or in order.",
    )
    parts = "noun_phrases"
    bars_title = "What each phrase adds"
    amount = "contribution"

    def note(self, part: Mapping[str, Any], n_parts: int) -> str:
        """Return the calculation of the contribution of a phrase as text."""
        where = "" if part["image"] is None else f", best match in picture {part['image'] + 1}"
        amount, weight = signed(part["contribution"]), number(part["weight"])
        return (
            f"{amount} = weight {weight} \N{MULTIPLICATION SIGN} {signed(part['penalized'])} ÷ {n_parts}. "
            f"Cosine {number(part['cosine'])}{where}."
        )
