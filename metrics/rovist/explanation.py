"""RoViST: the sum of grounding, coherence and non-redundancy, with the explanations of its components."""

from markupsafe import Markup

from vlgauge.explain.combined import CombinedScore
from vlgauge.explain.pages import number, safe


class RovistExplanation(CombinedScore):
    """Stories with the three components of their score."""

    name = "rovist"
    made_of = (("vg", "grounding", "rovist_vg"), ("c", "coherence", "rovist_c"), ("nr", "non-redundancy", "rovist_nr"))
    rows_word = "stories"

    def finding(self, row: int) -> Markup:
        """Return the three components as a sum."""
        detail = self.details[row]
        listed = " + ".join(f"{number(detail[name])} {word}" for name, word, _ in self.made_of)
        return safe(f"{listed}.")
