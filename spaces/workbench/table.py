"""Columns of an uploaded table, with the images that it names."""

from collections.abc import Mapping
from typing import Any

from vlgauge.api.row_sources.tables import n_files_named
from vlgauge.core.errors import UsageError
from vlgauge.families.base import Metric
from vlgauge.inputs.tables.files import PICTURED, Rows
from vlgauge_workbench.inputs import locate_cell

NONE = "(none)"


def columns_of(
    metric: Metric, rows: Rows, chosen: Mapping[str, str], uploads: Mapping[str, str | None]
) -> dict[str, list[Any] | None]:
    """Return the cells of the columns of a metric, by name. None for an optional column that is not selected.

    A cell whose file is not found is an exception with the reason.

    Raises:
        UsageError: If a required column is not selected.
    """
    missing = [one.name for one in metric.columns if not one.optional and one.name not in chosen]
    if missing:
        raise UsageError(
            f"`{'` and `'.join(missing)}` must be columns of the file, but no column is selected; select them above"
        )
    found: dict[str, list[Any] | None] = {}
    for column in metric.columns:
        title = chosen.get(column.name)
        if title is None:
            found[column.name] = None
            continue
        cells = [row.get(title) for row in rows]
        if column.name in PICTURED:
            # Uploads have no folder, so a file name is ambiguous if the table has it in two folders.
            n_files = n_files_named(cells)
            own = {name: path if n_files.get(name, 0) < 2 else None for name, path in uploads.items()}
            cells = [_read_upload(cell, own, f"{column.name}[{i}]") for i, cell in enumerate(cells)]
        found[column.name] = cells
    return found


def _read_upload(cell: Any, uploads: Mapping[str, str | None], place: str) -> Any:
    try:
        return locate_cell(cell, uploads, place)
    except ValueError as error:
        return error
