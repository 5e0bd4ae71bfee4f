"""Files that commands write: refused before the work if they cannot be, complete as soon as they are there."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.files import STDIN
from vlgauge.results import INTERVAL, SIDECAR, printable, to_json, without_nan
from vlgauge.writing import checked_target, write

JSON = (".json",)

# Spreadsheets compute a cell that begins so.
_FORMULA = ("=", "+", "-", "@")

Columns = dict[str, list[Any]]


def check_target(
    target: str | None,
    sources: Sequence[str],
    option: str = "--output",
    endings: Sequence[str] = JSON,
    beside: str = "",
) -> None:
    """Refuse a file that cannot be written, before the work is done.

    Args:
        target: The file, None for none.
        sources: The inputs, ``"-"`` for standard input.
        option: What names the file.
        endings: What its name may end in.
        beside: Ending of a second file, which is written beside it.

    Raises:
        ValueError: If its ending is unknown, its folder missing or closed, or it is an input.
    """
    if target is None:
        return
    for name in (target, f"{target}{beside}"):
        checked_target(name, option, [source for source in sources if source != STDIN])
    if Path(target).suffix.lower() not in endings:
        known = endings[0] if len(endings) == 1 else f"one of {', '.join(endings)}"
        raise ValueError(f"{option} must end in {known}, got {target!r}")


def check_result_target(target: str | None, source: str, *, details: bool = False) -> None:
    """Refuse a file that the result of `vlgauge score` cannot be written to, before the work is done.

    Raises:
        ValueError: As `check_target`, or if a table should hold details.
    """
    ending = "" if target is None else Path(target).suffix.lower()
    if details and ending in _TABLES:
        raise ValueError(f"--output must end in .json next to --details, which fit no table, got {target!r}")
    check_target(target, [source], endings=RESULT_ENDINGS, beside=SIDECAR if ending in _WITH_SIDECAR else "")


def write_output(target: str | Path, content: str | bytes, option: str = "--output") -> None:
    """Write the file of an option and say so; it appears, or is replaced, when it is complete."""
    write(target, content, option)
    sys.stderr.write(f"wrote {printable(str(target))}\n")


def write_json(target: str | Path, record: Mapping[str, Any]) -> None:
    """Write a record as JSON."""
    write_output(target, to_json(record) + "\n")


def write_result(target: str, record: Mapping[str, Any]) -> None:
    """Write the result of `vlgauge score` in the form that the ending of the file names.

    JSON has everything. The others are tables with one row per example; means, counts and signatures, which are no
    column, stand in the metadata of a Parquet file under the key ``vlgauge``, or in a JSON file beside the table.

    Args:
        target: File whose name ends in one of `RESULT_ENDINGS`.
        record: ``ids`` and the results of the metrics.
    """
    ending = Path(target).suffix.lower()
    if ending == ".json":
        write_json(target, record)
        return
    columns, rest = columns_of(record)
    write_output(target, _TABLES[ending](columns, rest))
    if ending in _WITH_SIDECAR:
        write_json(f"{target}{SIDECAR}", rest)
    if ending == ".csv" and any(isinstance(cell, str) and cell.startswith(_FORMULA) for cell in columns["id"]):
        signs = " ".join(_FORMULA)
        sys.stderr.write(f"{target} has ids that begin with one of {signs}, which a spreadsheet takes for formulas\n")


def columns_of(record: Mapping[str, Any]) -> tuple[Columns, dict[str, Any]]:
    """The columns of the table, and what is none.

    A column is a list with one number or text per example; ``<name>_scores`` is called ``<name>``, as the metric. The
    two ends of an interval are none, also with two examples.
    """
    ids = record["ids"]
    columns: Columns = {"id": [_id(one) for one in ids]}
    rest: dict[str, Any] = {}
    for key, value in record.items():
        per_example = isinstance(value, list) and len(value) == len(ids) and not key.endswith(INTERVAL)
        if per_example and all(isinstance(cell, (str, int, float, type(None))) for cell in value):
            if key != "ids":
                columns[key.removesuffix("_scores")] = value
        else:
            rest[key] = value
    return columns, rest


def _id(one: Any) -> Any:
    """An id as a cell; one that is no number or text as JSON. A character that no file can hold is spelled out."""
    if isinstance(one, (int, float)) and not isinstance(one, bool):
        return one
    text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _csv(columns: Columns, rest: Mapping[str, Any]) -> str:
    """Numbers in full, an empty cell for an undefined one; the quotes are those of RFC 4180."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_csv_cell(cell) for cell in row] for row in zip(*columns.values(), strict=True))
    return stream.getvalue()


def _csv_cell(cell: Any) -> Any:
    if isinstance(cell, float):
        return "" if math.isnan(cell) else repr(cell)
    return cell


def _jsonl(columns: Columns, rest: Mapping[str, Any]) -> str:
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return "".join(json.dumps(without_nan(row), allow_nan=False) + "\n" for row in rows)


def _parquet(columns: Columns, rest: Mapping[str, Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def array(cells: list[Any]) -> Any:
        try:
            # An undefined number is a missing one, as in the other forms.
            return pa.array(cells, from_pandas=True)
        except (pa.ArrowException, OverflowError):
            # Ids that are numbers here and texts there, or too large.
            return pa.array([str(cell) for cell in cells])

    table = pa.table({name: array(cells) for name, cells in columns.items()})
    stream = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"vlgauge": to_json(rest)}), stream)
    return stream.getvalue()


_TABLES: dict[str, Callable[[Columns, Mapping[str, Any]], str | bytes]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
RESULT_ENDINGS = (".json", *_TABLES)
_WITH_SIDECAR = (".csv", ".jsonl")
