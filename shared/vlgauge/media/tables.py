"""Reading examples from JSONL, JSON, CSV, Parquet or lines of text, with every cell as it stands in the file.

Relative paths of images and videos in such a file start at its folder; `located` makes them absolute.
"""

import io
import json
import math
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

from vlgauge.errors import UsageError
from vlgauge.files import (
    BYTES_PER_CELL,
    STDIN,
    check_objects,
    check_row,
    csv_rows,
    current_limits,
    decoded,
    first_repeated,
    is_address,
    json_bytes,
    limited,
    limits,
    parse_json,
    read_bytes,
    refuse,
    unpacked_limit,
)
from vlgauge.installed import importing
from vlgauge.media.caption_files import add_columns, rows_of_object
from vlgauge.sandbox import is_boxed, run
from vlgauge.sandbox.parquet import parquet_rows
from vlgauge.settings import listed, warn

Rows = list[dict[str, Any]]

FILE = "FILE"
_CALLED: ContextVar[str] = ContextVar("_CALLED", default=FILE)
PICTURED = ("images", "videos")
_SHEETS = ("xls", "xlsm", "ods")
_SHOWN_COLUMNS, _SHOWN_CHARACTERS = 10, 60

# A list or tuple of strings as Python or numpy writes it, the latter without commas; nothing of it is ever evaluated.
_QUOTED = r"""(?:'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+")"""
_PYTHON_LIST = re.compile(rf"\[\s*+(?:{_QUOTED}(?:\s*+,?\s*+{_QUOTED})*+\s*+,?\s*+)?\]", re.DOTALL)
_PYTHON_TUPLE = re.compile(rf"\(\s*+(?:{_QUOTED}\s*+,\s*+(?:{_QUOTED}\s*+,?\s*+)*+)?\)", re.DOTALL)
_NOTHING = ("", "nan", "null", "none")
_LONGEST_LIST = 10**6  # characters of a cell that is looked at


@contextmanager
def rows_called(name: str) -> Iterator[None]:
    """Let messages call the rows by a name, such as that of an argument; they are FILE, as of commands, without."""
    token = _CALLED.set(name)
    try:
        yield
    finally:
        _CALLED.reset(token)


def name_of_rows() -> str:
    """What messages call the rows."""
    return _CALLED.get()


class CsvRow(dict[str, Any]):
    """A row that knows the line of its file at which it ends, for messages; row 0 is line 2, below the titles."""

    __slots__ = ("line",)
    line: int


def row_place(row: Mapping[str, Any], number: int) -> str:
    """Where a row stands: "row 3", of a CSV file "row 3 (line 5)"."""
    return f"row {number} (line {row.line})" if isinstance(row, CsvRow) else f"row {number}"


def read_rows(path: str, file_format: str | None = None) -> Rows:
    """Rows of a file, or of standard input for ``"-"`` (JSONL unless told otherwise).

    Args:
        path: File whose ending tells the format: .jsonl, .json, .csv, .tsv, .parquet or .txt.
        file_format: Format, where the ending does not tell it.

    Raises:
        ValueError: If the format is unknown, a line is broken (the message names it), there is no row, or it goes
            beyond the limits of `vlgauge.files`.
        OSError: If the file cannot be read.
    """
    chosen = file_format or ("jsonl" if path == STDIN else Path(path).suffix.lower().lstrip("."))
    if chosen not in READERS:
        if path != STDIN:
            Path(path).stat()  # a file that is not there has no wrong ending
        if Path(path).is_dir():
            raise UsageError(f"{name_of_rows()} must be a file, got the folder {path!r}")
        hint = "save the sheet as CSV" if chosen in _SHEETS else "or name it with --input-format"
        raise UsageError(f"{name_of_rows()} must end in one of {', '.join(READERS)}, got {path!r}; {hint}")
    if chosen == "xlsx" and is_boxed():
        raise UsageError(f"{name_of_rows()} must be CSV, JSON or Parquet where it is not trusted, got {path!r}")
    data = read_bytes(path, name_of_rows())
    rows = _boxed_rows(data, path, chosen) if is_boxed() and chosen != "parquet" else READERS[chosen](data, path)
    rows = add_columns(rows)
    if not rows:
        raise UsageError(f"{name_of_rows()} must have at least one row, got none in {path!r}")
    return rows


