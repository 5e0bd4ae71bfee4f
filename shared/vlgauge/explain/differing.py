"""Rows in which two systems differ, what explains the score of either side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .explanation import Explanation
from .pages import beside_notices, fragment, whole_page


@dataclass(frozen=True)
class Row:
    """A row that two systems have.

    Attributes:
        key: Its id.
        rows: Its number among the rows of each system, from 0.
        difference: What the first system has more than the second.
    """

    key: str
    rows: tuple[int, int]
    difference: float


@dataclass(frozen=True)
class Differing:
    """Two systems by one metric.

    Attributes:
        title: Headline.
        names: Of the systems.
        explanations: Of each of them, by the same metric.
        rows: Those that are shown.
    """

    title: str
    names: tuple[str, str]
    explanations: tuple[Explanation, Explanation]
    rows: Sequence[Row]

    def section(self) -> Markup:
        """The part of a page that is about them."""
        metric = self.explanations[0]
        shown = [
            {
                "key": row.key,
                "better": self.names[not self._is_better(row)],
                "by": abs(row.difference),
                "sides": self._sides(row),
            }
            for row in self.rows
        ]
        return fragment("differing", title=self.title, metric=metric, rows=shown)

    def _is_better(self, row: Row) -> bool:
        return (row.difference > 0) == self.explanations[0].facts.higher_is_better

    def _sides(self, row: Row) -> list[Markup]:
        tones = ("good", "bad") if self._is_better(row) else ("bad", "good")
        return [
            one.example(number, tone=tone, title=name)
            for one, number, tone, name in zip(self.explanations, row.rows, tones, self.names, strict=True)
        ]


def differences(
    title: str,
    tables: Sequence[str],
    pairs: Sequence[Differing],
    *,
    told: Sequence[str] = (),
    charts: Sequence[Markup] = (),
) -> str:
    """A page about systems: tables, then the rows in which each two of them differ most, on one axis per metric.

    Args:
        title: Headline.
        tables: Their HTML, in which every text is escaped.
        pairs: What is explained.
        told: Warnings of the run that scored, which stand on top.
        charts: What stands in place of the tables, which are folded then and come last.
    """
    table = Markup("").join(
        Markup('<div class="scroll plain" tabindex="0">{}</div>').format(Markup(one)) for one in tables
    )
    end = Markup()
    if charts:
        heading = "All numbers, how they were tested, and how they were made"
        folded = '<details class="fold numbers"><summary>{}</summary>{}</details>'
        table, end = Markup("").join(charts), Markup(folded).format(heading, table)
    names = list(dict.fromkeys(pair.explanations[0].name for pair in pairs))
    for name in names:
        systems = dict.fromkeys(one for pair in pairs for one in pair.explanations if one.name == name)
        values = [value for one in systems for value in one.axis_values]
        for one in systems:
            one.beside = values
    sections = [pair.section() for pair in pairs]
    is_toy = any(pair.explanations[0].is_toy for pair in pairs)
    return whole_page(sections, names=names, title=title, table=table, told=beside_notices(told, is_toy), end=end)
