"""Section of the report about one metric."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vlgauge.core.catalog import card_fact
from vlgauge.core.results import to_table
from vlgauge.explain import Explanation
from vlgauge.explain.examples import Example, examples_of, explain_examples
from vlgauge.explain.plots import dots

TONES = {"right": "good", "wrong": "bad"}


@dataclass(frozen=True)
class Section:
    """Section of the report about one metric.

    Attributes:
        explained: Scored and explained examples.
        examples: Examples of the metric folder, in the same order.
        more: Name of another configuration, such as "video", and its explained examples.
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
        """Question that the metric answers, in one line."""
        return card_fact(self.name, "short_description")

    @property
    def is_demo(self) -> bool:
        """Whether a demo model computed a score."""
        return self.explained.is_demo or any(one.is_demo for one in self.examples)

    def row(self, shows: str) -> int:
        """Return the index of the example that shows something, such as "right"."""
        return [one.shows for one in self.examples].index(shows)

    def example_score(self, shows: str) -> float:
        """Return the score of the example that shows something."""
        return self.explained.scores[self.row(shows)]

    def card(self, shows: str) -> Markup:
        """Render an example with the explanation of its score."""
        row = self.row(shows)
        one = self.examples[row]
        return self.explained.example(row, tone=TONES.get(shows, ""), title=one.title, why=one.why)

    def strip(self) -> Markup:
        """Render all scores on one axis."""
        tones = [TONES.get(one.shows, "neither") for one in self.examples]
        values = list(zip(self.explained.scores, tones, strict=True))
        return dots(values, self.explained.axis, f"{len(values)} scores of {self.name}; right is better")

    def table(self) -> str:
        """Format the scores for the terminal."""
        rows = [(one.shows, one.id, score) for one, score in zip(self.examples, self.explained.scores, strict=True)]
        return to_table(("shows", "example", "score"), rows)


def section_of(name: str) -> Section:
    """Score and explain the examples of a metric."""
    every = examples_of(name)
    others = sorted({one.config for one in every} - {""})
    more = (others[0], explain_examples(name, others[0])) if others else None
    return Section(explain_examples(name), [one for one in every if not one.config], more)
