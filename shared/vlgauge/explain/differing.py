"""Rows in which two systems differ, with the explanations of both scores side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .explanation import Explanation
from .pages import drop_repeated_notes, fragment, whole_page


@dataclass(frozen=True)
class DifferingRow:
    """Row of two systems.

    Attributes:
        key: Id of the row.
        rows: Index of the row in each system, from 0.
        difference: Score of the first system minus the score of the second.
    """

    key: str
    rows: tuple[int, int]
    difference: float


@dataclass(frozen=True)
class SystemDifferences:
    """Comparison of two systems by one metric.

    Attributes:
        title: Headline.
        names: Names of the systems.
        explanations: Explanation of each system, by the same metric.
        rows: Rows to show.
    """

    title: str
    names: tuple[str, str]
    explanations: tuple[Explanation, Explanation]
    rows: Sequence[DifferingRow]

    def section(self) -> Markup:
        """Render the section of a page about this comparison."""
        metric = self.explanations[0]
        rows_in_table = [
            {
                "key": row.key,
                "better": self.names[not self._is_better(row)],
                "by": abs(row.difference),
                "sides": self._sides(row),
            }
            for row in self.rows
        ]
        return fragment("differing", title=self.title, metric=metric, rows=rows_in_table)

    def _is_better(self, row: DifferingRow) -> bool:
        return (row.difference > 0) == self.explanations[0].facts.higher_is_better

    def _sides(self, row: DifferingRow) -> list[Markup]:
        tones = ("good", "bad") if self._is_better(row) else ("bad", "good")
        return [
            one.example(number, tone=tone, title=name)
            for one, number, tone, name in zip(self.explanations, row.rows, tones, self.names, strict=True)
        ]


def differences(
    title: str,
    tables: Sequence[str],
    pairs: Sequence[SystemDifferences],
    *,
    notes: Sequence[str] = (),
    charts: Sequence[Markup] = (),
) -> str:
    """Render a page that compares systems, with tables and the rows in which each pair of systems differs most.

    All systems share one axis per metric.

    Args:
        title: Headline.
        tables: HTML of the tables, in which every string is already escaped.
        pairs: Comparisons to explain.
        notes: Warnings of the run that scored, shown at the top.
        charts: Charts that replace the tables, which are then collapsed at the end of the page.
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
            one.compared = values
    sections = [pair.section() for pair in pairs]
    is_demo = any(pair.explanations[0].is_demo for pair in pairs)
    return whole_page(
        sections, names=names, title=title, table=table, notes=drop_repeated_notes(notes, is_demo), end=end
    )
