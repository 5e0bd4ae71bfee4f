"""FILE that is no table: a data set of the Hub, a WebDataset archive, or a folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from vlgauge.base import Metric
from vlgauge.cli.scoring import COLUMNS
from vlgauge.media.tables import split_titles
from vlgauge.network import NetworkError
from vlgauge.progress import progress_bar
from vlgauge.results import printable
from vlgauge.row_sources import LeftOut, Origin, RowLimits, RowReader, Source, counted_reasons, guessed_titles
from vlgauge.row_sources.grouped_files import FolderRows, tar_rows
from vlgauge.row_sources.hub import PREFIX, HubRows, pinned
from vlgauge.settings import shown

_BATCH = 16
_MOST_REASONS = 10


def source_of(file: str, options: argparse.Namespace) -> Source:
    """The source that FILE names.

    Raises:
        ValueError: If it is none, or an option is missing or does not belong to it.
        OSError: If it cannot be had.
    """
    if file.startswith(PREFIX):
        identity, _, config = file.removeprefix(PREFIX).partition(":")
        return HubRows(pinned(identity, options.revision), config or None, options.split)
    if options.revision is not None:
        raise ValueError(f"--revision must come with a data set of the Hub, got the file {file!r}")
    limits = row_limits(options)
    return FolderRows(file, limits) if Path(file).is_dir() else tar_rows(file, limits)


def row_limits(options: argparse.Namespace) -> RowLimits:
    """The limits of the options."""
    given = {limit.name: getattr(options, f"max_{limit.name}") for limit in fields(RowLimits)}
    return RowLimits(**{name: value for name, value in given.items() if value is not None})


def record_origin(options: argparse.Namespace, origin: Origin, file: str) -> None:
    """Let a record name the data set that the rows come from.

    Raises:
        ValueError: If an option names another one.
    """
    if not file.startswith(PREFIX):
        return
    if options.record is None:
        options.split = None  # it is of FILE then, not of a record
        return
    own = {"dataset": origin.id, "dataset_config": origin.config, "dataset_revision": origin.revision}
    for name, value in (own | {"split": origin.split}).items():
        if getattr(options, name) not in (None, value):
            raise ValueError(f"--{name.replace('_', '-')} must be left out or {value}, which FILE is, got another one")
        setattr(options, name, value)


def rows_of(source: Source, metrics: Sequence[Metric], options: argparse.Namespace) -> RowReader:
    """The rows that can be scored, and the others.

    Raises:
        ValueError: If a column is missing, or no row can be scored.
        NetworkError: If the way to the Hub breaks; it says from which row on.
    """
    wanted = [column for metric in metrics for column in metric.columns]
    titles = titles_of(source, wanted, {name: getattr(options, name) for name in (*COLUMNS, "id")})
    reader = RowReader(source, wanted, titles, row_limits(options), next_row=options.skip)
    with progress_bar(options.limit or 0, "rows read", False if options.no_progress else None) as report:
        left = options.limit
        while not reader.is_done and left != 0:
            try:
                n_read = reader.read(_BATCH if left is None else min(_BATCH, left))
            except NetworkError as error:
                row = reader.next_row
                again = (
                    f"; score those before row {row} with --limit {row - options.skip}" if row > options.skip else ""
                )
                raise NetworkError(f"{error}{again}; the others begin with --skip {row}") from error
            left = None if left is None else left - n_read
            report(n_read)
    if not reader.ids:
        why = "; ".join(reasons(reader.left_out)) or f"there is none from number {options.skip} on"
        raise ValueError(f"FILE must have a row that can be scored, got none ({why})")
    return reader


def titles_of(source: Source, wanted: Sequence[Any], given: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Titles by name of the column: those that the options name, the others guessed, which is said."""
    read = {column.name for column in wanted} | {"id"}
    for name, title in given.items():
        if title is not None and name not in read:
            has = ", ".join(dict.fromkeys(column.name for column in wanted))
            raise ValueError(f"--{name} must be left out, as no such column is read but {has}")
    titles = guessed_titles(wanted, source.kinds)
    guessed = [f"--{name} {','.join(titles[name])}" for name in titles if titles[name] and given.get(name) is None]
    if guessed:
        sys.stderr.write(f"columns taken: {printable(' '.join(guessed))}\n")
    return titles | {name: split_titles(title, source.kinds) for name, title in given.items() if title is not None}


def told(reader: RowReader) -> dict[str, Any]:
    """What a result says of its rows: the data set, and those that were left out."""
    return {"dataset": asdict(reader.source.origin), "left_out": [asdict(one) for one in reader.left_out]}


def lines_of(reader: RowReader) -> list[str]:
    """The same, as lines below the table."""
    origin = reader.source.origin
    parts = [origin.id, origin.config, origin.split, origin.revision and f"commit {origin.revision}"]
    n = len(reader.ids) + len(reader.left_out)
    head = f"{', '.join(part for part in parts if part)}: {len(reader.ids)} of {n} rows scored"
    return [printable(line) for line in (head, *reasons(reader.left_out))]


def reasons(left_out: Sequence[LeftOut]) -> list[str]:
    """Why rows were left out and which was the first, the most frequent reason first."""
    firsts: dict[str, str] = {}
    for one in left_out:
        firsts.setdefault(one.reason, shown(one.id))
    counted = counted_reasons(left_out)
    lines = [
        f"{count} left out, {'' if count == 1 else 'the first is '}row {firsts[reason]}: {reason}"
        for reason, count in counted[:_MOST_REASONS]
    ]
    rest = sum(count for _, count in counted[_MOST_REASONS:])
    return [*lines, f"{rest} left out for other reasons (--output FILE has all)"] if rest else lines
