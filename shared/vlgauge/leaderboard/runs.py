"""Scores of a system on the rows of a dataset, as input of comparisons and records."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from vlgauge.core.errors import UsageError
from vlgauge.core.files import STDIN, read_bytes
from vlgauge.core.results import SIDECAR, row_keys
from vlgauge.core.validation import short_repr
from vlgauge.inputs.tables.files import FILE, Rows, parse_json_file, read_rows, without_blanks
from vlgauge.inputs.tables.parquet import parquet_metadata
from vlgauge.leaderboard.run_files import WITH_SIDECAR, as_kept
from vlgauge.stats import LARGEST
from vlgauge.stats.drawing import is_unlabeled

Run: TypeAlias = Mapping[str, Any]
"""JSON content that `vlgauge score --output` writes: ``ids``, and the results of one or more metrics."""

GROUPS, GROUPED_BY = "groups", "grouped_by"
"""Keys of the label of each row, and of the name of the grouping."""


def read_run(path: str, metrics: Sequence[str]) -> dict[str, Any] | None:
    """Read the scores in a file that `vlgauge score --output` wrote.

    Args:
        path: Path of a JSON file, or of a table with the other values in its metadata or in a file next to it.
        metrics: Names of the required metrics.

    Returns:
        Values by key, as described in `compare`. None for the standard input, or if the file is not a file of scores.

    Raises:
        ValueError: If it is a file of scores without the scores or the signature of a metric.
    """
    if path == STDIN:
        return None
    ending = Path(path).suffix.lower()
    run = _of_json(path) if ending == ".json" else _of_table(path, ending)
    if run is None:
        return None
    for name in metrics:
        if f"{name}_scores" not in run or f"{name}_signature" not in run:
            there = ", ".join(scores_in(run)) or "none"
            raise UsageError(
                f"FILE must contain the scores of {name} and their signature, {path!r} has scores of: {there}"
            )
    return run


def _of_json(path: str) -> dict[str, Any] | None:
    content = parse_json_file(read_bytes(path, FILE), path)
    return content if isinstance(content, dict) and isinstance(content.get("ids"), list) else None


def _of_table(path: str, ending: str) -> dict[str, Any] | None:
    data, place = None, path
    if ending == ".parquet":
        data = read_bytes(path, FILE)
        stored = parquet_metadata(data, "vlgauge", FILE, path) or None
    else:
        place = f"{path}{SIDECAR}"
        stored = read_bytes(place, FILE) if ending in WITH_SIDECAR and Path(place).is_file() else None
    # Without metadata, a damaged file is reported when the caller reads its rows.
    other_values = parse_json_file(stored, place) if stored is not None else None
    if not isinstance(other_values, dict) or not scores_in(other_values):
        return None
    rows: Sequence[Mapping[str, Any]] = read_rows(path, data=data)
    if ending == ".csv":
        rows = [{as_kept(title): as_kept(cell) for title, cell in row.items()} for row in rows]
    run: dict[str, Any] = {"ids": [row.get("id") for row in rows], **other_values}
    for title in [title for title in rows[0] if title != "id"]:
        # A column contains scores of examples if the values outside of the table contain its mean.
        name = f"{title}_scores" if title in other_values else title
        run[name] = [row.get(title) for row in rows]
    return run


def scores_in(run: Run) -> list[str]:
    """Return the names of the scores that have a signature in a file of scores."""
    return [key.removesuffix("_signature") for key in run if key.endswith("_signature")]


def numbers(name: str, cells: Sequence[Any], keys: Sequence[str]) -> list[float]:
    """Return the cells of a column of scores as floats, NaN for empty cells.

    Raises:
        ValueError: If there is not one cell per row, or a cell is neither empty nor a finite number of at most 1e300 in
            absolute value.
    """
    if not isinstance(cells, Sequence) or isinstance(cells, str) or len(cells) != len(keys):
        count = len(cells) if isinstance(cells, Sequence) and not isinstance(cells, str) else short_repr(cells)
        raise UsageError.about(name, f"must be one score per row, got {count} for {len(keys)} rows")
    return [_number(name, cell, key) for cell, key in zip(cells, keys, strict=True)]


def _number(name: str, cell: Any, key: str) -> float:
    if cell is None or cell == "":
        return math.nan
    try:
        number = math.inf if isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if abs(number) > LARGEST:
        raise UsageError.about(
            name,
            f"must contain finite numbers of at most {LARGEST} in absolute value, or NaN where undefined, got "
            f"{short_repr(cell)} in row {key!r}",
        )
    return number


@dataclass(frozen=True)
class RowGroups:
    """Groups of rows, such as the captions of one image, which intervals sample together.

    Attributes:
        name: Name of the grouping, such as a column name.
        labels: Label of each row.
    """

    name: str
    labels: Sequence[str]

    @property
    def metadata(self) -> dict[str, Any]:
        """Entries of the groups in a file of scores: ``groups``, the label of each row, and ``grouped_by``."""
        return {GROUPS: list(self.labels), GROUPED_BY: self.name}


def groups_of_run(run: Run) -> RowGroups | None:
    """Return the groups of rows that a file of scores contains, or None without groups.

    Raises:
        UsageError: If there is not one label per row.
    """
    labels, name = run.get(GROUPS), run.get(GROUPED_BY)
    if labels is None or name is None:
        return None
    if not isinstance(labels, list) or len(labels) != len(run["ids"]) or any(map(is_unlabeled, labels)):
        raise UsageError.about(GROUPS, f"of a file of scores must have one label per row, got {short_repr(labels)}")
    return RowGroups(str(name), list(map(str, labels)))


def row_labels(rows: Rows, ids: Sequence[Any], column: str, option: str = "--groups") -> list[str]:
    """Return the label of each row from a column.

    Args:
        rows: Rows of a table.
        ids: Id of each row.
        column: Column name.
        option: Name of the option in messages.

    Raises:
        UsageError: If a row has no such cell, or the cell is null, NaN or blank.
    """
    for key, row in zip(row_keys(ids), rows, strict=True):
        if is_unlabeled(row.get(column)):
            raise UsageError(
                f"{option} must be a column with a value in every row, got {column!r}, which is missing in row {key!r}"
            )
    return [str(row[column]) for row in rows]


def labels_of(rows: Rows, ids: Sequence[Any], column: str, option: str = "--groups") -> dict[str, str]:
    """Return `row_labels` by key of the row."""
    return dict(zip(row_keys(ids), row_labels(rows, ids, column, option), strict=True))


def count_set_sizes(columns: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the numbers of candidates and references of each row.

    The result is empty unless both are lists in every row. Without references, their numbers are 0.
    """
    predictions, references = columns.get("predictions") or [], columns.get("references")
    sides = [predictions, [[]] * len(predictions) if references is None else without_blanks(references)]
    if not all(side and all(isinstance(cell, list) for cell in side) for side in sides):
        return []
    return [(len(candidates), len(references)) for candidates, references in zip(*sides, strict=True)]
