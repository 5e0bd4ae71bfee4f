"""Scores of columns by one or more metrics, in the form that the CLI writes and Python functions return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from vlgauge.api.columns import draw_captions, warn_of_repeated
from vlgauge.api.computing import compute_all, without_details
from vlgauge.families.set_sizes import add_set_sizes
from vlgauge.inputs.tables.files import Rows
from vlgauge.leaderboard.runs import RowGroups, count_set_sizes

if TYPE_CHECKING:
    from vlgauge.families.base import Metric


@dataclass(frozen=True)
class SelectedRows:
    """Rows to score.

    Attributes:
        ids: IDs of the rows.
        columns: Cells by column name. None for optional columns that do not exist.
        rows: Rows as they were read, for error messages.
        metadata: Metadata of the rows, such as their dataset.
        groups: Groups of rows that belong together. None if rows are independent.
    """

    ids: Sequence[Any]
    columns: Mapping[str, list[Any] | None]
    rows: Rows = field(default_factory=list)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    groups: RowGroups | None = None


@dataclass(frozen=True)
class SystemScores:
    """Scores of rows.

    Attributes:
        ids: IDs of the rows.
        columns: Scored columns by name.
        results: Results by metric name, with details if they were requested.
        sizes: Numbers of candidates and references of each row, for metrics of caption sets.
        metadata: Metadata of the rows, such as their dataset.
        failed: Reasons why metrics of a suite have no result, by metric name.
        groups: Groups of rows that belong together. None if rows are independent.
    """

    ids: Sequence[Any]
    columns: Mapping[str, list[Any] | None]
    results: Mapping[str, dict[str, Any]]
    sizes: Sequence[tuple[int, int]] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    groups: RowGroups | None = None

    @property
    def plain(self) -> dict[str, dict[str, Any]]:
        """Results by metric name, each a dictionary of values by key, without details."""
        return {name: without_details(name, result) for name, result in self.results.items()}

    def with_details(self, again: SystemScores) -> SystemScores:
        """Return a copy with the details of another call on the same rows."""
        results = {name: {**again.results[name], **self.results[name]} for name in self.results}
        return replace(self, results=results)

    def run(self, *, details: bool = False) -> dict[str, Any]:
        """Return everything as a dictionary, which `vlgauge score --output` writes and `vlgauge.leaderboard` reads.

        Returns:
            ``ids``, metadata such as the ``dataset``, optionally ``sizes``, ``groups`` and ``grouped_by``, and the
            values of all results by key.
        """
        run: dict[str, Any] = {"ids": self.ids, **self.metadata}
        run |= {} if self.groups is None else self.groups.metadata
        if self.sizes is not None:
            # Set sizes are required to check later whether two systems are comparable.
            run["sizes"] = self.sizes
        for result in (self.results if details else self.plain).values():
            run |= result
        return run


def score_columns(
    metrics: Sequence[Metric],
    selected: SelectedRows,
    *,
    details: bool = False,
    captions_per_row: int | None = None,
    seed: int = 0,
    describe_failure: Callable[[Exception], str] | None = None,
) -> SystemScores:
    """Score the columns of rows with all metrics.

    With `describe_failure`, the other metrics are still computed if a metric fails, unless all fail. The function
    converts its exception to the reason of the failure.

    Raises:
        ValueError: As for `compute_all` and `draw_captions`.
    """
    ids, kept = selected.ids, dict(selected.columns)
    warn_of_repeated(ids, kept, grouped=selected.groups is not None)
    there = draw_captions(kept, ids, metrics, captions_per_row, seed)
    errors: dict[str, Exception] = {}
    on_failure = None if describe_failure is None else errors.__setitem__
    results = compute_all(metrics, kept, details=details, rows=selected.rows, on_failure=on_failure)
    if errors and not results:
        raise next(iter(errors.values()))
    failed = {name: describe_failure(error) for name, error in errors.items()} if describe_failure else {}
    sizes = None
    if any(metric.compares_sets for metric in metrics):
        sizes = count_set_sizes(kept)
        for name, result in results.items():
            results[name] = result | add_set_sizes(result, sizes, ids, there=there, seed=seed)
    return SystemScores(ids, kept, results, sizes, selected.metadata, failed, selected.groups)
