"""SPICE: the scene content of a caption, and the part of it that occurs in its references."""

from typing import Any

from vlgauge.explain.said import MentionedContent, arrange_graph, chip, count_statements, nil


class SpiceExplanation(MentionedContent):
    """Captions with their tuples, and the tuples that occur only in the references."""

    name = "spice"

    def reason(self, row: int) -> str:
        """Return the number of matched tuples, and one unmatched tuple, as text."""
        things = [(said(one["parts"]), bool(one["matched"])) for one in self.details[row]["tuples"]]
        return count_statements(things, "it describes no scene")

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``caption``, ``graph``, ``groups`` (chips of content that occurs only in the references) and ``references``.
        """
        detail = self.details[row]
        graph = arrange_graph((one["parts"], chip(one["parts"][0], bool(one["matched"]))) for one in detail["tuples"])
        lacking = [nil(said(one["parts"])) for one in detail["references"] if not one["matched"]]
        groups = [{"name": "In the references only", "chips": lacking}]
        return {"caption": self.predictions[row], "graph": graph, "groups": groups, "references": self.texts(row)}


def said(parts: Any) -> str:
    """Return a tuple as natural text, such as "brown dog" or "dog chase cat"."""
    return " ".join(reversed(parts)) if len(parts) == 2 else " ".join(parts)
