"""Scale that shows one score among the scores of examples, distinguished by shapes. The right end is better."""

import math
from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from .explanation import Explanation
from .pages import fragment, number
from .plots import Axis, percent

NAMES = {"right": "Right", "subtle": "Subtle", "wrong": "Wrong", "missed": "Missed"}
"""Display names of the roles of examples."""


def show_among(explained: Explanation, others: Sequence[float]) -> None:
    """Set the axis of one score to the range of the metric, with marks for the scores of the examples.

    An unbounded end of the range is placed beyond all values on the axis. Otherwise a single score would always be at
    an end.

    Args:
        explained: Explanation of the score, which is changed in place.
        others: Scores of the examples.
    """
    explained.others = others
    values = [*explained.scores, *explained.others, *explained.on_axis, explained.reference_value(0)]
    values = [value for value in values if math.isfinite(value)] or [0.0]
    spare = (max(values) - min(values)) / 4 or 0.5
    low, high = explained.facts.ends_of(explained.kind)
    behind = [min(values) - spare if low is None else low, max(values) + spare if high is None else high]
    axis = Axis.holding([*values, *behind], explained.facts.higher_is_better)
    # A known end is not rounded.
    axis = replace(axis, low=low if low == min(*values, *behind) else axis.low)
    explained.axis = replace(axis, high=high if high == max(*values, *behind) else axis.high)


def scale(metric: Explanation, row: int, examples: Sequence[tuple[str, float]], chosen: int | None) -> Markup:
    """Render the scale of a score.

    Args:
        metric: Explanation of the score.
        row: Row of the score.
        examples: Role and score of each example.
        chosen: Index of the highlighted example, or None.
    """
    marks = [
        {
            "shows": shows,
            "name": NAMES[shows].lower(),
            "at": percent(metric.axis.at(score)),
            "value": number(score, metric.digits),
            "on": place == chosen,
        }
        for place, (shows, score) in enumerate(examples)
        if not math.isnan(score)
    ]
    listed = ", ".join(f"{mark['name']} {mark['value']}" for mark in marks) or "none"
    label = f"{number(metric.scores[row], metric.digits)} on a scale whose right end is better; examples: {listed}"
    own = "" if metric.is_undefined(row) else percent(metric.axis.at(metric.scores[row]))
    return fragment("scale", label=label, marks=marks, own=own, ends=metric.axis.ends)
