"""File formats of scores that `vlgauge score --output` writes and `vlgauge.leaderboard.read_run` reads."""

import io
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from vlgauge.core.results import INTERVAL, SIDECAR, to_json, without_nan
from vlgauge.core.validation import is_missing

# Beginning of a string that a spreadsheet interprets as a formula, optionally after apostrophes.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DIVIDES = re.compile(r"""[",;\t\r\n]""")

Columns = dict[str, list[Any]]


def run_files(record: Mapping[str, Any], ending: str) -> dict[str, str | bytes]:
    """Return the contents of the files of a result, by the suffix added to the name of the first file.

    JSON contains everything. The other formats are tables with one line per row. Means, counts and signatures, which
    are not columns, are stored in the metadata of a Parquet file under the key ``vlgauge``, or in a JSON file next to
    the table.

    Args:
        record: Result with its ids.
        ending: File extension of the first file, one of `RESULT_ENDINGS`.
    """
    if ending == ".json":
        return {"": to_json(record) + "\n"}
    columns, rest = columns_of(record)
    files: dict[str, str | bytes] = {"": TABLES[ending](columns, rest)}
    return files | ({SIDECAR: to_json(rest) + "\n"} if ending in WITH_SIDECAR else {})


def columns_of(record: Mapping[str, Any]) -> tuple[Columns, dict[str, Any]]:
    """Split a result into the columns of a table and the remaining values.

    A column is a list with one number or string per example. ``<name>_scores`` is renamed to ``<name>``, the name of
    the metric. The two ends of an interval are not a column, even with two examples.

    Returns:
        The columns by name, and the other values by key.
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
    """Return an id as a cell.

    Ids other than numbers and strings are encoded as JSON. Characters that cannot be written to a file are escaped.
    """
    if isinstance(one, (int, float)) and not isinstance(one, bool):
        return one
    text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _csv(columns: Columns, rest: Mapping[str, Any]) -> str:
    """Return a table in CSV format, with numbers in full precision, empty cells for NaN, and quotes as in RFC 4180.

    A spreadsheet interprets a string that begins like a formula as one, and in some locales splits rows at semicolons.
    Therefore the former strings get a leading apostrophe, which `as_kept` removes, and strings with semicolons are
    quoted.
    """
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(_csv_cell, row)) + "\n" for row in rows)


def _csv_cell(cell: Any) -> str:
    if is_missing(cell):
        return ""
    if not isinstance(cell, str):
        return repr(cell)
    text = f"'{cell}" if is_formula(cell) else cell
    return '"' + text.replace('"', '""') + '"' if _DIVIDES.search(text) else text


def as_kept(cell: Any) -> Any:
    """Return the original value of a cell that may have been escaped for spreadsheets. Only strings can change."""
    return cell[1:] if isinstance(cell, str) and cell.startswith("'") and is_formula(cell[1:]) else cell


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet interprets a string as a formula, with or without leading apostrophes.

    Numbers are not formulas.
    """
    return _FORMULA.match(text) is not None and not _NUMBER.fullmatch(text.lstrip("'"))


def _jsonl(columns: Columns, rest: Mapping[str, Any]) -> str:
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return "".join(json.dumps(without_nan(row), allow_nan=False) + "\n" for row in rows)


def _parquet(columns: Columns, rest: Mapping[str, Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def array(cells: list[Any]) -> Any:
        try:
            # NaN becomes null, as in the other formats.
            return pa.array(cells, from_pandas=True)
        except (pa.ArrowException, OverflowError):
            # Ids may be a mix of numbers and strings, or too large.
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