# -- In a worker ------------------------------------------------------------------------------------------------------
_ROWS_AT_A_TIME = 4096
# Bytes of a result by those of the file: a character may be written with six, and rows have brackets.
_MOST_PER_BYTE, _MOST_ANYWAY = 6, 2**24


def rows_of_file(settings: dict[str, Any], data: bytes) -> Iterator[tuple[None, bytes]]:
    """Yield the rows of a table, some at a time: titles if all have the same, lines of a CSV file, and cells."""
    with limits(**settings["limits"]):
        rows = READERS[settings["format"]](data, settings["path"])
    titles = list(rows[0]) if rows and settings["format"] in _TITLED else None
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        some = rows[start : start + _ROWS_AT_A_TIME]
        lines = [row.line for row in some if isinstance(row, CsvRow)]
        cells = some if titles is None else [list(row.values()) for row in some]
        told = json.dumps([titles, lines, cells], ensure_ascii=False, separators=(",", ":"))
        yield None, told.encode("utf-8", "surrogatepass")


_TITLED = ("csv", "tsv", "txt")


def _boxed_rows(data: bytes, path: str, file_format: str) -> Rows:
    rows: Rows = []
    settings = {"format": file_format, "path": path, "limits": vars(current_limits())}
    most = _MOST_PER_BYTE * len(data) + _MOST_ANYWAY
    subject = f"{name_of_rows()}, {path!r},"
    for part in run("vlgauge.media.tables:rows_of_file", settings, data, subject=subject, most_bytes=most):
        titles, lines, cells = json.loads(part.body)
        some = cells if titles is None else [dict(zip(titles, row, strict=True)) for row in cells]
        rows += [_with_line(row, line) for row, line in zip(some, lines, strict=True)] if lines else some
    return rows


def _with_line(row: dict[str, Any], line: int) -> CsvRow:
    placed = CsvRow(row)
    placed.line = int(line)
    return placed


class MissingColumn(UsageError):
    """A column that not every row has."""


def take_column(rows: Rows, column: str) -> list[Any]:
    """The cells of a column.

    Raises:
        MissingColumn: If a row lacks it; the message names the row and the columns that there are.
        ValueError: If a cell is a list as Python writes it.
    """
    for number, row in enumerate(rows):
        if column not in row:
            there = ", ".join(f"{title:.{_SHOWN_CHARACTERS}}" for title in map(str, [*row][:_SHOWN_COLUMNS])) or "none"
            more = f" and {len(row) - _SHOWN_COLUMNS} more" if len(row) > _SHOWN_COLUMNS else ""
            raise MissingColumn(
                f"{name_of_rows()} must have the column {column!r} in every row, row {number} has: {there}{more}"
            )
        if is_python_list(row[column]):
            place = f"in the column {column!r:.{_SHOWN_CHARACTERS}}, {row_place(row, number)}"
            raise UsageError(f"{name_of_rows()} {NO_PYTHON_LIST} {place}; {AS_JSON}, or save JSONL or Parquet")
    return [row[column] for row in rows]


