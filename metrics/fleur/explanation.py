"""FLEUR: what the judge was asked, what it wrote, and which digits it might have written."""

from typing import Any

from vlgauge.explain.captioned import CaptionedPicture
from vlgauge.explain.pages import quoted
from vlgauge.explain.plots import digit_bars


class Fleur(CaptionedPicture):
    """Captions with the answers of the judge, and the others of their picture."""

    name = "fleur"
    family_template = family_key = first_config = ""
    on_axis = (0.0, 1.0)
    reading = (
        "A model of pictures and text grades the caption from 0 to 1; the score is the mean over the digits that it "
        "might have printed, by their probability.",
        "Compare scores of one model and one question: others use the scale otherwise, and a number is no share of "
        "what is right.",
        "The model can be talked round: a caption that praises itself may get a better grade.",
    )

    def _parts(self, row: int) -> str:
        return f"the judge wrote {quoted(self.details[row]['answer'])}"

    def undefined(self, row: int) -> str:
        """No number in the answer, or digits that a server did not tell."""
        detail = self.details[row]
        is_read = detail["number"] is not None
        why = "and its server not what else it might have written" if is_read else "which has no number from 0 to 1"
        return f"the judge wrote {quoted(detail['answer'])}, {why}"

    def values(self, row: int) -> dict[str, Any]:
        """The captions of the picture, the question, and the digits that might have stood in each place."""
        detail = self.details[row]
        places = ("first decimal", "second decimal") if detail["number"] != 1 else ("whole number",)
        bars = [
            {"name": name, "plot": digit_bars(row, name)} for name, row in zip(places, detail["digits"], strict=False)
        ]
        return {
            **super().values(row),
            "question": detail["question"].splitlines(),
            "digits": bars,
            "told": detail.get("reason"),
        }
