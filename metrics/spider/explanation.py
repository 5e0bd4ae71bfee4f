"""SPIDEr: its two components, CIDEr-D and SPICE, with their explanations."""

from typing import Any

from markupsafe import Markup

from vlgauge.explain import explanation_of
from vlgauge.explain.combined import CombinedScore
from vlgauge.explain.pages import number, safe


class SpiderExplanation(CombinedScore):
    """Captions with the two components of their score."""

    name = "spider"
    made_of = (("cider", "CIDEr-D", "cider"), ("spice", "SPICE", "spice"))
    rows_word = "captions"
    note_alone = explanation_of("cider").note_alone

    @classmethod
    def settings_alone(cls, tokenizer: str | None = None) -> dict[str, Any]:
        """Return the document frequencies that CIDEr-D uses for a single example, as the setting ``df``."""
        return explanation_of("cider").settings_alone(tokenizer)

    def finding(self, row: int) -> Markup:
        """Return the two components as a mean."""
        detail = self.details[row]
        listed = " and ".join(f"{number(detail[name])} {word}" for name, word, _ in self.made_of)
        return safe(f"Mean of {listed}.")