def warn_of_empty_cells(rows: Rows, title: str, *, are_scored: bool = True) -> None:
    """Say that texts are empty, or in a CSV file the word for nothing, as a program that saved a table writes them.

    An empty caption is one that a system may give. An empty reference is none: `without_blanks` leaves it out.
    """
    titles = split_titles(title, rows[0])
    for one in titles:
        found = [number for number, row in enumerate(rows) if _says_nothing(row[one], isinstance(row, CsvRow))]
        empty = [number for number in found if not rows[number][one].strip()]
        words = [number for number in found if rows[number][one].strip()]
        for numbers, are in ((empty if are_scored else [], "empty"), (words, "the word NaN, null or None")):
            if numbers:
                warn(
                    f"{name_of_rows()} has {len(numbers)} of {len(rows)} cells in the column "
                    f"{one!r:.{_SHOWN_CHARACTERS}} that are {are}, the first in "
                    f"{row_place(rows[numbers[0]], numbers[0])}; they are scored as such texts; leave the rows out "
                    "where nothing was written"
                )


def refuse_absent_texts(rows: Rows, title: str) -> None:
    """Refuse rows without a text, null or NaN, as a program writes them that left them out."""
    for one in split_titles(title, rows[0]):
        absent = [number for number, row in enumerate(rows) if is_missing(row[one])]
        if absent:
            first = rows[absent[0]]
            named = f" (id {first['id']!r:.{_SHOWN_CHARACTERS}})" if "id" in first else ""
            raise UsageError(
                f"{name_of_rows()} must have a text in every row of the column {one!r:.{_SHOWN_CHARACTERS}}, got null "
                f"or NaN in {len(absent)} of {len(rows)}, the first in {row_place(first, absent[0])}{named}; write "
                "the text, even if it is empty, or leave the rows out of every system's file"
            )


def _says_nothing(cell: Any, is_csv: bool) -> bool:
    return isinstance(cell, str) and cell.strip().lower() in (_NOTHING if is_csv else ("",))


NO_PYTHON_LIST = "must have lists of texts as JSON, got one as Python prints it, ['...', '...'],"
AS_JSON = "read it by ast.literal_eval and write it by json.dumps"


def reads_as_list(text: Any) -> bool:
    """Whether a text is a list or tuple of strings as Python, numpy or JSON writes one; "[laughs]" is none."""
    if not isinstance(text, str) or len(text) > _LONGEST_LIST:
        return False
    form = {"[": _PYTHON_LIST, "(": _PYTHON_TUPLE}.get(text.lstrip()[:1])
    return form is not None and form.fullmatch(text.strip()) is not None


def is_python_list(cell: Any) -> bool:
    """Whether a cell is the text of a list as `pandas.DataFrame.to_csv` writes one, which is no JSON."""
    return reads_as_list(cell) and isinstance(_cell(cell), str)


def refuse_lists_as_text(name: str, rows: Sequence[Any], *, may_be_texts: bool = False) -> None:
    """Refuse a column of lists that became texts, as `pandas.read_csv` gives them back; warn of a few of them.

    A row of one such text in a list counts as well. A caption may happen to read as a list, most of them do not.

    Args:
        name: Of the column, for messages.
        rows: Its cells, of any form.
        may_be_texts: Whether to warn only, since a model may have written so, and the column takes no lists.

    Raises:
        UsageError: If more than half of the rows read as lists or tuples of strings.
    """
    texts = [row[0] if isinstance(row, (list, tuple)) and len(row) == 1 else row for row in rows]
    found = [row for row, text in enumerate(texts) if reads_as_list(text)]
    if not found:
        return
    told = f"{len(found)} of {len(texts)} rows that read as a list of texts, the first, in row {found[0]}, is "
    told += f"{texts[found[0]]!r:.{_SHOWN_CHARACTERS}}"
    if 2 * len(found) > len(texts) and not may_be_texts:
        raise UsageError(f"`{name}` must have texts or lists of texts, got {told}; read them by ast.literal_eval first")
    warn(f"`{name}` has {told}; each is scored as one text; read such texts by ast.literal_eval first")


