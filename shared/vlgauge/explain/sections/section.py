"""What a section of the demo is made of, and the tables that every section has."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from vlgauge.results import to_table

Say = Callable[[str], None]
"""Told what is being done, in a few words."""

TEXT_WIDTH = 72


@dataclass(frozen=True)
class Table:
    """A table for the terminal and for the page.

    Attributes:
        header: Titles of the columns.
        rows: Cells: texts, whole numbers, floats (NaN is undefined).
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def text(self) -> str:
        """The table for the terminal."""
        return to_table(self.header, self.rows)


@dataclass(frozen=True)
class Section:
    """What the demo shows of one metric.

    Attributes:
        metric: Name of the metric.
        signature: How its numbers were made.
        scores: The scores of each kind of example, in the order of the file.
        by_kind: Their means, and what else sums up a kind.
        extremes: The examples of `extreme_positions` of each kind, for the terminal.
        body: HTML below the tables of kinds: the examples, each with what explains its score.
    """

    metric: str
    signature: str
    scores: Mapping[str, Sequence[float]]
    by_kind: Table
    extremes: Table
    body: Markup


def positions_by_kind(kinds: Sequence[str]) -> dict[str, list[int]]:
    """Positions of the examples of each kind, in the order of the file."""
    positions: dict[str, list[int]] = {}
    for position, kind in enumerate(kinds):
        positions.setdefault(kind, []).append(position)
    return positions


def extreme_positions(positions: Sequence[int], scores: Sequence[float]) -> list[int]:
    """The examples with the highest and the lowest score, and the first without a score; each once."""
    defined = [position for position in positions if not math.isnan(scores[position])]
    undefined = [position for position in positions if math.isnan(scores[position])]
    ends = [max(defined, key=scores.__getitem__), min(defined, key=scores.__getitem__)] if defined else []
    return list(dict.fromkeys(ends + undefined[:1]))


def shortened(texts: str | Sequence[str]) -> str:
    """The start of a text or of several, in one line."""
    return textwrap.shorten(texts if isinstance(texts, str) else " ".join(texts), TEXT_WIDTH, placeholder=" ...")
