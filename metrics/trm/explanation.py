"""TRM: how often the within-set side is the shortest, the middle or the longest side of a triangle."""

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from vlgauge.explain.caption_sets import CaptionSets
from vlgauge.explain.pages import number
from vlgauge.explain.plots import chart, rectangle

RANKS = ("shortest", "middle", "longest")
_BELOW = ("short", "middle", "long")  # labels of columns, because the full words would touch
# Key of the details, and the set whose two captions the side connects.
SIDES = (("counts_lone_reference", "the model"), ("counts_lone_candidate", "people"))

_TALLEST, _GROUND, _WIDTH = 104.0, 134.0, 40.0
# Ends of the within-set side and the lone caption, by rank, for small triangles below the columns.
_TRIANGLES = (((-6, 12), (6, 12), (0, -14)), ((-13, 11), (9, 11), (4, -6)), ((-18, 10), (18, 10), (0, 1)))


class TrmExplanation(CaptionSets):
    """Caption sets with their triangles."""

    name = "trm"
    on_axis = (0.0,)
    statistic = "Q"
    family_template = ""

    def reason(self, row: int) -> str:
        """Return the p-value and the share that differs most from its expectation, as text."""
        shares = [(self.shares(row, key), whose) for key, whose in SIDES]
        found = [
            (abs(share - chance), share, rank, whose)
            for of, whose in shares
            for share, rank, chance in zip(of, RANKS, self.details[row]["expected_shares"], strict=True)
        ]
        _, share, rank, whose = max(found, key=lambda one: one[0])
        p = "" if math.isnan(self.pvalue(row)) else f"{self.pvalue_words(row)}; "
        return f"{p}two by {whose}: the {rank} side in {share:.0%}"

    def extra(self, row: int) -> str:
        """Return the p-value, the chance level, and separate Q, as text."""
        separate = self._per_row("separate_scores", row)
        return super().extra(row) + ("" if math.isnan(separate) else f" · separate {number(separate)}")

    def shares(self, row: int, key: str) -> list[float]:
        """Return the shares of triangles in which the within-set side is the shortest, the middle and the longest one.

        Args:
            row: Index of the row.
            key: Key of the counts in the details.
        """
        counts: Sequence[float] = self.details[row][key]
        return [count / sum(counts) for count in counts]

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row.

        Returns:
            ``columns``, a plot of the six shares, ``captions``, and ``meaning`` of the p-value.
        """
        is_surprising = self.is_surprising(row)
        groups = [(self.shares(row, key), whose) for key, whose in SIDES]
        return {
            "columns": rank_columns(groups, self.details[row]["expected_shares"], is_surprising=is_surprising),
            "captions": self.captions(row),
            "meaning": self.meaning(row),
        }


def rank_columns(
    groups: Sequence[tuple[Sequence[float], str]], expected: Sequence[float], *, is_surprising: bool
) -> Markup:
    """Return a chart of the shares as columns, with dashed lines at their expectations and triangles below.

    Args:
        groups: Shares by rank, and the name of the set, for both sets.
        expected: Expected share of each rank over all partitions.
        is_surprising: Whether to highlight the differences from the expectations.
    """
    parts, label = [], []
    for group, (shares, whose) in enumerate(groups):
        x0 = group * 156
        label.append(f"two by {whose}: {_join_names(shares)}")
        parts.append(f'<text class="k" x="{x0 + 72}" y="10" text-anchor="middle">two by {whose}</text>')
        for rank, (share, chance) in enumerate(zip(shares, expected, strict=True)):
            x = x0 + 6 + rank * 46
            parts.append(_column(x, share, chance, is_surprising))
            parts.append(_triangle(rank, x + 20, _GROUND + 27, by_model=group == 0))
            at = f'x="{x + 20}" y="{_GROUND + 62:g}"'
            parts.append(f'<text {at} text-anchor="middle">{_BELOW[rank]}</text>')
            y = _GROUND - chance * _TALLEST
            parts.append(f'<line class="third" x1="{x - 3}" x2="{x + 43}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<line class="ax" x1="{x0}" x2="{x0 + 144}" y1="{_GROUND:g}" y2="{_GROUND:g}"/>')
    return chart(300, 204, f"{'; '.join(label)}. Over all splits: {_join_names(expected)}.", parts)


def _join_names(shares: Sequence[float]) -> str:
    return ", ".join(f"{rank} {share:.0%}" for rank, share in zip(RANKS, shares, strict=True))


def _column(x: float, share: float, chance: float, is_surprising: bool) -> str:
    height, dashes = share * _TALLEST, chance * _TALLEST
    top = _GROUND - max(height, dashes) - 4
    fair = min(height, dashes)
    parts = [rectangle("bar", x, _GROUND - fair, _WIDTH, fair)]
    if height > dashes:
        parts.append(rectangle("ex" if is_surprising else "bar over", x, _GROUND - height, _WIDTH, height - dashes))
        if is_surprising:
            parts.append(f'<path class="hatch" d="{_hatch(x, _GROUND - height, height - dashes)}"/>')
    elif is_surprising and dashes - height > 0.5:
        parts.append(rectangle("lack", x + 0.5, _GROUND - dashes, _WIDTH - 1, dashes - height))
    parts.append(f'<text class="k" x="{x + _WIDTH / 2:g}" y="{top:.1f}" text-anchor="middle">{share:.0%}</text>')
    return "".join(parts)


def _hatch(x: float, y: float, height: float) -> str:
    """Return the path of 45-degree lines within a column. An SVG pattern would need a unique id on the page."""
    lines, start = [], 6.0
    while start < _WIDTH + height:
        # From the left or bottom edge to the top or right edge, along u + v = start.
        u0, u1 = max(0.0, start - height), min(_WIDTH, start)
        lines.append(f"M{x + u0:.1f} {y + start - u0:.1f}L{x + u1:.1f} {y + start - u1:.1f}")
        start += 6.0
    return "".join(lines)


def _triangle(rank: int, x: float, y: float, *, by_model: bool) -> str:
    (ax, ay), (bx, by), (cx, cy) = (((x + u), (y + v)) for u, v in _TRIANGLES[rank])

    def point(px: float, py: float, model: bool) -> str:
        if model:
            return f'<circle class="model" cx="{px:g}" cy="{py:g}" r="4.2"/>'
        return f'<path class="people small" d="M{px:g} {py - 5:g}l4.8 8.4h-9.6z"/>'

    return (
        f'<path class="side2" d="M{ax:g} {ay:g}L{cx:g} {cy:g}L{bx:g} {by:g}"/>'
        + f'<path class="side1" d="M{ax:g} {ay:g}L{bx:g} {by:g}"/>'
        + point(ax, ay, by_model)
        + point(bx, by, by_model)
        + point(cx, cy, not by_model)
    )
