"""RoViST-C: the probability that each sentence follows from the previous one."""

from typing import Any

from vlgauge.explain.explanation import Explanation
from vlgauge.explain.pages import number
from vlgauge.explain.plots import percent

DOUBTED = 0.5


class RovistCExplanation(Explanation):
    """Stories with the probability that each sentence follows."""

    name = "rovist_c"
    on_axis = (0.0, 1.0)
    why_undefined = "the story has fewer than two sentences, so none follows another"

    def reason(self, row: int) -> str:
        """Return the sentence with the lowest probability as text."""
        detail = self.details[row]
        values = [(value, index) for index, value in enumerate(detail["probabilities"], 2)]
        lowest, index = min(values)
        if lowest >= DOUBTED:
            return f"every sentence follows; lowest: {number(lowest)}"
        n = sum(value < DOUBTED for value, _ in values)
        return f"{n} of {len(values)} do not follow; lowest: sentence {index}, {number(lowest)}"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``lines``, the sentences with their probabilities, None for the first one.
        """
        return {"lines": sentence_lines(self.details[row])}


def sentence_lines(detail: Any) -> list[dict[str, Any]]:
    """Return the template variables of each sentence of a story.

    Returns:
        ``text``, ``probability``, ``width`` of the bar, and whether the sentence repeats the previous one (``again``)
        or is doubtful (``doubted``). The first sentence only has its text and the probability None.
    """
    lines: list[dict[str, Any]] = [{"text": text, "probability": None} for text in detail["sentences"][:1]]
    rows = zip(detail["sentences"][1:], detail["probabilities"], detail["identical"], strict=True)
    for text, probability, identical in rows:
        width = percent(max(probability, 0.01))
        again = bool(identical)
        lines.append(
            {"text": text, "probability": probability, "width": width, "again": again, "doubted": probability < DOUBTED}
        )
    return lines