def without_blanks(rows: Sequence[Any]) -> list[Any]:
    """Rows of references without those that are empty or white space; a row that is no text and no list stays."""
    found: list[Any] = []
    for row in rows:
        texts = [row] if isinstance(row, str) else listed(row)
        is_blank = [isinstance(text, str) and not text.strip() for text in texts or ()]
        kept = [text for text, blank in zip(texts or (), is_blank, strict=True) if not blank]
        found.append(kept if any(is_blank) else row)
    return found


def take_columns(rows: Rows, title: str) -> list[Any]:
    """The cells of a column, or of several whose titles are given with commas, side by side in a list.

    Raises:
        MissingColumn: As `take_column`.
    """
    titles = split_titles(title, rows[0])
    if len(titles) == 1:
        return take_column(rows, title)
    return [side_by_side(cells) for cells in zip(*(take_column(rows, one) for one in titles), strict=True)]


def split_titles(text: str, there: Container[str]) -> list[str]:
    """Titles of columns, given with commas; a title that has commas itself is one."""
    return [text] if text in there else [one.strip() for one in text.split(",") if one.strip()] or [text]


def side_by_side(cells: Sequence[Any]) -> list[Any]:
    """Cells of several columns as one list; an empty one is none, as rows have unequal numbers of references."""
    every = [one for cell in cells for one in (cell if isinstance(cell, list) else [cell])]
    return [one for one in every if not is_missing(one) and one != ""]


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing: None, or the NaN that tables have for it."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def located(columns: Mapping[str, list[Any] | None], file: str) -> dict[str, list[Any] | None]:
    """The columns with every relative path of an image or a video made absolute.

    Args:
        columns: Cells by name of the column, None for a column that is not there.
        file: The file of examples, whose folder the paths start at; "-" for the working folder.
    """
    folder = (Path.cwd() if file == "-" else Path(file).absolute().parent).as_posix()
    return {
        name: [_located(cell, folder) for cell in cells] if name in PICTURED and cells is not None else cells
        for name, cells in columns.items()
    }


def _located(cell: Any, folder: str) -> Any:
    """A path, a list of such cells, or a mapping with ``path`` or ``frames``; the metric judges anything else."""
    if isinstance(cell, str):
        # An address stays as it is, so that the metric refuses it as one.
        return cell if is_address(cell) else str(Path(folder) / cell)
    if isinstance(cell, list):
        return [_located(item, folder) for item in cell]
    if isinstance(cell, dict):
        return {key: _located(value, folder) if key in ("path", "frames") else value for key, value in cell.items()}
    return cell


def _read_jsonl(data: bytes, path: str) -> Rows:
    # Only "\n" ends a line of JSONL; splitlines() would also cut at U+2028 inside a string.
    text = decoded(data, name_of_rows(), path)
    limit = unpacked_limit(len(data))
    check_objects(json_bytes(text, limit), limit, name_of_rows(), path)
    lines = text.split("\n")
    written = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    return [_record(line, number, path) for number, line in limited(written, name_of_rows(), path)]


def _record(line: str, number: int, path: str) -> dict[str, Any]:
    check_row(len(line), name_of_rows(), path, number)
    record = parse_json(line, name_of_rows(), path, number)
    if not isinstance(record, dict):
        kind = type(record).__name__
        raise UsageError(f"{name_of_rows()} must hold one JSON object per row, got {kind} in line {number} of {path!r}")
    return record


