"""Reading examples from JSONL, JSON, CSV or Parquet, with every cell as it stands in the file."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


def read_rows(path: str, file_format: str | None = None) -> Rows:
    """Rows of a file, or of standard input for ``"-"`` (JSONL unless told otherwise).

    Args:
        path: File whose ending tells the format: .jsonl, .json, .csv, .tsv or .parquet.
        file_format: Format, where the ending does not tell it.

    Raises:
        ValueError: If the format is unknown, a line is broken (the message names it), or there is no row.
        OSError: If the file cannot be read.
    """
    chosen = file_format or ("jsonl" if path == "-" else Path(path).suffix.lower().lstrip("."))
    if chosen not in READERS:
        raise ValueError(f"FILE must end in one of {', '.join(READERS)}, got {path!r}; or name it with --input-format")
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    rows = READERS[chosen](data)
    if not rows:
        raise ValueError(f"FILE must have at least one row, got none in {path!r}")
    return rows


def take_column(rows: Rows, column: str) -> list[Any]:
    """The cells of a column.

    Raises:
        ValueError: If a row lacks it; the message names the row and the columns that there are.
    """
    for number, row in enumerate(rows):
        if column not in row:
            there = ", ".join(map(str, row)) or "none"
            raise ValueError(f"FILE must have the column {column!r} in every row, row {number} has: {there}")
    return [row[column] for row in rows]


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"FILE must be UTF-8, got byte {data[error.start]:#04x} at position {error.start}") from None


def _record(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ValueError(f"FILE must hold JSON, got {error.msg} in {place}, column {error.colno}") from None
    if not isinstance(record, dict):
        raise ValueError(f"FILE must hold one JSON object per row, got {type(record).__name__} in {place}")
    return record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _refuse_repeated([name for name, _ in pairs])
    return dict(pairs)


def _read_jsonl(data: bytes) -> Rows:
    # Only "\n" ends a line of JSONL; splitlines() would also cut at U+2028 inside a string.
    lines = _text(data).split("\n")
    return [_record(line, f"line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def _read_json(data: bytes) -> Rows:
    try:
        content = json.loads(_text(data), object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ValueError(f"FILE must hold JSON, got {error.msg} in line {error.lineno}") from None
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise ValueError("FILE must hold a JSON list of objects, got something else; use JSONL for one object per line")
    return content


def _read_csv(data: bytes, delimiter: str = ",") -> Rows:
    # A story may be longer than the default limit of 131,072 characters.
    csv.field_size_limit(2**31 - 1)
    lines = csv.reader(io.StringIO(_text(data), newline=""), delimiter=delimiter, strict=True)
    try:
        titles = next(lines, [])
        _refuse_repeated(titles)
        return [_csv_row(titles, cells, number) for number, cells in enumerate(lines)]
    except csv.Error as error:
        raise ValueError(f"FILE must be CSV, got {error} in line {lines.line_num}") from None


def _csv_row(titles: list[str], cells: list[str], number: int) -> dict[str, Any]:
    # A blank line is a row whose only cell is empty.
    cells = cells or [""]
    if len(cells) != len(titles):
        raise ValueError(f"FILE must have as many cells as titles, got {len(cells)} for {len(titles)} in row {number}")
    return {title: _cell(cell) for title, cell in zip(titles, cells, strict=True)}


def _refuse_repeated(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"FILE must have each column once, got {name!r} more than once")


def _cell(cell: str) -> str | list[str]:
    """A cell that holds a JSON list of strings is that list; anything else, such as "[male] ran", stays text."""
    if cell.lstrip().startswith("["):
        try:
            value = json.loads(cell)
        except json.JSONDecodeError:
            return cell
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
    return cell


def _read_tsv(data: bytes) -> Rows:
    return _read_csv(data, "\t")


def _read_parquet(data: bytes) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_table(pa.BufferReader(data)).to_pylist())
    except pa.ArrowInvalid as error:
        raise ValueError(f"FILE must be a Parquet file, got one that fails with: {error}") from None


READERS: dict[str, Callable[[bytes], Rows]] = {
    "jsonl": _read_jsonl,
    "json": _read_json,
    "csv": _read_csv,
    "tsv": _read_tsv,
    "parquet": _read_parquet,
}
