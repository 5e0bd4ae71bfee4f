"""Plots as inline SVG: the same bytes each time, colours and text from the style sheet of the page."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Told apart by people with any kind of colour vision (Okabe and Ito); each is replaced by what the style sheet says.
INK = "#010203"
GREY = "#8a8b8c"
CANDIDATE = "#d55e00"
REFERENCE = "#0072b2"
_STYLES = {
    INK: "currentColor",
    GREY: "var(--grey)",
    CANDIDATE: "var(--candidate)",
    REFERENCE: "var(--reference)",
}

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "vlgauge",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}


def new_plot(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure with one pair of axes; sizes in inches. Draw inside `plot_settings`."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0.0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0.0)
    return figure, axes


def plot_settings() -> AbstractContextManager[None]:
    """Context in which plots are drawn and written."""
    return mpl.rc_context(_SETTINGS)


def svg(figure: Figure, name: str, label: str) -> Markup:
    """The figure as an SVG element that fills the width it is given.

    Args:
        figure: What was drawn, inside `plot_settings`.
        name: Unique on the page, of letters, digits and hyphens; starts every id, as those of two figures would meet.
        label: What there is to see, for those who do not see it.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = buffer.getvalue()
    head, _, inside = text[text.index("<svg") :].partition(">")
    view = re.search(r'viewBox="[^"]*"', head)
    for colour, style in _STYLES.items():
        inside = inside.replace(colour, style)
    inside = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", inside)
    inside = re.sub(r"<style.*?</style>", "", inside)  # would hold for the whole page, whose style sheet has it
    start = Markup('<svg role="img" aria-label="{}" {}>').format(label, Markup(view.group() if view else ""))
    return start + Markup(inside.strip())


def scores_by_kind(metric: str, scores: Mapping[str, Sequence[float]], direction: str) -> Markup:
    """One row of dots per kind, one dot per example, and a bar at their mean."""
    with plot_settings():
        figure, axes = new_plot(5.4, 0.7 + 0.3 * len(scores))
        for row, values in enumerate(scores.values()):
            defined = [value for value in values if not math.isnan(value)]
            axes.axhline(row, color=GREY, linewidth=0.5, zorder=0)
            axes.plot(defined, [row] * len(defined), "o", color=REFERENCE, markersize=7, alpha=0.55, markeredgewidth=0)
            if defined:
                axes.plot([math.fsum(defined) / len(defined)], [row], "|", color=INK, markersize=16, markeredgewidth=2)
            else:
                axes.text(0.02, row, "undefined", transform=axes.get_yaxis_transform(), va="center", style="italic")
        axes.set_yticks(range(len(scores)), list(scores))
        axes.set_ylim(len(scores) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"{metric} ({direction}); one dot per example, bar: mean")
        return svg(figure, f"{metric}-kinds", f"Scores of {metric} by kind of example; the table has their means.")
