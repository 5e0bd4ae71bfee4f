"""RoViST: the sum of grounding, coherence and non-redundancy, and what explains each of them."""

import math
from functools import cached_property
from typing import Any

from markupsafe import Markup

from vlgauge.explain import Explanation, explain
from vlgauge.explain.pages import number, safe
from vlgauge.explain.plots import Axis, dots

N_TICKS = 60  # stories that are drawn beside one; of more, every so manyth by size

# Word, and the metric that made the part.
PARTS = {"vg": ("grounding", "rovist_vg"), "c": ("coherence", "rovist_c"), "nr": ("non-redundancy", "rovist_nr")}


class Rovist(Explanation):
    """Stories with the three parts of their score."""

    name = "rovist"
    reading = (
        "The score is a sum: do the pictures show the nouns, does each sentence follow, and how little is said twice.",
        "Read the parts first, as a sum hides which of them is low.",
        "Without scaling, grounding has the largest numbers and leads the sum.",
    )

    @cached_property
    def parts(self) -> dict[str, Explanation]:
        """The explanation of each part; each is shown on an axis of its own."""
        columns = {**self.columns}
        return {
            name: explain(metric, columns, self.result)
            for name, (_, metric) in PARTS.items()
            if f"{metric}_details" in self.result
        }

    def reason(self, row: int) -> str:
        """The three parts."""
        detail = self.details[row]
        return " · ".join(f"{word} {number(detail[name])}" for name, (word, _) in PARTS.items())

    def finding(self, row: int) -> Markup:
        """The three parts as a sum."""
        detail = self.details[row]
        told = " + ".join(f"{number(detail[name])} {word}" for name, (word, _) in PARTS.items())
        return safe(f"{told}.")

    def undefined(self, row: int) -> str:
        """A part has no score."""
        lacking = [word for name, (word, _) in PARTS.items() if (v := self.details[row][name]) is None or math.isnan(v)]
        return f"{' and '.join(lacking)} could not be scored"

    def values(self, row: int) -> dict[str, Any]:
        """Each part on its axis, and what explains it."""
        detail = self.details[row]
        rows = []
        for name, (word, metric) in PARTS.items():
            every: list[float] = [math.nan if one[name] is None else one[name] for one in self.details]
            axis = Axis.holding([*every, 0.0, 1.0], higher_is_better=True)
            value = every[row]
            defined = sorted(other for other in every if not math.isnan(other))
            others = [(other, "neither") for other in defined[:: -(-len(defined) // N_TICKS)]]
            plot = dots([*others, (value, "own")], axis, f"{word} {number(value)}, among all {len(every)} stories", 5)
            part = self.parts.get(name)
            body = None if part is None or part.is_undefined(row) else part.body(row)
            why = "" if part is None or part.is_undefined(row) else part.reason(row)
            rows.append({"word": word, "metric": metric, "value": detail[name], "plot": plot, "body": body, "why": why})
        return {"rows": rows}
