"""Pages that explain scores and differences between systems (extra `explain`)."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from vlgauge.api.forest import forest, summarize_pair
from vlgauge.api.scored import SystemScores
from vlgauge.core.catalog import metric_of_score
from vlgauge.core.results import row_keys
from vlgauge.explain import DifferingRow, Explanation, SystemDifferences, differences, explain, report
from vlgauge.explain.pages import safe, whole_page
from vlgauge.leaderboard import RunComparison, rows_that_differ
from vlgauge.leaderboard.table import pairs_table, render, systems_table, title

MOST_CHARTS = 10  # of pairs; the tables have all

__all__ = ["differences_page", "explanations", "report", "row_page"]


def explanations(scored: SystemScores) -> list[Explanation]:
    """Return the explanations of each metric, whose results must have details."""
    columns = {**scored.columns, "id": scored.ids}
    groups = None if scored.groups is None else scored.groups.labels
    return [explain(name, columns, result, groups=groups) for name, result in scored.results.items()]


def row_page(explained: Sequence[Explanation], row: int) -> str:
    """Return a page about one row.

    Raises:
        IndexError: If there is no such row.
    """
    sections = [one.example(row, title=one.name if len(explained) > 1 else None) for one in explained]
    return whole_page(sections, names=[one.name for one in explained], title=explained[0].title(row), table="")


def differences_page(
    comparison: RunComparison, scored: Mapping[str, SystemScores], limit: int, notes: Sequence[str] = ()
) -> str:
    """Return a page about the rows with the largest differences between systems, with explanations side by side."""
    places = {name: {key: row for row, key in enumerate(row_keys(one.ids))} for name, one in scored.items()}
    pairs = []
    for compared in comparison.metrics:
        # Use the result of the metric that computes the score, because e.g. the use of a demo model differs by metric.
        owner = metric_of_score(compared.metric)
        explained = {
            name: explain(owner, {**one.columns, "id": one.ids}, one.results[owner]) for name, one in scored.items()
        }
        for pair in compared.pairs:
            first, second = pair.first, pair.second
            rows = []
            for row in rows_that_differ(compared, pair, limit):
                key = comparison.ids[row]
                difference = compared.scores[first][row] - compared.scores[second][row]
                rows.append(DifferingRow(key, (places[first][key], places[second][key]), difference))
            headline = f"{first} and {second} by {title(compared, spoken=True, of_row=True)}"
            pairs.append(SystemDifferences(headline, (first, second), (explained[first], explained[second]), rows))
    tables = [render(table, "html") for table in (systems_table(comparison), pairs_table(comparison))]
    names = list(dict.fromkeys((pair.first, pair.second) for one in comparison.metrics for pair in one.pairs))
    if len(names) == 1:
        headline = summarize_pair(comparison, *names[0])
        charts = [forest(comparison, *names[0])]
    else:
        headline = f"{len(scored)} systems on {len(comparison.ids)} rows, with the largest differences"
        heading = Markup("<h3>{}</h3>{}")
        charts = [
            heading.format(safe(summarize_pair(comparison, *one)), forest(comparison, *one))
            for one in names[:MOST_CHARTS]
        ]
    return differences(headline, tables, pairs, notes=notes, charts=[*charts, *unfinished_captions(scored)])


def unfinished_captions(scored: Mapping[str, SystemScores]) -> list[Markup]:
    """Return a sentence with the share of unfinished captions of each system, if a metric determines it."""
    shares = {
        system: value
        for system, one in scored.items()
        for name, result in one.results.items()
        if (value := result.get(f"{name}_unfinished")) is not None
    }
    if not shares:
        return []
    listed = ", ".join(f"{system} {value:.1%}" for system, value in shares.items())
    return [Markup("<p>Unfinished captions, which end in a word such as “a” or “with”: {}.</p>").format(safe(listed))]
