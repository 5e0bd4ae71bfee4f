"""FLEUR: the prompt and answer of the judge model, and the probabilities of the digits."""

from typing import Any

from vlgauge.explain.captioned import ImageCaptions
from vlgauge.explain.pages import quote_word
from vlgauge.explain.plots import digit_bars


class FleurExplanation(ImageCaptions):
    """Captions with the answers of the judge model, and with the other captions of their image."""

    name = "fleur"
    family_template = family_key = first_config = ""
    on_axis = (0.0, 1.0)

    def _parts(self, row: int) -> str:
        return f"the judge wrote {quote_word(self.details[row]['answer'])}"

    def explain_undefined(self, row: int) -> str:
        """Return the reason for an undefined score: an answer without a number, or missing digit probabilities."""
        detail = self.details[row]
        is_read = detail["number"] is not None
        why = "and its server did not return alternative answers" if is_read else "which has no number from 0 to 1"
        return f"the judge wrote {quote_word(detail['answer'])}, {why}"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            The variables of `ImageCaptions.values`, ``question`` (lines), ``digits`` (plots of the probabilities) and
            ``reason``, the reason of the model or None.
        """
        detail = self.details[row]
        places = ("first decimal", "second decimal") if detail["number"] != 1 else ("integer",)
        bars = [
            {"name": name, "plot": digit_bars(row, name)} for name, row in zip(places, detail["digits"], strict=False)
        ]
        return {
            **super().values(row),
            "question": detail["question"].splitlines(),
            "digits": bars,
            "reason": detail.get("reason"),
        }
