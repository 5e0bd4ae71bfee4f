"""Rows of a Hub dataset, a WebDataset archive, or a folder."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vlgauge.api.row_sources import RowReader, SkippedRow, Source, guess_titles, skip_reasons
from vlgauge.api.row_sources.grouped_files import tar_rows
from vlgauge.api.row_sources.hub import PREFIX, HubRows, pin_dataset
from vlgauge.api.row_sources.tables import folder_rows
from vlgauge.api.scored import SelectedRows
from vlgauge.core.errors import NetworkError, UsageError, as_option
from vlgauge.core.progress import progress_bar
from vlgauge.core.results import printable
from vlgauge.core.validation import short_repr
from vlgauge.families.base import Metric
from vlgauge.inputs.limits import RowLimits
from vlgauge.inputs.tables.files import name_of_rows, split_titles
from vlgauge.leaderboard.runs import RowGroups

_BATCH = 16
_MOST_REASONS = 10


def source_of(
    file: str, *, revision: str | None, split: str | None, limits: RowLimits, skip: int = 0, limit: int | None = None
) -> Source:
    """Return the source with a name, such as hub:OWNER/NAME.

    Args:
        file: Name of a dataset of the Hub, or path of an archive or folder.
        revision: Commit, tag or branch of the dataset.
        split: Split of the dataset.
        limits: Maximum size of a row.
        skip: Number of rows before the first one that will be read.
        limit: Number of rows that will be read. Further rows of an archive are not listed.

    Raises:
        ValueError: If the source does not exist, or an argument is missing or not supported by it.
        OSError: If the source cannot be accessed.
    """
    if file.startswith(PREFIX):
        identity, _, config = file.removeprefix(PREFIX).partition(":")
        return HubRows(pin_dataset(identity, revision), config or None, split)
    if revision is not None:
        raise UsageError(f"{as_option('revision')} requires a dataset of the Hub, got the file {file!r}")
    if Path(file).is_dir():
        return folder_rows(file, limits)
    return tar_rows(file, limits, None if limit is None else skip + limit)


def rows_of(
    source: Source,
    metrics: Sequence[Metric],
    titles: Mapping[str, str | None],
    *,
    limits: RowLimits,
    skip: int = 0,
    limit: int | None = None,
    progress: bool | None = None,
) -> RowReader:
    """Read the rows that can be scored, and the reasons why others cannot.

    Raises:
        ValueError: If a column is missing, or no row can be scored.
        NetworkError: If the connection to the Hub fails. The message contains the row from which to continue.
    """
    wanted = [column for metric in metrics for column in metric.columns]
    reader = RowReader(source, wanted, titles_of(source, wanted, titles), limits, next_row=skip)
    reader.stop_row = None if limit is None else skip + limit
    with progress_bar(limit or 0, "rows read", progress) as report:
        left = limit
        while not reader.is_done and left != 0:
            try:
                n_read = reader.read(_BATCH if left is None else min(_BATCH, left))
            except NetworkError as error:
                row = reader.next_row
                before = f"; score those before row {row} with {as_option('limit')} {row - skip}" if row > skip else ""
                again = f"{before}; the others begin with {as_option('skip')} {row}"
                raise NetworkError(f"{error}{again}") from error
            left = None if left is None else left - n_read
            report(n_read)
    if not reader.ids:
        why = "; ".join(reasons(reader.left_out)) or f"there is no row from number {skip} on"
        raise UsageError(f"{name_of_rows()} must have a row that can be scored, got none ({why})")
    return reader


def titles_of(source: Source, wanted: Sequence[Any], given: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Return the titles of each column. Titles not passed are guessed, and printed to standard error.

    Raises:
        UsageError: If a title is passed for a column that no metric uses.
    """
    read = {column.name for column in wanted} | {"id", "groups"}
    for name, title in given.items():
        if title is not None and name not in read:
            has = ", ".join(dict.fromkeys(column.name for column in wanted))
            raise UsageError(f"{as_option(name)} is not supported by the metrics; used columns: {has}")
    titles = guess_titles(wanted, source.kinds)
    guessed = [as_option(name, ",".join(titles[name])) for name in titles if titles[name] and given.get(name) is None]
    if guessed:
        sys.stderr.write(f"columns used: {printable(' '.join(guessed))}\n")
    return titles | {name: split_titles(title, source.kinds) for name, title in given.items() if title is not None}


def select_rows(reader: RowReader) -> SelectedRows:
    """Return the rows that were read, with metadata for the result: their ``dataset``, and the ``left_out`` rows."""
    metadata = {"dataset": asdict(reader.source.origin), "left_out": [asdict(one) for one in reader.left_out]}
    return SelectedRows(reader.ids, reader.columns, metadata=metadata, groups=groups_of(reader))


def groups_of(reader: RowReader) -> RowGroups | None:
    """Return the groups of rows that belong together, by the column titled "groups". None without this column."""
    titles = reader.titles.get("groups")
    return RowGroups(titles[0], reader.groups) if titles else None


def lines_of(reader: RowReader) -> list[str]:
    """Return the dataset and the rows that were left out as lines below the table."""
    origin = reader.source.origin
    parts = [origin.id, origin.config, origin.split, origin.revision and f"commit {origin.revision}"]
    head = f"{', '.join(part for part in parts if part)}: {len(reader.ids)} of {reader.n_read} rows scored"
    return [printable(line) for line in (head, *reasons(reader.left_out))]


def describe_skipped(reader: RowReader) -> str:
    """Return a line with the number of skipped rows."""
    return f"{len(reader.left_out)} of {reader.n_read} rows were skipped and are not included in any result"


def reasons(left_out: Sequence[SkippedRow]) -> list[str]:
    """Return the reasons why rows were left out with the first row of each, the most frequent reason first."""
    firsts: dict[str, str] = {}
    for one in left_out:
        firsts.setdefault(one.reason, short_repr(one.id))
    counted = skip_reasons(left_out)
    lines = [
        f"{count} left out, {'' if count == 1 else 'the first is '}row {firsts[reason]}: {reason}"
        for reason, count in counted[:_MOST_REASONS]
    ]
    rest = sum(count for _, count in counted[_MOST_REASONS:])
    return [*lines, f"{rest} left out for other reasons (--output FILE has all)"] if rest else lines
