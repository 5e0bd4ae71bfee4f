"""GROOViST: the contribution of each noun phrase, and its best region."""

from collections.abc import Mapping
from typing import Any

from vlgauge.explain.grounded import GroundedStory
from vlgauge.explain.pages import format_signed, number


class GroovistExplanation(GroundedStory):
    """Stories with their noun phrases marked by contribution."""

    name = "groovist"
    parts = "noun_phrases"
    bars_title = "Contribution of each phrase"
    amount = "contribution"

    def note(self, part: Mapping[str, Any], n_parts: int) -> str:
        """Return the calculation of the contribution of a phrase as text."""
        where = "" if part["image"] is None else f", best match in image {part['image'] + 1}"
        amount, weight = format_signed(part["contribution"]), number(part["weight"])
        return (
            f"{amount} = weight {weight} \N{MULTIPLICATION SIGN} {format_signed(part['penalized'])} ÷ {n_parts}. "
            f"Cosine {number(part['cosine'])}{where}."
        )
