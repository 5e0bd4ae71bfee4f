"""Explanations of scores that combine the scores of other metrics, with each component on an axis."""

import math
from functools import cached_property
from typing import Any, ClassVar

from vlgauge.explain.explanation import Explanation
from vlgauge.explain.folders import explanation_of
from vlgauge.explain.pages import number
from vlgauge.explain.plots import Axis, dots

N_TICKS = 60  # maximum number of other rows on an axis, evenly spaced by rank


class CombinedScore(Explanation):
    """Rows with the components of their score.

    Attributes:
        made_of: Per component its key in the details, its name for display, and the metric that computed it.
        rows_word: Word for the rows, for the text alternative of a plot.
    """

    family_template = "combined"
    made_of: ClassVar[tuple[tuple[str, str, str], ...]]
    rows_word: ClassVar[str]

    @cached_property
    def parts(self) -> dict[str, Explanation]:
        """The explanation of each component."""
        columns = {**self.columns}
        # Keys of components begin with the name of the combined metric ("spider_cider"), except for components that are
        # metrics with the same prefix ("rovist_vg").
        result = {key.removeprefix(f"{self.name}_"): value for key, value in self.result.items()} | {**self.result}
        return {
            name: explanation_of(metric)(columns, result)
            for name, _, metric in self.made_of
            if f"{metric}_details" in result
        }

    def reason(self, row: int) -> str:
        """Return the values of the components."""
        detail = self.details[row]
        return " · ".join(f"{word} {number(detail[name])}" for name, word, _ in self.made_of)

    def explain_undefined(self, row: int) -> str:
        """Return the clause that names the components without a score."""
        values = {word: self.details[row].get(name) for name, word, _ in self.made_of}
        lacking = [word for word, value in values.items() if value is None or math.isnan(value)]
        return f"{' and '.join(lacking)} could not be scored"

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``rows``, a list with ``word``, ``metric``, ``value``, ``plot``, ``body`` and ``why`` of each component.
        """
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
