"""SPICE: the scene content of a caption, and the part of it that occurs in its references."""

from collections.abc import Iterator
from typing import Any

from vlgauge.explain.said import MentionedContent, chip, count_statements, nil


class SpiceExplanation(MentionedContent):
    """Captions with their tuples, and the tuples that occur only in the references."""

    name = "spice"

    def reason(self, row: int) -> str:
        """Return the number of matched tuples, and one unmatched tuple, as text."""
        things = [(said(one["parts"]), bool(one["matched"])) for one in self.details[row]["tuples"]]
        return count_statements(things, "it describes no scene")

    def tuples(self, row: int) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """Yield the tuples of a caption, with whether the references contain them."""
        for one in self.details[row]["tuples"]:
            yield one["parts"], chip(one["parts"][0], bool(one["matched"]))

    def chip_groups(self, row: int) -> list[dict[str, Any]]:
        """Return the tuples that occur only in the references."""
        lacking = [nil(said(one["parts"])) for one in self.details[row]["references"] if not one["matched"]]
        return [{"name": "In the references only", "chips": lacking}]


def said(parts: Any) -> str:
    """Return a tuple as natural text, such as "brown dog" or "dog chase cat"."""
    return " ".join(reversed(parts)) if len(parts) == 2 else " ".join(parts)
