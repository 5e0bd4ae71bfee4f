"""d_HM: the distance of a story from a human-written one in each of three scores."""

import math
from typing import Any

from markupsafe import Markup

from vlgauge.explain.explanation import Explanation
from vlgauge.explain.pages import number, safe
from vlgauge.explain.plots import Axis, percent

PARTS = {"d_g": ("grounding", "groovist"), "d_c": ("coherence", "rovist_c"), "d_r": ("non-redundancy", "rovist_nr")}


class DHmExplanation(Explanation):
    """Stories with the three differences from the human-written story of the same images."""

    name = "d_hm"
    on_axis = (0.0,)
    why_undefined = "one of the six scores of the two stories is undefined"

    def reason(self, row: int) -> str:
        """Return the component with the largest difference as text."""
        detail = self.details[row]
        part = max(PARTS, key=lambda name: detail[name])
        return f"most by {PARTS[part][0]} {number(detail[part])}"

    def finding(self, row: int) -> Markup:
        """Return the component with the largest difference as a sentence."""
        detail = self.details[row]
        part = max(PARTS, key=lambda name: detail[name])
        if not detail[part]:
            return safe("As near to the human story as can be.")
        sentence = Markup("Farthest from the human story by <em>{}</em>, which is {} away.")
        return sentence.format(PARTS[part][0], number(detail[part]))

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row: both stories on the axis of each component.

        Returns:
            ``rows``, a list with ``word``, ``distance``, ``model``, ``human``, ``ends``, ``ours`` and ``theirs`` of
            each component.
        """
        detail = self.details[row]
        model, human = self.predictions, self.columns.get("references")
        rows = []
        for part, (word, metric) in PARTS.items():
            ours = model[row][metric]
            theirs = None if human is None else human[row][metric]
            every = [one[metric] for side in (model, human) if side is not None for one in side]
            known = [math.nan if value is None else value for value in every]
            axis = Axis.holding([*known, 0.0, 1.0], higher_is_better=True)
            places = {"ours": percent(axis.at(ours)), "theirs": None if theirs is None else percent(axis.at(theirs))}
            rows.append(
                {"word": word, "distance": detail[part], "model": ours, "human": theirs, "ends": axis.ends} | places
            )
        return {"rows": rows}
