"""What the report shows of one metric."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vlgauge.catalog import card_fact
from vlgauge.explain import Explanation
from vlgauge.explain.examples import Example, examples_of, explained_examples
from vlgauge.explain.plots import dots
from vlgauge.results import to_table

TONES = {"right": "good", "wrong": "bad"}


@dataclass(frozen=True)
class Section:
    """What the report shows of a metric.

    Attributes:
        explained: Its examples, scored and explained.
        examples: The same as they stand in its folder.
        more: Those of another configuration, such as "video", and what that is called.
    """

    explained: Explanation
    examples: Sequence[Example]
    more: tuple[str, Explanation] | None = None

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.explained.name

    @property
    def asks(self) -> str:
        """Its question, in a line."""
        return card_fact(self.name, "short_description")

    @property
    def is_toy(self) -> bool:
        """Whether a toy made a number."""
        return self.explained.is_toy or any(one.toy for one in self.examples)

    def row(self, shows: str) -> int:
        """The row that shows something, such as "right"."""
        return [one.shows for one in self.examples].index(shows)

    def shown(self, shows: str) -> float:
        """The score of the row that shows something."""
        return self.explained.scores[self.row(shows)]

    def card(self, shows: str) -> Markup:
        """An example with what explains its score."""
        row = self.row(shows)
        one = self.examples[row]
        return self.explained.example(row, tone=TONES.get(shows, ""), title=one.title, why=one.why)

    def strip(self) -> Markup:
        """All scores on one axis."""
        tones = [TONES.get(one.shows, "neither") for one in self.examples]
        values = list(zip(self.explained.scores, tones, strict=True))
        return dots(values, self.explained.axis, f"{len(values)} scores of {self.name}; right is better")

    def table(self) -> str:
        """The scores, for the terminal."""
        rows = [(one.shows, one.id, score) for one, score in zip(self.examples, self.explained.scores, strict=True)]
        return to_table(("shows", "example", "score"), rows)


def section_of(name: str) -> Section:
    """The examples of a metric, scored and explained."""
    every = examples_of(name)
    others = sorted({one.config for one in every} - {""})
    more = (others[0], explained_examples(name, others[0])) if others else None
    return Section(explained_examples(name), [one for one in every if not one.config], more)
