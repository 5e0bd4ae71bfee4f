"""RoViST-VG: the similarity of each noun to its best region."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from vlgauge.explain.grounded import GroundedStory
from vlgauge.explain.pages import number, quoted, safe, signed


class RovistVg(GroundedStory):
    """Stories with their nouns marked by idf times cosine similarity."""

    name = "rovist_vg"
    reading = (
        "Each noun looks for the region that is most like it; the likeness counts by how rare the noun is.",
        "By the paper's log-sum-exp every noun raises the score, so it grows with their number: compare stories of one "
        "length.",
        "A noun that no picture shows raises it, too, if little, and so does one that is common: it tells what is "
        "shown, not what is missing.",
    )
    parts = "nouns"
    amount = "weighted"
    bars_title = "What each noun adds before the sum"

    def finding(self, row: int) -> Markup:
        """Return the nouns that add most and least, because no noun lowers the score."""
        shares = self.contributions(row)
        least, most = shares[0], shares[-1]
        told = safe(f"{quoted(most.text)} adds most, {signed(most.amount)}")
        return told + (
            safe(f"; {quoted(least.text)} adds least, {signed(least.amount)}.") if most is not least else "."
        )

    def note(self, part: Mapping[str, Any], n_parts: int) -> str:
        """Return the weight and the cosine similarity of a noun as text."""
        if part["cosine"] is None:
            return f"idf {number(part['idf'])}; no region to look at"
        where = "" if part["image"] is None else f" in picture {part['image'] + 1}"
        return f"idf {number(part['idf'])} \N{MULTIPLICATION SIGN} cosine {number(part['cosine'])}{where}"
