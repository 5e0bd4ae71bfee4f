"""Polos: captions with the value for each reference, and with the other captions of their image."""

from typing import Any

from vlgauge.explain.captioned import ImageCaptions
from vlgauge.explain.pages import number


class PolosExplanation(ImageCaptions):
    """Captions with the prediction for each reference, and with the other captions of their image."""

    name = "polos"
    family_template = first_config = ""
    on_axis = (0.0, 1.0)

    def _parts(self, row: int) -> str:
        detail = self.details[row]
        best = detail["best_reference"]
        if best is None:
            return "no reference"
        values = detail["values"]
        if len(values) == 1:
            return f"{number(values[0])} with its only reference"
        return f"best with reference {best + 1} of {len(values)}, worst {number(min(values))}"

    def explain_undefined(self, row: int) -> str:
        """Return the reason for an undefined score: missing references or an unreadable image."""
        return "the image could not be read" if self.details[row]["values"] else "there is no reference"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            The variables of `ImageCaptions.values`, and ``references`` with ``value`` and ``text``, by descending
            value.
        """
        detail = self.details[row]
        ranked = sorted(zip(detail["values"], self.references_of(row), strict=False), key=lambda pair: -pair[0])
        return {
            **super().values(row),
            "reference": None,
            "references": [{"value": value, "text": text} for value, text in ranked],
        }
