"""Scores on an axis, as inline SVG without any id: right is always better."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .pages import MINUS, number, safe

N_BINS = 20
MOST_NUMBERS = 5  # columns of a histogram that all carry theirs
# Of a bar of one digit: its width with the gap, and its greatest height; and the height of the digits below.
_DIGIT, _TALL, _FOOT = 22.0, 56.0, 16.0


@dataclass(frozen=True)
class Axis:
    """Where scores lie: from the smallest to the largest, or backwards if lower is better."""

    low: float
    high: float
    higher_is_better: bool

    @classmethod
    def holding(cls, values: Iterable[float], higher_is_better: bool) -> "Axis":
        """An axis with round ends that holds these values; NaN is left out."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        if high <= low:
            low, high = low - 0.5, high + 0.5
        step = 10.0 ** (math.floor(math.log10(high - low)) - 1) * (1 if (high - low) < 2 else 2)
        low, high = math.floor(round(low / step, 6)) * step, math.ceil(round(high / step, 6)) * step
        return cls(round(low, 12), round(high, 12), higher_is_better)

    def at(self, value: float) -> float:
        """Share of the width from the worse end; below 0 or above 1 beyond the axis."""
        share = (value - self.low) / (self.high - self.low)
        return share if self.higher_is_better else 1.0 - share

    @property
    def ends(self) -> tuple[str, str]:
        """The values at the worse and at the better end."""
        low, high = (f"{end:.3g}".replace("-", MINUS) for end in (self.low, self.high))
        return (low, high) if self.higher_is_better else (high, low)


Dot = tuple[float, str]
"""A value and what it is: "good", "bad", "neither", "mean", "own" or, smaller, "other"."""

_ORDER = ("other", "neither", "bad", "good", "mean", "own")


def dots(values: Sequence[Dot], axis: Axis, label: str, radius: float = 3.5) -> Markup:
    """Values on an axis: a good one is a disc, a bad one a ring, a neutral one a tick; NaN is left out."""
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
    """A share of a width, kept inside it."""
    return f"{100 * min(1.0, max(0.0, share)):.1f}%"


def rectangle(kind: str, x: float, y: float, width: float, height: float) -> str:
    """A rectangle of a kind that the style sheet knows."""
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def chart(width: int, height: int, label: str, parts: Iterable[str]) -> Markup:
    """Parts of our own as a plot that fills the width it is given."""
    size = f'viewBox="0 0 {width} {height}"'
    return Markup(f'<svg class="plot" {size} role="img" aria-label="{safe(label)}">{"".join(parts)}</svg>')


def digit_bars(chances: Sequence[float], name: str) -> Markup:
    """How likely each digit is in one place, as bars; the digits stand below them."""
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
    """The values at both ends, which say so where their column holds more than lies on the axis."""
    words = ("and less", "and more") if axis.higher_is_better else ("and more", "and less")
    shares = [axis.at(score) for score in scores if not math.isnan(score)] or [0.5]
    beyond = (min(shares) < -0.001, max(shares) > 1.001)
    worse, better = (
        f"{end} {word}" if is_beyond else end for end, word, is_beyond in zip(axis.ends, words, beyond, strict=True)
    )
    return worse, better


def _counts(scores: Sequence[float], axis: Axis) -> list[int]:
    """How many scores lie in each column of an axis; those beyond it count in its last ones."""
    counts = [0] * N_BINS
    for score in scores:
        if not math.isnan(score):
            counts[min(N_BINS - 1, max(0, int(axis.at(score) * N_BINS)))] += 1
    return counts


def sparkline(scores: Sequence[float], axis: Axis, label: str) -> Markup:
    """How many scores lie where, in one line of a table."""
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
    """How many scores lie where, with a line at their mean; what is beyond the axis stands in its last column.

    The tallest column carries its number; where there are few columns, each does.
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
        # Its name has a line of its own above the columns; their counts are drawn over it.
        mark.append(
            f'<line class="obs" x1="{at}" x2="{at}" y1="2" y2="112"/>'
            f'<text class="k" x="{at}" dx="{shift}" y="11" text-anchor="{anchor}">mean {number(mean)}</text>'
        )
    drawn = "".join([*bars, *mark, *parts])
    return Markup(f'<svg class="plot histogram" role="img" aria-label="{safe(label)}">{drawn}</svg>')
