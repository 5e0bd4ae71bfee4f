"""TRM: how often the within-set side is the shortest, the middle or the longest side of a triangle."""

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from vlgauge.explain.caption_sets import CaptionSets
from vlgauge.explain.pages import fragment, number

RANKS = ("shortest", "middle", "longest")
_BELOW = ("short", "middle", "long")  # labels of columns, because the full words would touch
# Key of the details, and the set whose two captions the side connects.
SIDES = (("counts_lone_reference", "the model"), ("counts_lone_candidate", "people"))

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
    label = "; ".join(f"two by {whose}: {_join_names(shares)}" for shares, whose in groups)
    names = ("rank", "triangle", "chance", "share")
    found = [
        {
            "whose": whose,
            "columns": [
                dict(zip(names, column, strict=True))
                for column in zip(_BELOW, _TRIANGLES, expected, shares, strict=True)
            ],
        }
        for shares, whose in groups
    ]
    label += f". Over all splits: {_join_names(expected)}."
    return fragment("trm/columns", groups=found, label=label, is_surprising=is_surprising)


def _join_names(shares: Sequence[float]) -> str:
    return ", ".join(f"{rank} {share:.0%}" for rank, share in zip(RANKS, shares, strict=True))
