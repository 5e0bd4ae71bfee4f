"""What explains a score that is made of the scores of other metrics: each part on an axis, and what explains it."""

import math
from functools import cached_property
from typing import Any, ClassVar

from vlgauge.explain.explanation import Explanation
from vlgauge.explain.folders import explanation_of
from vlgauge.explain.pages import number
from vlgauge.explain.plots import Axis, dots

N_TICKS = 60  # rows that are drawn beside one; of more, every so manyth by size


class CombinedScore(Explanation):
    """Rows with the parts of their score.

    Attributes:
        made_of: Per part its key in the details, the word for it, and the metric that made it.
        rows_word: What the rows are, for the text of a plot.
    """

    family_template = "combined"
    made_of: ClassVar[tuple[tuple[str, str, str], ...]]
    rows_word: ClassVar[str]

    @cached_property
    def parts(self) -> dict[str, Explanation]:
        """The explanation of each part; each is shown on an axis of its own."""
        columns = {**self.columns}
        # The keys of a part begin with the name of the whole: "spider_cider", but "rovist_vg" is a name by itself.
        result = {key.removeprefix(f"{self.name}_"): value for key, value in self.result.items()} | {**self.result}
        return {
            name: explanation_of(metric)(columns, result)
            for name, _, metric in self.made_of
            if f"{metric}_details" in result
        }

    def reason(self, row: int) -> str:
        """The parts."""
        detail = self.details[row]
        return " · ".join(f"{word} {number(detail[name])}" for name, word, _ in self.made_of)

    def undefined(self, row: int) -> str:
        """Which parts have no score."""
        values = {word: self.details[row].get(name) for name, word, _ in self.made_of}
        lacking = [word for word, value in values.items() if value is None or math.isnan(value)]
        return f"{' and '.join(lacking)} could not be scored"

    def values(self, row: int) -> dict[str, Any]:
        """Each part on its axis, and what explains it."""
        detail = self.details[row]
        rows = []
        for name, word, metric in self.made_of:
            every: list[float] = [math.nan if one[name] is None else one[name] for one in self.details]
            axis = Axis.holding([*every, 0.0, 1.0], higher_is_better=True)
            value = every[row]
            defined = sorted(other for other in every if not math.isnan(other))
            others = [(other, "neither") for other in defined[:: -(-len(defined) // N_TICKS)]]
            text = f"{word} {number(value)}, among all {len(every)} {self.rows_word}"
            plot = dots([*others, (value, "own")], axis, text, 5)
            part = self.parts.get(name)
            body = None if part is None or part.is_undefined(row) else part.body(row)
            why = "" if part is None or part.is_undefined(row) else part.reason(row)
            rows.append({"word": word, "metric": metric, "value": detail[name], "plot": plot, "body": body, "why": why})
        return {"rows": rows}
