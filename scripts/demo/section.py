"""What the report shows of one metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

import vlgauge
from vlgauge.explain import Explanation, explain
from vlgauge.explain.pages import number
from vlgauge.explain.plots import dots
from vlgauge.results import mean_of_defined, to_table

Columns = dict[str, Any]

GOOD, BAD = "good", "bad"


@dataclass(frozen=True)
class Card:
    """An example that shows how a metric reacts.

    Attributes:
        name: Of the example.
        tone: "good", "bad" or neither.
        title: What it shows.
        why: The same in a sentence or two.
    """

    name: str
    tone: str
    title: str
    why: str


@dataclass(frozen=True)
class Section:
    """What the report shows of a metric.

    Attributes:
        asks: Its question, in a line.
        explained: All its examples.
        names: What each example is called.
        kinds: What is wrong or right with each.
        good: Kinds that should score well.
        bad: Kinds that should score badly.
        cards: A good example, one between or aside, and a bad one.
        note: What the three have in common, or where the metric fails.
        more: Something to unfold: its title and body.
        toy: Whether a toy made the numbers that the metric reads.
    """

    asks: str
    explained: Explanation
    names: Sequence[str]
    kinds: Sequence[str]
    good: tuple[str, ...]
    bad: tuple[str, ...]
    cards: tuple[Card, Card, Card]
    note: str = ""
    more: tuple[str, Markup] | None = None
    toy: bool = False

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.explained.name

    @property
    def is_toy(self) -> bool:
        """Whether a toy made a number."""
        return self.toy or self.explained.is_toy

    @cached_property
    def rows_of(self) -> dict[str, list[int]]:
        """Rows of each kind, in the order of the examples."""
        rows: dict[str, list[int]] = {}
        for row, kind in enumerate(self.kinds):
            rows.setdefault(kind, []).append(row)
        return rows

    def row(self, card: Card) -> int:
        """Row of the example of a card.

        Raises:
            ValueError: If the examples have none of this name.
        """
        if card.name not in self.names:
            raise ValueError(f"the examples of {self.name} must have {card.name!r}, which the report shows")
        return self.names.index(card.name)

    def shown(self, tone: str) -> float:
        """The score of the good or of the bad example."""
        return self.explained.scores[self.row(next(card for card in self.cards if card.tone == tone))]

    def tone(self, kind: str) -> str:
        """What a kind is drawn as."""
        return GOOD if kind in self.good else BAD if kind in self.bad else "neither"

    def strip(self) -> Markup:
        """All scores on one axis."""
        carded = {self.row(card): card.tone for card in self.cards if card.tone}
        tones = [carded.get(row) or self.tone(kind) for row, kind in enumerate(self.kinds)]
        values = list(zip(self.explained.scores, tones, strict=True))
        return dots(values, self.explained.axis, f"{len(values)} scores of {self.name}; right is better")

    def by_kind(self) -> list[tuple[str, Markup, str]]:
        """Each kind with its scores on the axis, and their mean."""
        found = []
        for kind, rows in self.rows_of.items():
            scores = [self.explained.scores[row] for row in rows]
            mean = mean_of_defined(scores)
            drawn = [(score, self.tone(kind)) for score in scores] + [(mean, "mean")]
            label = f"{kind}: {len(scores)} scores, mean {number(mean)}"
            text = "undef." if math.isnan(mean) else number(mean, self.explained.digits)
            found.append((kind, dots(drawn, self.explained.axis, label), text))
        return found

    def table(self) -> str:
        """Means of the kinds, for the terminal."""
        rows = [
            (
                kind,
                len(rows),
                sum(map(self.explained.is_undefined, rows)),
                mean_of_defined([scores[row] for row in rows]),
            )
            for scores in [self.explained.scores]
            for kind, rows in self.rows_of.items()
        ]
        return to_table(("kind", "examples", "undefined", "mean score"), rows)


def scored(name: str, columns: Columns, configuration: str | None = None, **settings: Any) -> Explanation:
    """The explanation of some rows; the numbers do not depend on the accelerator of a machine."""
    metric: Any = vlgauge.load(name, configuration, keep_in_memory=True, **settings)
    own = {column: cells for column, cells in columns.items() if column != "id"}
    return explain(name, columns, metric.compute(**own, return_details=True))
