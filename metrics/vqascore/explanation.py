"""VQAScore: the question, and the probability of each token of the answer."""

from typing import Any

from vlgauge.explain.captioned import ImageCaptions
from vlgauge.explain.pages import number, quote_word
from vlgauge.explain.plots import percent


class VqascoreExplanation(ImageCaptions):
    """Captions with the probability of the answer, and with the other captions of their image."""

    name = "vqascore"
    family_template = family_key = first_config = ""
    on_axis = (0.0, 1.0)

    def _parts(self, row: int) -> str:
        return f"{quote_word(self.details[row]['answer'])} has {number(self.scores[row])}"

    def explain_undefined(self, row: int) -> str:
        """Return the reason for an undefined score: the server did not return the probability of the answer."""
        return f"the server did not return the probability of {quote_word(self.details[row]['answer'])}"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            The variables of `ImageCaptions.values`, the ``question``, and ``bars`` with ``name``, ``chance`` and
            ``width`` of each token of the answer.
        """
        detail = self.details[row]
        *answer, end = detail["chances"]
        names = [detail["answer"]] if len(answer) == 1 else [f"token {i}" for i in range(1, len(answer) + 1)]
        chances = [*zip(names, answer, strict=True), ("end of the answer", end)]
        bars = [
            {"name": name, "chance": chance, "width": percent(max(chance, 0.01))}
            for name, chance in chances
            if chance is not None  # a server may not return it
        ]
        return {**super().values(row), "question": detail["question"], "bars": bars}
