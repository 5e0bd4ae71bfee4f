"""Plots of scores on an axis, as inline SVG without ids. Better scores are always on the right."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .pages import MINUS, number, safe

N_BINS = 20
MOST_NUMBERS = 5  # maximum number of histogram columns that are all labeled
# Bars of digits: width with the gap, maximum height, and height of the labels below, in pixels.
_DIGIT, _TALL, _FOOT = 22.0, 56.0, 16.0


@dataclass(frozen=True)
class Axis:
    """Axis from the worse to the better end.

    Attributes:
        low: Smallest value.
        high: Largest value.
        higher_is_better: Whether `high` is on the right.
    """

    low: float
    high: float
    higher_is_better: bool

    @classmethod
    def holding(cls, values: Iterable[float], higher_is_better: bool) -> "Axis":
        """Return an axis with round ends that contains all these values, ignoring NaN and infinity."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        if high <= low:
            low, high = low - 0.5, high + 0.5
        step = 10.0 ** (math.floor(math.log10(high - low)) - 1) * (1 if (high - low) < 2 else 2)
        low, high = math.floor(round(low / step, 6)) * step, math.ceil(round(high / step, 6)) * step
        return cls(round(low, 12), round(high, 12), higher_is_better)

    def at(self, value: float) -> float:
        """Return the position of a value as a share of the width, from the worse end.

        It is below 0 or above 1 for values outside the axis.
        """
        share = (value - self.low) / (self.high - self.low)
        return share if self.higher_is_better else 1.0 - share

    @property
    def ends(self) -> tuple[str, str]:
        """Labels of the worse end and of the better end."""
        low, high = (f"{end:.3g}".replace("-", MINUS) for end in (self.low, self.high))
        return (low, high) if self.higher_is_better else (high, low)


Dot = tuple[float, str]
"""Value and kind: "good", "bad", "neither", "mean", "own", or "other", which is drawn smaller."""

_ORDER = ("other", "neither", "bad", "good", "mean", "own")


def dots(values: Sequence[Dot], axis: Axis, label: str, radius: float = 3.5) -> Markup:
    """Draw values on an axis: a disc if good, a ring if bad, and a tick if neutral. NaN is omitted.

    Args:
        values: The values and their kinds.
        axis: The axis.
        label: Text alternative of the plot.
        radius: Radius of a disc in pixels.
    """
    drawn = [_dot(value, kind, axis, radius) for kind in _ORDER for value, its in values if its == kind]
    line = '<line class="axisline" x1="0" x2="100%" y1="8" y2="8"/>'
    return Markup(f'<svg class="dots" role="img" aria-label="{safe(label)}">{line}{"".join(drawn)}</svg>')


def _dot(value: float, kind: str, axis: Axis, radius: float) -> str:
    if math.isnan(value):
        return ""
    share = axis.at(value)
    if share < -0.001 or share > 1.001:
        x, arrow = ("0", "M4 -4L-2 0L4 4") if share < 0 else ("100%", "M-4 -4L2 0L-4 4")
        return f'<svg x="{x}" y="8" overflow="visible"><path class="off {kind}" d="{arrow}"/></svg>'
    x = percent(share)
    if kind in ("neither", "mean"):
        top = 5 if kind == "neither" else 1
        return f'<line class="{kind}" x1="{x}" x2="{x}" y1="{top}" y2="{16 - top}"/>'
    return f'<circle class="{kind}" cx="{x}" cy="8" r="{radius if kind != "other" else radius / 2:g}"/>'


def percent(share: float) -> str:
    """Format a share of a width as a percentage, limited to the range from 0% to 100%."""
    return f"{100 * min(1.0, max(0.0, share)):.1f}%"


def rectangle(kind: str, x: float, y: float, width: float, height: float) -> str:
    """Draw a rectangle with a class of the style sheet."""
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def chart(width: int, height: int, label: str, parts: Iterable[str]) -> Markup:
    """Combine SVG elements into a plot that fills the available width.

    Args:
        width: Width of the view box.
        height: Height of the view box.
        label: Text alternative of the plot.
        parts: SVG elements created by this package, which are not escaped.
    """
    size = f'viewBox="0 0 {width} {height}"'
    return Markup(f'<svg class="plot" {size} role="img" aria-label="{safe(label)}">{"".join(parts)}</svg>')


