"""The triangle picture: how often the side within a set is the shortest, the middle or the longest of the three."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from matplotlib.axes import Axes

from .caption_plots import SIZE
from .plots import CANDIDATE, INK, REFERENCE, new_plot, plot_settings, svg

Floats = npt.NDArray[np.float64]
RANKS = ("shortest", "middle", "longest")
BAND = (0.05, 0.95)  # quantiles of the splits between which the band lies

# Row of the shares, lone side, what the other two are, colour, pattern; the candidates come first.
SIDES = (
    (1, "reference", "candidates", CANDIDATE, ""),
    (0, "candidate", "references", REFERENCE, "////"),
)
_GAP = 1.4  # rows between the two groups of bars


def triangle_picture(name: str, shares: Floats) -> Markup:
    """Bars of the observed shares, with the mean and a band of the shares of all splits.

    Args:
        name: Unique on the page.
        shares: shape ``(P, 2, 3)``: lone candidate and lone reference, by rank; the observed split first.
    """
    means: Floats = shares.mean(axis=0)
    bands: Floats = np.quantile(shares, BAND, axis=0)
    rows = np.arange(len(RANKS), dtype=np.float64)
    told = []
    with plot_settings():
        figure, axes = new_plot(*SIZE)
        for group, (side, lone, pair, colour, hatch) in enumerate(SIDES):
            places = rows + group * (len(RANKS) + _GAP)
            axes.text(0.012, places[0] - 0.8, f"side between two {pair} (lone {lone})", color=colour, va="center")
            axes.barh(places, shares[0, side], 0.62, color=colour, hatch=hatch, alpha=0.75)
            _draw_expected(axes, places, means[side], bands[:, side], legend=group == 0)
            told.append(_told(pair, shares[0, side], means[side]))
        last = 2 * len(RANKS) + _GAP - 0.5
        axes.set(xlim=(0.0, 1.0), ylim=(last, -1.3), yticks=[*rows, *(rows + len(RANKS) + _GAP)])
        axes.set_yticklabels(RANKS * 2)
        axes.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0%", "25%", "50%", "75%", "100%"])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("share of the triangles")
        figure.legend(loc="outside upper center", ncols=2, columnspacing=1.0, handletextpad=0.4)
        return svg(figure, f"{name}-triangles", " ".join(told))


def _draw_expected(axes: Axes, places: Floats, means: Floats, bands: Floats, *, legend: bool) -> None:
    """The mean of all splits as a diamond, the band as a line."""
    (line,) = axes.plot(bands, [places, places], color=INK, linewidth=1.6)[:1]
    (diamond,) = axes.plot(means, places, "D", color=INK, markersize=5)
    if legend:
        line.set_label("{:.0f}\N{EN DASH}{:.0f}% of the splits".format(*(100 * quantile for quantile in BAND)))
        diamond.set_label("mean of all splits")


def _told(pair: str, observed: Sequence[float] | Floats, means: Sequence[float] | Floats) -> str:
    """What the bars of one side show, for those who do not see them."""
    parts = [
        f"{rank} in {share:.0%} of the triangles, {mean:.0%} on average over all splits"
        for rank, share, mean in zip(RANKS, observed, means, strict=True)
    ]
    return f"Side between two {pair}: {'; '.join(parts)}."
