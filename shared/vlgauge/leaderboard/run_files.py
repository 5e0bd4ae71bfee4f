"""Scores as the files that `vlgauge score --output` writes and `vlgauge.leaderboard.read_run` reads."""

import io
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from vlgauge.core.results import INTERVAL, SIDECAR, to_json, without_nan

# What a text begins with that a spreadsheet takes for a formula, and one with apostrophes before it.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DIVIDES = re.compile(r"""[",;\t\r\n]""")

Columns = dict[str, list[Any]]


def run_files(record: Mapping[str, Any], ending: str) -> dict[str, str | bytes]:
    """Contents of the files of a result, by what is added to the name of the first.

    JSON has everything. The others are tables with one line per row; means, counts and signatures, which are no column,
    stand in the metadata of a Parquet file under the key ``vlgauge``, or in a JSON file beside the table.
    """
    if ending == ".json":
        return {"": to_json(record) + "\n"}
    columns, rest = columns_of(record)
    files: dict[str, str | bytes] = {"": TABLES[ending](columns, rest)}
    return files | ({SIDECAR: to_json(rest) + "\n"} if ending in WITH_SIDECAR else {})


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
    """Numbers in full, an empty cell for an undefined one; the quotes are those of RFC 4180.

    A spreadsheet takes a text for a formula that begins as one, and in some countries divides a row at semicolons: such
    a text gets an apostrophe before it, which `as_kept` takes away, and one with a semicolon quotes around it.
    """
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(_csv_cell, row)) + "\n" for row in rows)


def _csv_cell(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if not isinstance(cell, str):
        return repr(cell)
    text = f"'{cell}" if _is_formula(cell) else cell
    return '"' + text.replace('"', '""') + '"' if _DIVIDES.search(text) else text


def as_kept(cell: Any) -> Any:
    """What stood in a cell of a table before it was written for spreadsheets."""
    return cell[1:] if isinstance(cell, str) and cell.startswith("'") and _is_formula(cell[1:]) else cell


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet takes a text for a formula, or did without apostrophes before it; a number is none."""
    return _FORMULA.match(text) is not None and not _NUMBER.fullmatch(text.lstrip("'"))


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


TABLES: dict[str, Callable[[Columns, Mapping[str, Any]], str | bytes]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
RESULT_ENDINGS = (".json", *TABLES)
WITH_SIDECAR = (".csv", ".jsonl")