def digit_bars(chances: Sequence[float], name: str) -> Markup:
    """Draw the probability of each digit at one position as bars, with the digits below them.

    Args:
        chances: Probabilities, shape ``(10,)``.
        name: Name of the position, for the text alternative.
    """
    parts = []
    for digit, chance in enumerate(chances):
        height = max(0.5, _TALL * chance)
        x = digit * _DIGIT
        parts.append(rectangle("bar", x + 2, _TALL + 2 - height, _DIGIT - 4, height))
        parts.append(f'<text x="{x + _DIGIT / 2:g}" y="{_TALL + _FOOT:g}" text-anchor="middle">{digit}</text>')
    likely = max(range(10), key=lambda digit: chances[digit])
    label = f"Probability of each digit as the {name}; the likeliest is {likely}, with {number(chances[likely])}"
    return chart(int(10 * _DIGIT), int(_TALL + _FOOT + 4), label, parts)


def _ends_with_what_is_beyond(scores: Sequence[float], axis: Axis) -> tuple[str, str]:
    """Return the labels of both ends, with a note if the last columns also count scores outside the axis."""
    words = ("and less", "and more") if axis.higher_is_better else ("and more", "and less")
    shares = [axis.at(score) for score in scores if not math.isnan(score)] or [0.5]
    beyond = (min(shares) < -0.001, max(shares) > 1.001)
    worse, better = (
        f"{end} {word}" if is_beyond else end for end, word, is_beyond in zip(axis.ends, words, beyond, strict=True)
    )
    return worse, better


def _counts(scores: Sequence[float], axis: Axis) -> list[int]:
    """Count the scores in each column of an axis. Scores outside the axis count in the last columns."""
    counts = [0] * N_BINS
    for score in scores:
        if not math.isnan(score):
            counts[min(N_BINS - 1, max(0, int(axis.at(score) * N_BINS)))] += 1
    return counts


def sparkline(scores: Sequence[float], axis: Axis, label: str) -> Markup:
    """Draw a small histogram that fits into a table row.

    Args:
        scores: The scores. NaN is ignored.
        axis: The axis.
        label: Text alternative of the plot.
    """
    counts = _counts(scores, axis)
    tallest = max(counts) or 1
    bars = []
    for column, count in enumerate(counts):
        if count:
            height = max(2.0, 24 * count / tallest)
            place = f'x="{100 * column / N_BINS:g}%" y="{26 - height:.1f}" width="4.2%" height="{height:.1f}"'
            bars.append(f'<rect class="bar" {place}/>')
    line = '<line class="ax" x1="0" x2="100%" y1="26.5" y2="26.5"/>'
    return Markup(f'<svg class="plot spark" role="img" aria-label="{safe(label)}">{"".join(bars)}{line}</svg>')


def histogram(scores: Sequence[float], axis: Axis, mean: float, label: str) -> Markup:
    """Draw a histogram with a line at the mean. Scores outside the axis count in the last columns.

    The tallest column is labeled with its count, and all columns are if there are at most `MOST_NUMBERS`.

    Args:
        scores: The scores. NaN is ignored.
        axis: The axis.
        mean: Mean of the scores, or NaN for no line.
        label: Text alternative of the plot.
    """
    counts = _counts(scores, axis)
    tallest = max(counts) or 1
    numbered = [count for count in counts if count]
    numbered = numbered if len(numbered) <= MOST_NUMBERS else [tallest]
    bars, parts, mark = [], [], []
    for column, count in enumerate(counts):
        if count:
            height = max(1.5, 78 * count / tallest)
            x, top = 100 * column / N_BINS, 112 - height
            bars.append(f'<rect class="bar" x="{x:g}%" y="{top:.1f}" width="4.7%" height="{height:.1f}"/>')
            if count in numbered:
                parts.append(f'<text class="k" x="{x + 2.35:g}%" y="{top - 5:.1f}" text-anchor="middle">{count}</text>')
    worse, better = _ends_with_what_is_beyond(scores, axis)
    parts.append('<line class="ax" x1="0" x2="100%" y1="112" y2="112"/>')
    parts.append(f'<text x="0" y="128">{worse}</text><text x="100%" y="128" text-anchor="end">{better}</text>')
    parts.append('<text x="100%" y="144" text-anchor="end">better →</text>')
    if not math.isnan(mean):
        share = axis.at(mean)
        at, anchor, shift = percent(share), *(("end", -6) if share > 0.5 else ("start", 6))
        # The label of the mean has a separate line above the columns. Their counts are drawn over it.
        mark.append(
            f'<line class="obs" x1="{at}" x2="{at}" y1="2" y2="112"/>'
            f'<text class="k" x="{at}" dx="{shift}" y="11" text-anchor="{anchor}">mean {number(mean)}</text>'
        )
    drawn = "".join([*bars, *mark, *parts])
    return Markup(f'<svg class="plot histogram" role="img" aria-label="{safe(label)}">{drawn}</svg>')
