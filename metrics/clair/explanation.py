"""CLAIR: the answer of the judge model, its reason, and the references in its prompt."""

import math
from typing import Any

from vlgauge.explain.explanation import Explanation
from vlgauge.explain.pages import number, quote_word
from vlgauge.explain.plots import digit_bars

_PLACES = {1: ("ones",), 2: ("tens", "ones"), 3: ("hundreds", "tens", "ones")}


class ClairExplanation(Explanation):
    """Captions with the answers of the judge model."""

    name = "clair"
    on_axis = (0.0, 1.0)

    def reason(self, row: int) -> str:
        """Return the score and the reason of the judge model as text."""
        detail = self.details[row]
        quote = f": {quote_word(detail['reason'])}" if detail["reason"] else ""
        return f"the judge wrote {number(detail['number'], 0)} of 100{quote}"

    def explain_undefined(self, row: int) -> str:
        """Return the reason for an undefined score: missing references, or an answer without a usable score."""
        detail = self.details[row]
        if "answer" not in detail:
            return "it has no reference to be compared with"
        is_read = detail["number"] is not None
        why = "and its server did not return alternative answers" if is_read else "which has no score from 0 to 100"
        return f"the judge wrote {quote_word(detail['answer'])}, {why}"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``caption``, ``references``, ``answer``, ``question`` (lines), ``digits`` (plots of the probabilities) and
            whether the answer was cut off (``undecided``).
        """
        detail = self.details[row]
        pairs = zip(_PLACES.get(len(detail["digits"]), ()), detail["digits"], strict=False)
        bars = [{"name": name, "plot": digit_bars(one, name)} for name, one in pairs]
        return {
            "caption": self.predictions[row],
            "references": self.references_of(row),
            "answer": detail["answer"],
            "question": detail["question"].splitlines(),
            "digits": bars,
            "undecided": not math.isnan(self.scores[row]) and not detail["ended"],
        }
