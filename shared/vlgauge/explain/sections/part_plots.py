"""Bars that show of what parts the scores of stories are made up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from .plots import CANDIDATE, GREY, INK, REFERENCE, new_plot, plot_settings, svg

# Three parts; hatches tell them apart where colours do not.
LOOKS = ((REFERENCE, ""), (CANDIDATE, "////"), (GREY, ".."))


def stacked_parts(
    name: str, stories: Sequence[str], parts: Mapping[str, Sequence[float]], totals: Sequence[float], label: str
) -> Markup:
    """One bar per story, made up of its parts; what is below 0 goes to the left, and a mark stands at the score.

    Args:
        name: Unique on the page.
        stories: Titles of the bars.
        parts: Values of each part, one per story; a story with a NaN gets no bar but a word.
        totals: The scores.
        label: Of the axis.
    """
    values = np.array(list(parts.values()), dtype=np.float64)
    defined = ~np.isnan(values).any(axis=0)
    values = np.where(defined, values, 0.0)
    places = np.arange(len(stories))
    with plot_settings():
        figure, axes = new_plot(8.4, 1.0 + 0.27 * len(stories))
        above, below = np.zeros(len(stories)), np.zeros(len(stories))
        for (part, row), (colour, hatch) in zip(zip(parts, values, strict=True), LOOKS, strict=False):
            start = np.where(row >= 0, above, below)
            axes.barh(places, row, left=start, color=colour, hatch=hatch, edgecolor="white", linewidth=0.6, label=part)
            above, below = above + np.maximum(row, 0), below + np.minimum(row, 0)
        known = [(place, total) for place, total in zip(places, totals, strict=True) if not math.isnan(total)]
        axes.plot([t for _, t in known], [p for p, _ in known], "|", color=INK, markersize=11, markeredgewidth=2)
        for place in places[~defined]:
            axes.text(0.0, place, " undefined", va="center", style="italic")
        axes.axvline(0.0, color=INK, linewidth=0.8)
        axes.set_yticks(places, list(stories))
        axes.invert_yaxis()
        axes.set_xlabel(label)
        figure.legend(loc="outside upper center", ncols=len(parts))
        return svg(figure, name, f"Bars of {', '.join(parts)} for {len(stories)} stories; the table has their means.")
