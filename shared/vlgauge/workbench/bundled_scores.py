"""Where a score lies among those of the bundled examples."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

from vlgauge.explain import Explanation
from vlgauge.explain.pages import number
from vlgauge.explain.plots import Axis
from vlgauge.workbench.inputs import examples_for
from vlgauge.workbench.profiles import needs_no_model
from vlgauge.workbench.scoring import metric_of, score_example


@cache
def bundled_scores(name: str, profile: str, config: str) -> tuple[tuple[str, float], ...]:
    """Labels and scores of the bundled examples that have one, best first; of published models none is asked for.

    Args:
        name: Of the metric.
        profile: Which models it uses.
        config: Its configuration; empty for the one that a form begins with.
    """
    if profile != "embedded" and not needs_no_model(name):
        return ()
    loaded = metric_of(name, profile, config)
    found = []
    for example in examples_for(loaded):
        explained = score_example(name, profile, config, example.cells, example.title).explanation
        if not math.isnan(score := explained.scores[0]):
            found.append((example.title, score))
    return tuple(sorted(found, key=lambda one: one[1], reverse=explained.facts.higher_is_better))


def show_among(explained: Explanation, examples: tuple[tuple[str, float], ...]) -> None:
    """Let the axis of one score be the range of the metric, with marks for some examples.

    Where the range has no end, the axis goes on behind what lies on it: alone, each score would be the best or the
    worst there is.
    """
    explained.others = [value for _, value in examples]
    values = [*explained.scores, *explained.others, *explained.on_axis, explained.reference_value(0)]
    values = [value for value in values if math.isfinite(value)] or [0.0]
    spare = (max(values) - min(values)) / 4 or 0.5
    low, high = explained.facts.ends_of(explained.kind)
    behind = [min(values) - spare if low is None else low, max(values) + spare if high is None else high]
    axis = Axis.holding([*values, *behind], explained.facts.higher_is_better)
    # An end that is known is not rounded.
    axis = replace(axis, low=low if low == min(*values, *behind) else axis.low)
    explained.axis = replace(axis, high=high if high == max(*values, *behind) else axis.high)


def place_of(explained: Explanation, examples: tuple[tuple[str, float], ...]) -> str:
    """Where the score of one example lies among some, as a sentence; empty if there are none, or it is undefined."""
    sign = 1 if explained.facts.higher_is_better else -1
    score = sign * explained.scores[0]
    if math.isnan(score) or not examples:
        return ""
    told = [(f"“{label}” ({number(value, explained.digits)})", sign * value) for label, value in examples]
    for text, value in told:
        if math.isclose(value, score, rel_tol=1e-6, abs_tol=1e-9):
            return f"The same score as the bundled example {text}."
    better = [text for text, value in told if value > score]
    worse = [text for text, value in told if value < score]
    if better and worse:
        return f"Between the bundled examples {better[-1]}, which is better, and {worse[0]}, which is worse."
    if worse:
        return f"Better than {_all(worse, 'the best of them ')}."
    return f"Worse than {_all(better[::-1], 'the worst of them ')}."


def _all(texts: list[str], end: str) -> str:
    """The bundled examples, of which the first is the nearest."""
    return (
        f"the bundled example {texts[0]}" if len(texts) == 1 else f"all {len(texts)} bundled examples, {end}{texts[0]}"
    )
