"""Readers of rows in JSONL, JSON, CSV, TSV, Parquet, TXT and XLSX files, which preserve all cells.

Relative paths of images and videos in such a file start at its folder. `make_paths_absolute` makes them absolute.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

from vlgauge.core.context_values import context_value
from vlgauge.core.errors import UsageError, convert_errors
from vlgauge.core.files import (
    BYTES_PER_CELL,
    STDIN,
    FileLimitError,
    check_json_objects,
    check_objects,
    check_row,
    csv_rows,
    current_limits,
    decode_text,
    first_repeated,
    is_address,
    limit_rows,
    limit_unpacked_size,
    limits,
    parse_json,
    read_bytes,
    refuse,
)
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.validation import as_list, is_missing, warn
from vlgauge.inputs.datasets.kinds import MEDIA_COLUMNS
from vlgauge.inputs.limits import RowLimits, check_n_columns, check_n_texts
from vlgauge.inputs.sandbox import MEGABYTE, is_sandboxed, run, use_sandbox
from vlgauge.inputs.tables.caption_files import add_columns, rows_of_object
from vlgauge.inputs.tables.parquet import parquet_rows

Rows = list[dict[str, Any]]

FILE = "FILE"
_CALLED: ContextVar[str] = ContextVar("_CALLED", default=FILE)
_SHEETS = ("xls", "xlsm", "ods")
_SEPARATORS = {",": "commas", "\t": "tabs"}
_SHOWN_COLUMNS, _SHOWN_CHARACTERS = 10, 60

# Lists and tuples of strings as written by Python or by NumPy, which omits commas. They are never evaluated.
_QUOTED = r"""(?:'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+")"""
_PYTHON_LIST = re.compile(rf"\[\s*+(?:{_QUOTED}(?:\s*+,?\s*+{_QUOTED})*+\s*+,?\s*+)?\]", re.DOTALL)
_PYTHON_TUPLE = re.compile(rf"\(\s*+(?:{_QUOTED}\s*+,\s*+(?:{_QUOTED}\s*+,?\s*+)*+)?\)", re.DOTALL)
_NOTHING = ("", "nan", "null", "none")
_LONGEST_LIST = 10**6  # maximum number of characters of a cell that is checked

# Texts of a workbook, which cells name by their number, and the memory and time of 500 bytes of cells for each.
_SHARED_TEXT = re.compile(rb"<(?:[^<>\s:]*:)?si[\s/>]")
_BYTES_PER_SHARED_TEXT = 500
_PIECE = 2**20


def rows_called(name: str) -> AbstractContextManager[None]:
    """Set the name of the rows in error messages inside the context, such as an argument name. The default is FILE."""
    return context_value(_CALLED, name)


def name_of_rows() -> str:
    """Return the name of the rows for error messages."""
    return _CALLED.get()


class CsvRow(dict[str, Any]):
    """Row with the number of its last line in the file, for messages. Row 0 is in line 2, below the header."""

    __slots__ = ("line",)

    def __init__(self, cells: Mapping[str, Any], line: int) -> None:
        super().__init__(cells)
        self.line = line


def row_place(row: Mapping[str, Any], number: int) -> str:
    """Return the position of a row: "row 3", or "row 3 (line 5)" for a CSV file."""
    return f"row {number} (line {row.line})" if isinstance(row, CsvRow) else f"row {number}"


def read_rows(
    path: str,
    file_format: str | None = None,
    *,
    data: bytes | None = None,
    others: str = "",
    most_texts: int = RowLimits.texts,
) -> Rows:
    """Read the rows of a file, or of standard input for ``"-"`` (JSONL by default).

    Args:
        path: File whose extension determines the format: .jsonl, .json, .csv, .tsv, .parquet, .txt or .xlsx.
        file_format: Format, if the extension does not determine it.
        data: Content of the file. None to read it.
        others: Other inputs that the caller accepts, as an end of the list of extensions in messages.
        most_texts: Maximum number of texts of a cell, if the file is untrusted.

    Raises:
        ValueError: If the format is unknown, a line is malformed (the message names it), there are no rows, or the file
            exceeds the limits of `vlgauge.core.files`.
        OSError: If the file cannot be read.
    """
    chosen = file_format or ("jsonl" if path == STDIN else Path(path).suffix.lower().lstrip("."))
    if chosen not in READERS:
        if path != STDIN:
            Path(path).stat()  # report a missing file instead of its extension
        if Path(path).is_dir():
            raise UsageError(f"{name_of_rows()} must be a file, got the folder {path!r}")
        # Files of settings have no option for the format.
        option = "; or specify the format with --input-format" * (name_of_rows() in (FILE, "`rows`"))
        hint = "; save the sheet as CSV" if chosen in _SHEETS else option
        known = ", ".join(one for one in READERS if one not in _TRUSTED or not is_sandboxed())
        raise UsageError(f"{name_of_rows()} must end in one of {known}{others}, got {path!r}{hint}")
    if chosen in _TRUSTED and is_sandboxed():
        raise UsageError(f"{name_of_rows()} must be CSV, JSON or Parquet if it is untrusted, got {path!r}")
    data = read_bytes(path, name_of_rows()) if data is None else data
    if chosen == "parquet":
        found = parquet_rows(data, name_of_rows(), path, most_texts=most_texts if is_sandboxed() else None)
        rows = add_columns(found, has_lists=True)
    elif is_sandboxed():
        rows = _read_sandboxed_rows(data, path, chosen, most_texts)
    else:
        rows = add_columns(READERS[chosen](data, path))
    if not rows:
        raise UsageError(f"{name_of_rows()} must have at least one row, got none in {path!r}")
    return rows


# -- In a worker ------------------------------------------------------------------------------------------------------
_ROWS_AT_A_TIME = 4096
# Maximum size of a result per byte of the file, because a character may be escaped with six characters, plus a constant
# for brackets.
_MOST_PER_BYTE, _MOST_ANYWAY = 6, 2**24
# Memory limit of JSON with its text and objects, because this process parses the same JSON afterwards.
_JSON_MEMORY = 192 * MEGABYTE


def rows_of_file(
    data: bytes, path: str, file_format: str, file_limits: Mapping[str, int], most_texts: int
) -> Iterator[tuple[None, bytes]]:
    """Yield the rows of a table in chunks, as None and a JSON text.

    The text contains the common column names or None, the line numbers of CSV rows, and the cells of each row.

    Args:
        data: Content of the file.
        path: Path of the file in messages.
        file_format: Format of the file.
        file_limits: Limits by name, for `vlgauge.core.files.limits`.
        most_texts: Maximum number of texts of a cell.

    Raises:
        UsageError: If the file is not valid or exceeds a limit.
    """
    with limits(**file_limits), use_sandbox():
        rows = add_columns(READERS[file_format](data, path))
    _check_columns(rows, path)
    _check_texts(rows, most_texts)
    titles = list(rows[0]) if rows and file_format in _TITLED else None
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        some = rows[start : start + _ROWS_AT_A_TIME]
        lines = [row.line for row in some if isinstance(row, CsvRow)]
        cells = some if titles is None else [list(row.values()) for row in some]
        encoded = json.dumps([titles, lines, cells], ensure_ascii=False, separators=(",", ":"))
        yield None, encoded.encode("utf-8", "surrogatepass")


_TITLED = ("csv", "tsv", "txt")


def _check_columns(rows: Rows, path: str) -> None:
    columns: set[str] = set()
    for row in rows:
        columns.update(row)
        check_n_columns(name_of_rows(), len(columns), path)


def _check_texts(rows: Rows, most: int) -> None:
    """Check the number of texts of each cell. Lists of numbers, such as ratings, and of images may be longer."""
    for number, row in enumerate(rows):
        for title, cell in row.items():
            if isinstance(cell, list) and len(cell) > most and title not in MEDIA_COLUMNS:
                n_texts = sum(not isinstance(one, (int, float)) for one in cell)
                check_n_texts(title, n_texts, most, row_place(row, number))


def _read_sandboxed_rows(data: bytes, path: str, file_format: str, most_texts: int) -> Rows:
    rows: Rows = []
    file_limits = vars(current_limits())
    settings = {"path": path, "file_format": file_format, "file_limits": file_limits, "most_texts": most_texts}
    most = _MOST_PER_BYTE * len(data) + _MOST_ANYWAY
    subject = f"{name_of_rows()}, {path!r},"
    for part in run("vlgauge.inputs.tables.files:rows_of_file", settings, data, subject=subject, most_bytes=most):
        titles, lines, cells = json.loads(part.body)
        some = cells if titles is None else [dict(zip(titles, row, strict=True)) for row in cells]
        rows += [CsvRow(row, line) for row, line in zip(some, lines, strict=True)] if lines else some
    return rows


def parse_json_file(data: bytes, path: str) -> Any:
    """Parse a JSON file. An untrusted file is parsed by a worker before, within limits on its objects and memory.

    Raises:
        ValueError: If the file is invalid or exceeds a limit.
    """
    if is_sandboxed():
        settings = {"path": path, "limit": _most_untrusted()}
        task, subject = "vlgauge.inputs.tables.files:check_json", f"{FILE}, {path!r},"
        for _ in run(task, settings, data, subject=subject, memory=_JSON_MEMORY):
            pass
    return parse_json(decode_text(data, FILE, path), FILE, path)


def check_json(data: bytes, path: str, limit: int) -> Iterator[tuple[None, bytes]]:
    """Parse JSON and yield None and no bytes.

    Args:
        data: Content of the file.
        path: Path of the file in messages.
        limit: Maximum memory of its objects in bytes.

    Raises:
        UsageError: If the content is not valid or exceeds the limit.
    """
    text = decode_text(data, FILE, path)
    check_json_objects(text, limit, FILE, path)
    parse_json(text, FILE, path)
    yield None, b""


class MissingColumnError(UsageError):
    """Raised if a column is missing in a row."""


def take_column(rows: Rows, column: str) -> list[Any]:
    """Return the cells of a column, one per row.

    Raises:
        MissingColumnError: If a row lacks the column. The message names the row and its columns.
        ValueError: If a cell is a list as printed by Python.
    """
    for number, row in enumerate(rows):
        if column not in row:
            there = ", ".join(f"{title:.{_SHOWN_CHARACTERS}}" for title in map(str, [*row][:_SHOWN_COLUMNS])) or "none"
            more = f" and {len(row) - _SHOWN_COLUMNS} more" if len(row) > _SHOWN_COLUMNS else ""
            raise MissingColumnError(
                f"{name_of_rows()} must have the column {column!r} in every row, got row {number} with: {there}{more}"
            )
        if is_python_list(row[column]):
            place = f"in the column {column!r:.{_SHOWN_CHARACTERS}}, {row_place(row, number)}"
            raise UsageError(f"{name_of_rows()} {NO_PYTHON_LIST} {place}; {AS_JSON}, or save JSONL or Parquet")
    return [row[column] for row in rows]


def warn_of_empty_cells(rows: Rows, title: str, *, are_scored: bool = True) -> None:
    """Warn about empty texts, and about words for missing values in CSV files, as written by programs that save tables.

    Empty captions are scored, because a system may generate them. Empty references are dropped by `without_blanks`.

    Args:
        rows: Rows of the file.
        title: Name of the column, or several names separated by commas.
        are_scored: Whether empty texts of the column are scored. If not, there is no warning about them.
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
                    f"{row_place(rows[numbers[0]], numbers[0])}; they are scored as text; remove rows without "
                    "text"
                )


def check_present_texts(rows: Rows, title: str) -> None:
    """Check that no text of a column is null or NaN, as written by programs that omitted it.

    Raises:
        ValueError: If a text is null or NaN. The message names the first row.
    """
    for one in split_titles(title, rows[0]):
        absent = [number for number, row in enumerate(rows) if is_missing(row[one])]
        if absent:
            first = rows[absent[0]]
            named = f" (id {first['id']!r:.{_SHOWN_CHARACTERS}})" if "id" in first else ""
            raise UsageError(
                f"{name_of_rows()} must have a string in every row of the column {one!r:.{_SHOWN_CHARACTERS}}, "
                f"got null or NaN in {len(absent)} of {len(rows)}, the first in "
                f"{row_place(first, absent[0])}{named}; insert the text, even if it is empty, or remove the rows "
                "from the file of every system"
            )


def _says_nothing(cell: Any, is_csv: bool) -> bool:
    return isinstance(cell, str) and cell.strip().lower() in (_NOTHING if is_csv else ("",))


NO_PYTHON_LIST = "must have lists of strings as JSON, got one in Python notation, ['...', '...'],"
AS_JSON = "parse it with ast.literal_eval and write it with json.dumps"


def reads_as_list(text: Any) -> bool:
    """Return whether a text is a list or tuple of strings as written by Python, NumPy or JSON, unlike "[laughs]"."""
    if not isinstance(text, str) or len(text) > _LONGEST_LIST:
        return False
    form = {"[": _PYTHON_LIST, "(": _PYTHON_TUPLE}.get(text.lstrip()[:1])
    return form is not None and form.fullmatch(text.strip()) is not None


def is_python_list(cell: Any) -> bool:
    """Return whether a cell is a list as written by `pandas.DataFrame.to_csv`, which is not valid JSON."""
    return reads_as_list(cell) and isinstance(_cell(cell), str)


def check_no_lists_as_text(name: str, rows: Sequence[Any], *, may_be_texts: bool = False) -> None:
    """Check that a column does not contain lists converted to strings, as returned by `pandas.read_csv`.

    A row with one such string in a list counts, too. Single captions may look like a list by coincidence, so a few of
    them only cause a warning.

    Args:
        name: Name of the column, for messages.
        rows: Cells in any form.
        may_be_texts: Whether to only warn, because the column does not accept lists and a model may have generated such
            texts.

    Raises:
        UsageError: If more than half of the rows look like lists or tuples of strings.
    """
    texts = [row[0] if isinstance(row, (list, tuple)) and len(row) == 1 else row for row in rows]
    found = [row for row, text in enumerate(texts) if reads_as_list(text)]
    if not found:
        return
    problem = f"{len(found)} of {len(texts)} rows that look like a list of strings, the first, in row {found[0]}, is "
    problem += f"{texts[found[0]]!r:.{_SHOWN_CHARACTERS}}"
    if 2 * len(found) > len(texts) and not may_be_texts:
        raise UsageError.about(
            name, f"must have strings or lists of strings, got {problem}", "parse them with ast.literal_eval first"
        )
    warn(f"`{name}` has {problem}; each is scored as one text; parse them with ast.literal_eval first")


def without_blanks(rows: Sequence[Any]) -> list[Any]:
    """Remove references that are empty or whitespace from each row.

    Returns:
        One entry per row: a list of references if a reference was removed, otherwise the unchanged row.
    """
    found: list[Any] = []
    for row in rows:
        texts = [row] if isinstance(row, str) else as_list(row)
        is_blank = [isinstance(text, str) and not text.strip() for text in texts or ()]
        kept = [text for text, blank in zip(texts or (), is_blank, strict=True) if not blank]
        found.append(kept if any(is_blank) else row)
    return found


def take_columns(rows: Rows, title: str) -> list[Any]:
    """Return the cells of a column, or the joined cells of several columns whose names are separated by commas.

    Returns:
        One entry per row: the cell, or the list of the nonempty cells of several columns.

    Raises:
        MissingColumnError: If a row lacks a column.
        ValueError: If a cell is a list as printed by Python.
    """
    titles = split_titles(title, rows[0])
    if len(titles) == 1:
        return take_column(rows, title)
    return [side_by_side(cells) for cells in zip(*(take_column(rows, one) for one in titles), strict=True)]


def split_titles(text: str, there: Container[str]) -> list[str]:
    """Split column names at commas, unless the whole text is the name of an existing column."""
    return [text] if text in there else [one.strip() for one in text.split(",") if one.strip()] or [text]


def side_by_side(cells: Sequence[Any]) -> list[Any]:
    """Join cells of several columns in one list without empty cells, because rows may have fewer references."""
    every = [one for cell in cells for one in (cell if isinstance(cell, list) else [cell])]
    return [one for one in every if not is_missing(one) and one != ""]


def make_paths_absolute(columns: Mapping[str, list[Any] | None], file: str) -> dict[str, list[Any] | None]:
    """Make all relative paths of images and videos in columns absolute.

    Args:
        columns: Cells by column name. None for a column that does not exist.
        file: File of the examples, at whose folder the paths start. "-" for the working directory.

    Returns:
        Columns by name. The cells of the columns of images and videos contain absolute paths.
    """
    folder = (Path.cwd() if file == "-" else Path(file).absolute().parent).as_posix()
    return {
        name: [_make_absolute(cell, folder) for cell in cells] if name in MEDIA_COLUMNS and cells is not None else cells
        for name, cells in columns.items()
    }


def _make_absolute(cell: Any, folder: str) -> Any:
    """Make the path in a cell absolute: a string, a list of cells, or a mapping with ``path`` or ``frames``."""
    if isinstance(cell, str):
        # Leave URLs unchanged, so that the metric reports them as URLs.
        return cell if is_address(cell) else str(Path(folder) / cell)
    if isinstance(cell, list):
        return [_make_absolute(item, folder) for item in cell]
    if isinstance(cell, dict):
        return {
            key: _make_absolute(value, folder) if key in ("path", "frames") else value for key, value in cell.items()
        }
    return cell


def _most_untrusted() -> int:
    """Return the maximum memory of the objects of an untrusted file, which the main process also holds as text."""
    return current_limits().max_unpacked // 2


def _read_jsonl(data: bytes, path: str) -> Rows:
    # Only "\n" ends a line of JSONL, while splitlines() would also split at U+2028 inside a string.
    text = decode_text(data, name_of_rows(), path)
    limit = _most_untrusted() if is_sandboxed() else limit_unpacked_size(len(data))
    check_json_objects(text, limit, name_of_rows(), path)
    lines = text.split("\n")
    written = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    return [_record(line, number, path) for number, line in limit_rows(written, name_of_rows(), path)]


def _record(line: str, number: int, path: str) -> dict[str, Any]:
    check_row(len(line), name_of_rows(), path, number)
    record = parse_json(line, name_of_rows(), path, number)
    if not isinstance(record, dict):
        kind = type(record).__name__
        raise UsageError(
            f"{name_of_rows()} must contain one JSON object per row, got {kind} in line {number} of {path!r}"
        )
    return record


def _read_json(data: bytes, path: str) -> Rows:
    # JSON is parsed as a whole, so the number and length of rows are unknown until all are in memory.
    limit = current_limits().max_unpacked
    if len(data) > limit // 2:
        refuse(name_of_rows(), limit // 2, "bytes unless it is JSONL", "max_unpacked", path)
    text = decode_text(data, name_of_rows(), path)
    limit = _most_untrusted() if is_sandboxed() else limit
    check_json_objects(text, limit, name_of_rows(), path)
    try:
        content = parse_json(text, name_of_rows(), path)
    except UsageError as error:
        if "Extra data" in str(error) and text.lstrip().startswith("{"):
            raise UsageError(f"{error}; for one object per line, pass --input-format jsonl") from None
        raise
    if isinstance(content, dict) and (rows := rows_of_object(content)) is not None:
        content = rows
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        got = "one object" if isinstance(content, dict) else "something else"
        raise UsageError(f"{name_of_rows()} must contain a JSON list of objects, one per row, got {got} in {path!r}")
    return list(limit_rows(content, name_of_rows(), path))


def _read_csv(data: bytes, path: str, delimiter: str = ",") -> Rows:
    text = decode_text(data, name_of_rows(), path)
    check_objects(BYTES_PER_CELL * text.count(delimiter), limit_unpacked_size(len(data)), name_of_rows(), path)
    lines = csv_rows(text, name_of_rows(), path, delimiter=delimiter, strict=True)
    _, titles = next(lines, (0, []))
    if len(titles) == 1 and (found := [one for one in ";\t" if one != delimiter and one in titles[0]]):
        raise UsageError(
            f"{name_of_rows()} must have {_SEPARATORS.get(delimiter, repr(delimiter))} between its cells, got "
            f"{found[0]!r} in the column names {titles[0]!r:.{_SHOWN_CHARACTERS}} of {path!r}; save it with "
            "commas as .csv, or with tabs as .tsv"
        )
    if (repeated := first_repeated(titles)) is not None:
        raise UsageError(
            f"{name_of_rows()} must have each column once, got {repeated!r:.60} more than once in {path!r}"
        )
    return [_csv_row(titles, cells, number, line) for number, (line, cells) in enumerate(lines)]


def _csv_row(titles: list[str], cells: list[str], number: int, line: int) -> CsvRow:
    # An empty line is a row with one empty cell.
    cells = cells or [""]
    if len(cells) != len(titles):
        got = f"{len(cells)} for {len(titles)} in row {number}, line {line}"
        raise UsageError(f"{name_of_rows()} must have as many cells as column names, got {got}")
    return CsvRow({title: _cell(cell) for title, cell in zip(titles, cells, strict=True)}, line)


def _cell(cell: str) -> str | list[str]:
    """Parse a cell that is a JSON list of strings. Return anything else, such as "[male] ran", as text."""
    if cell.lstrip().startswith("["):
        try:
            value = json.loads(cell)
        except (ValueError, RecursionError):
            return cell
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
    return cell


def _read_txt(data: bytes, path: str) -> Rows:
    """Read one caption per line. An empty line is an empty caption, so that files of different systems stay aligned."""
    lines = decode_text(data, name_of_rows(), path).split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        check_row(len(line), name_of_rows(), path, number)
    return [{"predictions": line.removesuffix("\r")} for line in limit_rows(lines, name_of_rows(), path)]


def _check_workbook(data: bytes, limit: int, path: str) -> None:
    """Check the unpacked size of a workbook and its texts, for which openpyxl creates objects even if no cell has them.

    Raises:
        ValueError: If the workbook exceeds the limits of `vlgauge.core.files`, or is not a zip archive.
    """
    n_texts = 0
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        if sum(one.file_size for one in book.infolist()) > limit:
            refuse(name_of_rows(), limit, "bytes when it is decompressed", "max_unpacked", path)
        for one in book.infolist():
            with book.open(one) as part:
                while piece := part.read(_PIECE):
                    n_texts += len(_SHARED_TEXT.findall(piece.replace(b"\0", b"")))  # UTF-16 has zeros
                    check_objects(_BYTES_PER_SHARED_TEXT * n_texts, limit, name_of_rows(), path)


def _check_sheet(sheet: Any, limit: int, path: str) -> None:
    """Check the size of a sheet including its empty cells, because one cell far from the first makes a large table.

    Raises:
        ValueError: If the sheet exceeds the limits of `vlgauge.core.files`.
    """
    sheet.reset_dimensions()  # the file may state wrong ones
    n_rows = n_columns = 0
    for number, cells in enumerate(sheet.iter_rows(values_only=True)):
        used = [column for column, cell in enumerate(cells, 1) if cell is not None]
        if used:
            n_rows, n_columns = number, max(n_columns, used[-1])  # the first row has the titles
            if n_rows > current_limits().max_rows:
                refuse(name_of_rows(), current_limits().max_rows, "rows", "max_rows", path)
            check_objects(BYTES_PER_CELL * n_rows * n_columns, limit, name_of_rows(), path)


def _read_sheet(data: bytes, path: str) -> Rows:
    """Read the first sheet of an Excel workbook, with None for empty cells."""
    with importing(f'{name_of_rows()} {path!r} requires openpyxl; run: pip install "vlgauge[coco]", or save it as CSV'):
        import openpyxl
    import pandas as pd

    limit = limit_unpacked_size(len(data))
    expected = f"{name_of_rows()} must be a complete Excel workbook, got {path!r}"
    with convert_errors(expected, kept=(FileLimitError,)):  # openpyxl raises nearly any exception for damaged files
        _check_workbook(data, limit, path)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        with closing(book), pd.ExcelFile(book, engine="openpyxl") as opened:
            _check_sheet(book.worksheets[0], limit, path)
            frame = pd.read_excel(opened, dtype=object, keep_default_na=False)
    frame = frame.where(frame != "", None)
    records: Rows = [{str(title): cell for title, cell in row.items()} for row in frame.to_dict("records")]
    return list(limit_rows(records, name_of_rows(), path))


READERS: dict[str, Callable[[bytes, str], Rows]] = {
    "jsonl": _read_jsonl,
    "json": _read_json,
    "csv": _read_csv,
    "tsv": partial(_read_csv, delimiter="\t"),
    "parquet": lambda data, path: parquet_rows(data, name_of_rows(), path),
    "txt": _read_txt,
    "xlsx": _read_sheet,
}

# Formats whose readers do not run in a sandbox.
_TRUSTED = ("xlsx",)
UNTRUSTED_ENDINGS = tuple(f".{name}" for name in READERS if name not in _TRUSTED)
"""Extensions of the files that `read_rows` accepts if they are untrusted."""

TABLE_ENDINGS = tuple(ending for ending in UNTRUSTED_ENDINGS if ending != ".txt")
"""Extensions of untrusted files with named columns."""
