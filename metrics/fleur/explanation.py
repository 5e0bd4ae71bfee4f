"""FLEUR: what the judge was asked, what it wrote, and which digits it might have written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from vlgauge.explain.captioned import CaptionedPicture
from vlgauge.explain.pages import number
from vlgauge.explain.pages import quoted
from vlgauge.explain.plots import chart
from vlgauge.explain.plots import rectangle

_BAR, _HEIGHT, _FOOT = 22.0, 56.0, 16.0


class Fleur(CaptionedPicture):
    """Captions with the answers of the judge, and the others of their picture."""

    name = "fleur"
    first_config = ""
    on_axis = (0.0, 1.0)
    reading = (
        "A model of pictures and text grades the caption from 0 to 1; the score is the mean over the digits that it "
        "might have printed, by their probability.",
        "Compare scores of one model and one question: others use the scale otherwise, and a number is no share of "
        "what is right.",
        "The model can be talked round: a caption that praises itself may get a better grade.",
    )

    @property
    def template(self) -> str:
        """Its own, with the answer above the captions."""
        return "fleur/explanation"

    @property
    def key(self) -> str:
        """Its own, which tells of the bars too."""
        return "fleur/key"

    def _parts(self, row: int) -> str:
        detail = self.details[row]
        return f"the judge wrote {quoted(detail['answer'])}"

    def undefined(self, row: int) -> str:
        """No number in the answer."""
        return f"the judge wrote {quoted(self.details[row]['answer'])}, which has no number from 0 to 1"

    def values(self, row: int) -> dict[str, Any]:
        """The captions of the picture, the question, and the digits that might have stood in each place."""
        detail = self.details[row]
        places = ("first decimal", "second decimal") if detail["number"] != 1 else ("whole number",)
        bars = [{"name": name, "plot": _digits(row, name)} for name, row in zip(places, detail["digits"], strict=False)]
        return {**super().values(row), "question": detail["question"].splitlines(), "digits": bars}


def _digits(chances: Sequence[float], name: str) -> Markup:
    """How likely each digit is in one place, as bars; the digits stand below them."""
    parts = []
    for digit, chance in enumerate(chances):
        height = max(0.5, _HEIGHT * chance)
        x = digit * _BAR
        parts.append(rectangle("bar", x + 2, _HEIGHT + 2 - height, _BAR - 4, height))
        parts.append(f'<text x="{x + _BAR / 2:g}" y="{_HEIGHT + _FOOT:g}" text-anchor="middle">{digit}</text>')
    likely = max(range(10), key=lambda digit: chances[digit])
    label = f"Probability of each digit as the {name}; the likeliest is {likely}, with {number(chances[likely])}"
    return chart(int(10 * _BAR), int(_HEIGHT + _FOOT + 4), label, parts)
