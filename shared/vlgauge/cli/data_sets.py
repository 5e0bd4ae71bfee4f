"""Rows of a Hub dataset, a WebDataset archive or a folder, selected by the options of the command."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields

from vlgauge.api import sources
from vlgauge.api.columns import COLUMNS
from vlgauge.api.row_sources import Origin, RowReader, Source
from vlgauge.api.row_sources.hub import PREFIX
from vlgauge.api.sources import collect_metadata, describe_skipped, groups_of, lines_of
from vlgauge.core.errors import UsageError
from vlgauge.families.base import Metric
from vlgauge.inputs.limits import RowLimits

__all__ = ["code_after", "collect_metadata", "groups_of", "lines_of", "record_origin", "rows_of", "source_of"]

MOSTLY_SKIPPED = 3
"""Exit code of a run that wrote its results but skipped more than half of the rows."""


def source_of(file: str, options: argparse.Namespace) -> Source:
    """Return the source that FILE names. See `vlgauge.api.sources.source_of`."""
    most_rows = None if options.limit is None else options.skip + options.limit
    chosen = {"revision": options.revision, "split": options.split, "most_rows": most_rows}
    return sources.source_of(file, limits=row_limits(options), **chosen)


def row_limits(options: argparse.Namespace) -> RowLimits:
    """Return the limits set by the options."""
    given = {limit.name: getattr(options, f"max_{limit.name}") for limit in fields(RowLimits)}
    return RowLimits(**{name: value for name, value in given.items() if value is not None})


def record_origin(options: argparse.Namespace, origin: Origin, file: str) -> None:
    """Set the record options to the dataset that the rows come from.

    Raises:
        UsageError: If an option names another dataset.
    """
    if not file.startswith(PREFIX):
        return
    if options.record is None:
        options.split = None  # the option selects the split of FILE in this case
        return
    own = {"dataset": origin.id, "dataset_config": origin.config, "dataset_revision": origin.revision}
    for name, value in (own | {"split": origin.split}).items():
        if getattr(options, name) not in (None, value):
            raise UsageError(
                f"--{name.replace('_', '-')} must be omitted or {value}, as in FILE, got {getattr(options, name)}"
            )
        setattr(options, name, value)


def rows_of(source: Source, metrics: Sequence[Metric], options: argparse.Namespace) -> RowReader:
    """Read the rows that can be scored. See `vlgauge.api.sources.rows_of`."""
    titles = {name: getattr(options, name) for name in (*COLUMNS, "id", "groups")}
    limits = row_limits(options)
    return sources.rows_of(source, metrics, titles, limits=limits, skip=options.skip, limit=options.limit)


def code_after(reader: RowReader) -> int:
    """Print the number of skipped rows as the last line of a run, and return its exit code.

    Rows whose score is undefined are not skipped.
    """
    if not reader.left_out:
        return 0
    sys.stderr.write(f"{describe_skipped(reader)}\n")
    return MOSTLY_SKIPPED if 2 * len(reader.left_out) > reader.n_read else 0
