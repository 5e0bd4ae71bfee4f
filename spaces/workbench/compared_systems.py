"""Comparison of systems on common rows, scored here or before, by one or more metrics."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from vlgauge.api.scored import SystemScores
from vlgauge.api.systems import GivenSystem, runs_of, score_systems
from vlgauge.core.errors import UsageError
from vlgauge.core.results import INTERVAL
from vlgauge.explain import Explanation, explain
from vlgauge.explain.plots import Axis
from vlgauge.families.base import Column, Metric
from vlgauge.inputs.tables.files import rows_called
from vlgauge.leaderboard import RunComparison, compare
from vlgauge.leaderboard.joined_runs import join_rows
from vlgauge.leaderboard.runs import Run
from vlgauge_workbench.scoring import notes_of, reasons_of, rows_of


@dataclass(frozen=True)
class UploadedSystem:
    """System to compare, with stored scores or with the columns to score."""

    name: str
    ids: Sequence[Any]
    run: Run | None = None
    columns: Mapping[str, Sequence[Any] | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Compared:
    """Compared systems.

    Attributes:
        comparison: Comparison by every metric, over the rows that all systems have.
        scored: Results of the systems that were scored here, by system name, in the order of the comparison.
        left_out: Rows that cannot be scored for one of the systems, with the reasons.
        notes: Warnings of the metrics and of the comparison.
    """

    comparison: RunComparison
    scored: Mapping[str, SystemScores]
    left_out: Sequence[tuple[str, str]]
    notes: Sequence[str]

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


def compare_systems(metrics: Sequence[Metric], given: Sequence[UploadedSystem]) -> Compared:
    """Compare systems like `vlgauge.compare`, over the rows that can be scored.

    Raises:
        UsageError: If the systems have different rows, or no row can be scored.
    """
    keys, orders = join_rows({one.name: {"ids": one.ids} for one in given})
    every = [_reorder(one, orders[one.name]) for one in given]
    every_column = sorted((one for metric in metrics for one in metric.columns), key=lambda one: not one.optional)
    columns = list({(type(one), one.name): one for one in every_column}.values())
    left_out = _list_left_out(columns, every, keys)
    lost = {key for key, _ in left_out}
    kept = [row for row, key in enumerate(keys) if key not in lost]
    if not kept:
        raise UsageError(left_out[0][1])
    systems = {one.name: _as_system(_reorder(one, kept)) for one in every}
    names = [metric.name for metric in metrics]
    with warnings.catch_warnings(record=True) as caught, rows_called("`Files`"):
        warnings.simplefilter("always", UserWarning)
        scored = score_systems(systems, metrics, {}, details=True)
        comparison = compare(runs_of(systems, scored), names)
    drawn = [_describe_sample(name, systems[name], one) for name, one in scored.items()]
    return Compared(comparison, scored, left_out, list(dict.fromkeys([*filter(None, drawn), *notes_of(caught)])))


def _describe_sample(name: str, system: GivenSystem, scored: SystemScores) -> str:
    """Return a note if only some captions of a system were scored. Empty if all were."""
    there = [len(row["predictions"]) for row in system.rows]
    if scored.sizes is None or there == [size[0] for size in scored.sizes]:
        return ""
    return (
        f"{name} has more captions in some rows than another system; a random sample (seed 0) of the size of the "
        "smallest set is scored"
    )


def _list_left_out(
    columns: Sequence[Column], every: Sequence[UploadedSystem], keys: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the rows that cannot be scored for one of the systems, with the reasons."""
    reasons = [reasons_of(columns, one.columns, len(keys)) for one in every if one.run is None]
    whys = [next(filter(None, own), "") for own in zip(*reasons, strict=True)]
    return [(key, why) for key, why in zip(keys, whys, strict=False) if why]


def _as_system(given: UploadedSystem) -> GivenSystem:
    own = [(name, cells) for name, cells in given.columns.items() if cells is not None]
    rows = [{name: cells[row] for name, cells in own} for row in range(len(given.ids))]
    return GivenSystem(given.ids, given.run, rows if given.run is None else [])


def _reorder(given: UploadedSystem, rows: Sequence[int]) -> UploadedSystem:
    n, run = len(given.ids), given.run
    if run is not None:
        # Select values of lists with one value per row. An interval also has two values, but not one per row.
        run = {
            key: [value[row] for row in rows]
            if isinstance(value, list) and len(value) == n and not key.endswith(INTERVAL)
            else value
            for key, value in run.items()
            # Drop corpus-level values of all rows if only some rows are kept.
            if len(rows) == n or not isinstance(value, (int, float))
        }
    return replace(given, ids=[given.ids[row] for row in rows], run=run, columns=rows_of(given.columns, rows))
