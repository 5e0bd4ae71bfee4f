"""Columns of a table that metrics use: named by the user, found by name, or suggested in an error message."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from vlgauge.core.errors import UsageError, as_option
from vlgauge.core.files import first_repeated
from vlgauge.core.results import row_keys
from vlgauge.core.validation import is_missing, short_repr, suggest_word, warn
from vlgauge.families.set_sizes import sample_captions
from vlgauge.inputs.datasets.kinds import MEDIA_COLUMNS
from vlgauge.inputs.tables.files import (
    MissingColumnError,
    Rows,
    check_present_texts,
    take_column,
    take_columns,
    warn_of_empty_cells,
)
from vlgauge.leaderboard.runs import RowGroups, row_labels

if TYPE_CHECKING:
    from vlgauge.families.base import Metric
    from vlgauge.families.base.columns import Column

TEXT_WIDTH = 60

Titles = Mapping[str, str | None]
"""Column titles in a table by column name. None for columns that the user does not name."""


def read_columns(rows: Rows, metrics: Sequence[Metric], titles: Titles) -> dict[str, list[Any] | None]:
    """Read the cells of every column that a metric has.

    Returns:
        Cells by column name. None for optional columns that do not exist.

    Raises:
        ValueError: If a required column is missing, or a title is passed for a column that no metric has.
    """
    every = [column for metric in metrics for column in metric.columns]
    for name, title in titles.items():
        if title is not None and name not in {column.name for column in every}:
            has = ", ".join(dict.fromkeys(column.name for column in every))
            names = " and ".join(metric.name for metric in metrics)
            raise UsageError(f"{as_option(name)} is not supported by {names}; used columns: {has}")
    cells: dict[str, list[Any] | None] = {}
    for column in sorted(every, key=lambda column: column.optional):
        if column.name in cells:
            continue
        title = titles.get(column.name)
        if title is None and column.optional and column.name not in rows[0]:
            cells[column.name] = None
            continue
        try:
            cells[column.name] = take_columns(rows, title or column.name)
        except MissingColumnError as error:
            raise MissingColumnError(f"{error}; {_remedy(rows, column, metrics, titles)}") from None
        if column.name == "predictions":
            check_present_texts(rows, title or column.name)
        if column.name in ("predictions", "references"):
            warn_of_empty_cells(rows, title or column.name, are_scored=column.name == "predictions")
    return cells


def _remedy(rows: Rows, column: Column, metrics: Sequence[Metric], titles: Titles) -> str:
    """Return a hint for a missing column that lists possible columns, each with its first cell."""
    from vlgauge.api.suggestions import suggest_columns  # imports the columns of all metrics

    has_video = column.name == "images" and "videos" in rows[0] and all("video" in one.configs for one in metrics)
    instead = f"score the videos with {as_option('config', 'video')}, or " if has_video else ""
    taken = {title for title in titles.values() if title} | {one.name for metric in metrics for one in metric.columns}
    if found := suggest_columns(rows, column, taken):
        named = [f"{as_option(column.name, title)} ({shorten(short_repr(first))})" for title, first in found]
        if len(found) > 1 and column.name == "references":
            named.append(f"{as_option(column.name, ','.join(title for title, _ in found))} for all of them")
        return f"{instead}choose with {' or '.join(named)}"
    is_of_image = column.name == "references" and "image_id" in rows[0]
    by_image = f", or pass the captions of each image with {as_option('annotations', 'FILE')}" if is_of_image else ""
    return f"{instead}choose with {as_option(column.name, 'COLUMN')}{by_image}"


def row_ids(rows: Rows, title: str | None) -> list[Any]:
    """Return the IDs of the rows: a named column, the column "id" if every row has it, or otherwise the row numbers.

    Raises:
        MissingColumnError: If a row lacks the named column.
    """
    if title is None and not all("id" in row for row in rows):
        return list(range(len(rows)))
    return get_named_column(rows, title or "id", "id")


def get_named_column(rows: Rows, title: str, argument: str) -> list[Any]:
    """Return the cells of a column that the user named with an argument.

    Returns:
        The cells, one per row.

    Raises:
        MissingColumnError: If a row lacks the column. The message names the argument and suggests similar column names.
    """
    try:
        return take_column(rows, title)
    except MissingColumnError as error:
        near = suggest_word(title, map(str, rows[0]))
        raise MissingColumnError(f"{error}; choose another with {as_option(argument)}{near and ', ' + near}") from None


def row_groups(rows: Rows, ids: Sequence[Any], title: str | None) -> RowGroups | None:
    """Return the groups of rows that belong together according to a column. None without a column.

    Raises:
        UsageError: If a row has no label in the column.
    """
    if title is None:
        return None
    get_named_column(rows, title, "groups")
    return RowGroups(title, row_labels(rows, ids, title, as_option("groups")))


def warn_of_repeated(ids: Sequence[Any], columns: Mapping[str, Sequence[Any] | None], *, grouped: bool = False) -> None:
    """Warn that rows share an ID, an image or a video.

    Scores with repeated IDs cannot be joined with other scores. If no groups are named (`grouped`), intervals and tests
    treat rows as independent that depend on each other.

    Args:
        ids: IDs of the rows.
        columns: Cells by column name, None for a column that does not exist.
        grouped: Whether rows that belong together are resampled together.

    Raises:
        UsageError: If an ID is not a JSON value.
    """
    keys = row_keys(ids)
    together = (
        "intervals are too narrow and p-values too small if dependent rows are resampled independently; pass the "
        f"column of their groups as {as_option('groups')}"
    )
    if (first := first_repeated(keys)) is not None:
        rows = len(keys) - len(set(keys))
        warn(
            f"ids should name each row once, {rows} of {len(keys)} rows {'has' if rows == 1 else 'have'} the id of "
            f"another, the first is {short_repr(first)}; every row is scored, but rows cannot be joined by these ids"
            + ("" if grouped else f", and {together}")
        )
        return
    for name in MEDIA_COLUMNS:
        counts = Counter(filter(None, map(_identify_media, columns.get(name) or ())))
        shared = sum(count for count in counts.values() if count > 1)
        if shared and not grouped:
            warn(f"{shared} of {len(ids)} rows share their {name.removesuffix('s')} with another row: {together}")
            return


def _identify_media(cell: Any) -> str:
    """Return a key that identifies an image or a video. Empty for none."""
    if is_missing(cell):
        return ""
    if isinstance(cell, (list, tuple)):
        return "\n".join(map(_identify_media, cell))
    if isinstance(cell, Mapping):
        return _identify_media(cell.get("path") or cell.get("bytes") or "")
    if isinstance(cell, bytes):
        return hashlib.sha256(cell).hexdigest()
    return str(cell) if isinstance(cell, (str, PathLike)) else f"object {id(cell)}"


def draw_captions(
    columns: dict[str, list[Any] | None], ids: Sequence[Any], metrics: Sequence[Metric], number: int | None, seed: int
) -> list[int]:
    """Sample a fixed number of captions per row, in place, if a number is passed.

    Returns:
        Number of captions of each row before sampling. Empty if no number is passed.

    Raises:
        ValueError: If a metric does not use caption sets, or a row has fewer captions.
    """
    if number is None:
        return []
    name = as_option("captions_per_row")
    if others := [metric.name for metric in metrics if not metric.compares_sets]:
        raise UsageError(f"{name} requires metrics of caption sets, got {', '.join(others)}")
    predictions = columns["predictions"] or []
    there = [len(captions) for captions in predictions]
    if (least := min(there)) < number:
        raise UsageError(f"{name} must be at most the smallest number of captions per row, {least}, got {number}")
    columns["predictions"] = sample_captions(predictions, row_keys(ids), [number] * len(there), seed)
    return there


def shorten(text: Any) -> str:
    """Return the beginning of a prediction in one line."""
    if isinstance(text, Mapping):
        joined = ", ".join(f"{name} {value}" for name, value in text.items())
    else:
        joined = text if isinstance(text, str) else " | ".join(map(str, text))
    joined = " ".join(joined.split())
    return joined if len(joined) <= TEXT_WIDTH else joined[: TEXT_WIDTH - 3] + "..."
