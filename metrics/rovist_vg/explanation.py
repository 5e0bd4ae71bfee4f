"""RoViST-VG: the similarity of each noun to its best region."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from vlgauge.explain.grounded import GroundedStory
from vlgauge.explain.pages import format_signed, number, quote_word, safe


class RovistVgExplanation(GroundedStory):
    """Stories with their nouns marked by idf times cosine similarity."""

    name = "rovist_vg"
    parts = "nouns"
    amount = "weighted"
    bars_title = "Contribution of each noun"

    def finding(self, row: int) -> Markup:
        """Return the nouns that add most and least, because no noun lowers the score."""
        shares = self.contributions(row)
        least, most = shares[0], shares[-1]
        sentence = safe(f"{quote_word(most.text)} adds most, {format_signed(most.amount)}")
        return sentence + (
            safe(f"; {quote_word(least.text)} adds least, {format_signed(least.amount)}.") if most is not least else "."
        )

    def note(self, part: Mapping[str, Any], n_parts: int) -> str:
        """Return the weight and the cosine similarity of a noun as text."""
        if part["cosine"] is None:
            return f"idf {number(part['idf'])}; no region to look at"
        where = "" if part["image"] is None else f" in image {part['image'] + 1}"
        return f"idf {number(part['idf'])} \N{MULTIPLICATION SIGN} cosine {number(part['cosine'])}{where}"
