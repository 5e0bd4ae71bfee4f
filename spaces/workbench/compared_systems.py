"""Comparison of systems on common rows, scored here or before, by one or more metrics."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from vlgauge.api.row_sources import RowReader
from vlgauge.api.scored import SystemScores
from vlgauge.api.systems import GivenSystem, runs_of, score_systems
from vlgauge.core.errors import UsageError, in_python, naming_arguments
from vlgauge.core.results import INTERVAL, row_keys
from vlgauge.explain import Explanation, explain
from vlgauge.explain.plots import Axis
from vlgauge.families.base import Metric
from vlgauge.inputs.tables.files import rows_called
from vlgauge.leaderboard import RunComparison, compare
from vlgauge.leaderboard.joined_runs import join_rows
from vlgauge.leaderboard.runs import Run
from vlgauge_workbench.errors import without_folders
from vlgauge_workbench.scoring import notes_of

SystemRows = Run | RowReader
"""Stored scores of a system, or the reader of its rows."""


@dataclass(frozen=True)
class Compared:
    """Compared systems.

    Attributes:
        comparison: Comparison by every metric, over the rows that all systems have.
        scored: Results of the systems that were scored here, by system name, in the order of the comparison.
        left_out: Rows that cannot be scored for one of the systems, with the reasons.
        notes: Warnings of the metrics and of the comparison.
        given: The compared systems, whose temporary files are deleted with them.
    """

    comparison: RunComparison
    scored: Mapping[str, SystemScores]
    left_out: Sequence[tuple[str, str]]
    notes: Sequence[str]
    given: Mapping[str, SystemRows]

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Names of the two systems of each pair."""
        return [(pair.first, pair.second) for pair in self.comparison.metrics[0].pairs]

    @cached_property
    def _explained(self) -> dict[str, dict[str, Explanation]]:
        return {}

    def explained(self, metric: str) -> Mapping[str, Explanation]:
        """Return explanations of the systems that were scored here, all with the same axis."""
        if metric not in self._explained:
            own = {
                name: explain(metric, {**one.columns, "id": one.ids}, one.results[metric])
                for name, one in self.scored.items()
            }
            values = [value for one in own.values() for value in (*one.scores, *one.on_axis)]
            for one in own.values():
                one.axis = Axis.holding(values, one.facts.higher_is_better)
            self._explained[metric] = own
        return self._explained[metric]


def compare_systems(metrics: Sequence[Metric], given: Mapping[str, SystemRows]) -> Compared:
    """Compare systems like `vlgauge.compare`, over the rows that can be scored.

    Raises:
        UsageError: If the systems have different rows, or no row can be scored.
    """
    reasons: dict[str, str] = {}
    for name, rows in given.items():
        if isinstance(rows, RowReader):
            rows.read(rows.source.n_rows or 0)
            for key, one in zip(row_keys(one.id for one in rows.left_out), rows.left_out, strict=True):
                reasons.setdefault(key, f"{name}: {without_folders(one.reason)}")
    keys, _ = join_rows({name: {"ids": _all_ids(one)} for name, one in given.items()})
    left_out = [(key, reasons[key]) for key in keys if key in reasons]
    kept = [key for key in keys if key not in reasons]
    if not kept:
        raise UsageError(left_out[0][1])
    systems = {name: _select(one, kept) for name, one in given.items()}
    names = [metric.name for metric in metrics]
    with warnings.catch_warnings(record=True) as caught, rows_called("`Files`"), naming_arguments(_name_field):
        warnings.simplefilter("always", UserWarning)
        scored = score_systems(systems, metrics, {}, details=True)
        comparison = compare(runs_of(systems, scored, names), names)
    drawn = [_describe_sample(name, systems[name], one) for name, one in scored.items()]
    notes = list(dict.fromkeys([*filter(None, drawn), *notes_of(caught)]))
    return Compared(comparison, scored, left_out, notes, given)


def _name_field(name: str, value: object, is_setting: bool) -> str:
    """Return the label of the field for the column of ids, and Python notation for all other arguments."""
    return "`Column: id`" if name == "id" else in_python(name, value, is_setting)


def _describe_sample(name: str, system: GivenSystem, scored: SystemScores) -> str:
    """Return a note if only some captions of a system were scored. Empty if all were."""
    there = [len(row["predictions"]) for row in system.rows]
    if scored.sizes is None or there == [size[0] for size in scored.sizes]:
        return ""
    return (
        f"{name} has more captions in some rows than another system; a random sample (seed 0) of the size of the "
        "smallest set is scored"
    )


def _all_ids(given: SystemRows) -> Sequence[Any]:
    """Return the ids of all rows, those of the rows that cannot be scored at the end."""
    return [*given.ids, *(one.id for one in given.left_out)] if isinstance(given, RowReader) else given["ids"]


def _select(given: SystemRows, keys: Sequence[str]) -> GivenSystem:
    """Return the rows with these keys, in this order."""
    ids = given.ids if isinstance(given, RowReader) else given["ids"]
    row_of = {key: row for row, key in enumerate(row_keys(ids))}
    rows = [row_of[key] for key in keys]
    own_ids = [ids[row] for row in rows]
    if isinstance(given, RowReader):
        columns = [(name, cells) for name, cells in given.columns.items() if cells is not None]
        return GivenSystem(own_ids, rows=[{name: cells[row] for name, cells in columns} for row in rows])
    run = {
        # Select values of lists with one value per row. An interval also has two values, but not one per row.
        key: [value[row] for row in rows]
        if isinstance(value, list) and len(value) == len(ids) and not key.endswith(INTERVAL)
        else value
        for key, value in given.items()
        # Drop corpus-level values of all rows if only some rows are kept.
        if len(rows) == len(ids) or not isinstance(value, (int, float))
    }
    return GivenSystem(own_ids, run)
