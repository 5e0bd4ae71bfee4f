"""The pages of `--report`: why the scores of a file are what they are, and where systems differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vlgauge.cli.outputs import write_output
from vlgauge.explain import Differing, Row, differences, explain, report
from vlgauge.leaderboard import Comparison, rows_that_differ
from vlgauge.leaderboard.runs import row_keys
from vlgauge.leaderboard.table import pairs_table, render, row_title, systems_table


def write_report(
    target: str,
    results: Mapping[str, Mapping[str, Any]],
    columns: Mapping[str, Sequence[Any] | None],
    ids: Sequence[Any],
    told: Sequence[str] = (),
) -> None:
    """Explain the scores of one metric or several on a page.

    Args:
        target: File to write.
        results: By name of the metric, with details.
        columns: The columns that were scored.
        ids: Names of the rows.
        told: Warnings of the run.
    """
    explained = [explain(name, {**columns, "id": ids}, result) for name, result in results.items()]
    write_output(target, report(explained, told=told), "--report")


def write_differences(
    target: str,
    comparison: Comparison,
    ids: Mapping[str, Sequence[Any]],
    results: Mapping[str, Mapping[str, Mapping[str, Any]]],
    columns: Mapping[str, Mapping[str, Sequence[Any] | None]],
    limit: int,
    told: Sequence[str] = (),
) -> None:
    """Explain the rows in which systems differ most, side by side.

    Args:
        target: File to write.
        comparison: All systems and metrics.
        ids: By name of the system, what its rows are called.
        results: Likewise, by name of the metric, with details.
        columns: The columns that were scored, by name of the system.
        limit: Most rows per pair and metric.
        told: Warnings of the run.
    """
    places = {name: {key: row for row, key in enumerate(row_keys(own))} for name, own in ids.items()}
    pairs = []
    for compared in comparison.metrics:
        # What stands in the result of another metric, such as whether a toy made it, is nothing of this one.
        explained = {
            name: explain(compared.metric, {**columns[name], "id": own}, results[name][compared.metric])
            for name, own in ids.items()
        }
        for pair in compared.pairs:
            first, second = pair.first, pair.second
            rows = []
            for row in rows_that_differ(compared, pair, limit):
                key = comparison.ids[row]
                difference = compared.scores[first][row] - compared.scores[second][row]
                rows.append(Row(key, (places[first][key], places[second][key]), difference))
            headline = f"{first} and {second} by {row_title(compared)}"
            pairs.append(Differing(headline, (first, second), (explained[first], explained[second]), rows))
    tables = [render(table, "html") for table in (systems_table(comparison), pairs_table(comparison))]
    headline = f"{len(ids)} systems on {len(comparison.ids)} rows, and where they differ most"
    write_output(target, differences(headline, tables, pairs, told=told), "--report")