def _read_json(data: bytes, path: str) -> Rows:
    # Read at once, so that neither rows nor their lengths are known before all are in memory.
    limit = current_limits().max_unpacked
    if len(data) > limit // 2:
        refuse(name_of_rows(), limit // 2, "bytes unless it is JSONL", "max_unpacked", path)
    text = decoded(data, name_of_rows(), path)
    check_objects(json_bytes(text, limit), limit, name_of_rows(), path)
    try:
        content = parse_json(text, name_of_rows(), path)
    except UsageError as error:
        if "Extra data" in str(error) and text.lstrip().startswith("{"):
            raise UsageError(f"{error}; name one object per line with --input-format jsonl") from None
        raise
    if isinstance(content, dict) and (rows := rows_of_object(content)) is not None:
        content = rows
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        got = "one object" if isinstance(content, dict) else "something else"
        raise UsageError(f"{name_of_rows()} must hold a JSON list of objects, one per row, got {got} in {path!r}")
    return list(limited(content, name_of_rows(), path))


def _read_csv(data: bytes, path: str, delimiter: str = ",") -> Rows:
    text = decoded(data, name_of_rows(), path)
    check_objects(BYTES_PER_CELL * text.count(delimiter), unpacked_limit(len(data)), name_of_rows(), path)
    lines = csv_rows(text, name_of_rows(), path, delimiter=delimiter, strict=True)
    _, titles = next(lines, (0, []))
    if len(titles) == 1 and (found := [one for one in ";\t" if one in titles[0]]):
        raise UsageError(
            f"{name_of_rows()} must have {'commas' if delimiter == ',' else 'tabs'} between its cells, got "
            f"{found[0]!r} in the titles {titles[0]!r:.{_SHOWN_CHARACTERS}} of {path!r}; save it with commas as "
            ".csv, or with tabs as .tsv"
        )
    if (repeated := first_repeated(titles)) is not None:
        raise UsageError(
            f"{name_of_rows()} must have each column once, got {repeated!r:.60} more than once in {path!r}"
        )
    return [_csv_row(titles, cells, number, line) for number, (line, cells) in enumerate(lines)]


def _csv_row(titles: list[str], cells: list[str], number: int, line: int) -> CsvRow:
    # A blank line is a row whose only cell is empty.
    cells = cells or [""]
    if len(cells) != len(titles):
        got = f"{len(cells)} for {len(titles)} in row {number}, line {line}"
        raise UsageError(f"{name_of_rows()} must have as many cells as titles, got {got}")
    row = CsvRow((title, _cell(cell)) for title, cell in zip(titles, cells, strict=True))
    row.line = line
    return row


def _cell(cell: str) -> str | list[str]:
    """A cell that holds a JSON list of strings is that list; anything else, such as "[male] ran", stays text."""
    if cell.lstrip().startswith("["):
        try:
            value = json.loads(cell)
        except (ValueError, RecursionError):
            return cell
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
    return cell


def _read_txt(data: bytes, path: str) -> Rows:
    """One caption a line; an empty line is an empty caption, so that files of other systems stay side by side."""
    lines = decoded(data, name_of_rows(), path).split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        check_row(len(line), name_of_rows(), path, number)
    return [{"predictions": line.removesuffix("\r")} for line in limited(lines, name_of_rows(), path)]


def _read_sheet(data: bytes, path: str) -> Rows:
    """Read the first sheet of an Excel workbook; empty cells are None."""
    with importing(f'{name_of_rows()} {path!r} needs openpyxl; run: pip install "vlgauge[coco]", or save it as CSV'):
        import openpyxl  # noqa: F401
    import pandas as pd

    try:
        frame = pd.read_excel(io.BytesIO(data), dtype=object, keep_default_na=False, engine="openpyxl")
    except Exception as error:  # of a damaged file openpyxl raises nearly anything
        why = " ".join(str(error).split())[:200]
        raise UsageError(f"{name_of_rows()} must be a whole Excel workbook, got {path!r} ({why})") from error
    frame = frame.where(frame != "", None)
    records: Rows = [{str(title): cell for title, cell in row.items()} for row in frame.to_dict("records")]
    return list(limited(records, name_of_rows(), path))


READERS: dict[str, Callable[[bytes, str], Rows]] = {
    "jsonl": _read_jsonl,
    "json": _read_json,
    "csv": _read_csv,
    "tsv": partial(_read_csv, delimiter="\t"),
    "parquet": lambda data, path: parquet_rows(data, name_of_rows(), path),
    "txt": _read_txt,
    "xlsx": _read_sheet,
}
