"""Plots of scores on an axis, as inline SVG without ids. Better scores are always on the right."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .pages import MINUS, fragment, safe

N_BINS = 20
MOST_NUMBERS = 5  # maximum number of histogram columns that are all labeled


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
    shares = [(axis.at(value), kind) for kind in _ORDER for value, its in values if its == kind]
    drawn = [(share, percent(share), kind) for share, kind in shares if not math.isnan(share)]
    return fragment("dots", label=label, values=drawn, radius=radius)


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
    return fragment("digits", chances=chances, name=name, likely=max(range(10), key=lambda digit: chances[digit]))


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
    return fragment("sparkline", label=label, counts=_counts(scores, axis))


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
    numbered = [count for count in counts if count]
    worse, better = _ends_with_what_is_beyond(scores, axis)
    share = axis.at(mean)
    return fragment(
        "histogram",
        label=label,
        counts=counts,
        numbered=numbered if len(numbered) <= MOST_NUMBERS else [max(counts)],
        worse=worse,
        better=better,
        mean=mean,
        at="" if math.isnan(mean) else percent(share),
        is_right=share > 0.5,
    )
