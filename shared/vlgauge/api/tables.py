"""Conversion of tables to rows: pandas frames, Arrow tables, datasets, lists of dicts and files."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from vlgauge.core.errors import MissingFileError, UsageError, UsageTypeError
from vlgauge.core.files import STDIN, first_repeated
from vlgauge.core.validation import short_repr, suggest_word
from vlgauge.inputs.tables.caption_files import add_columns, rows_of_object
from vlgauge.inputs.tables.files import Rows, read_rows, split_titles

OTHER_SOURCES = " or tar, or be a folder"
"""Inputs of `vlgauge.score` other than tables, as an end of the list of their extensions."""

TABLES = "a DataFrame, an Arrow table, a datasets.Dataset, a list of dicts or the path of a file"


@dataclass(frozen=True)
class GivenTable:
    """Rows of a table.

    Attributes:
        rows: Rows with the cells that metrics use. The first row has all cells, from which messages name columns.
        titles: Names of all columns.
        frame: Function that returns the pandas frame with all columns, to which the scores are added.
        ids: Row IDs if there is no ID column. None for the row numbers.
        file: Path of the file. None for rows in memory, whose paths are relative to the working directory.
    """

    rows: Rows
    titles: Sequence[str]
    frame: Callable[[], Any]
    ids: Sequence[Any] | None = None
    file: str | None = None


def read_given_rows(
    rows: Any, wanted: Iterable[str | None], *, skip: int = 0, limit: int | None = None, others: str = ""
) -> GivenTable:
    """Return the rows of a table of any supported type. See `read_rows` for `others`.

    Raises:
        ValueError: If two columns have the same name, or there are no rows.
        TypeError: If it is not a table.
    """
    titles = [title for title in wanted if title]
    chosen = slice(skip, None if limit is None else skip + limit)
    given = _read_given(rows, titles, chosen, others)
    if (twice := first_repeated([*map(str, given.titles)])) is not None:
        raise UsageError.about(
            "rows", f"must have each column once, got {twice!r} more than once", "rename or drop one of them"
        )
    if not given.rows:
        raise UsageError.about(
            "rows", f"must have at least one row, got none{f' after the first {skip}' if skip else ''}"
        )
    return given


def _read_given(rows: Any, wanted: Sequence[str], chosen: slice, others: str) -> GivenTable:
    if isinstance(rows, (str, PathLike)):
        file = fspath(rows)
        found = read_rows(file, others=others)[chosen]
        return _of_dicts(found, file)
    if (pandas := sys.modules.get("pandas")) is not None and isinstance(rows, pandas.DataFrame):
        return _of_pandas(rows.iloc[chosen], wanted)
    if (datasets := sys.modules.get("datasets")) is not None and isinstance(rows, datasets.Dataset):
        return _of_data_set(rows, wanted, chosen)
    if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        return _of_arrow(rows, wanted, chosen)
    if isinstance(rows, (list, tuple)) and all(isinstance(row, Mapping) for row in rows):
        return _of_dicts(add_columns([dict(row) for row in rows[chosen]]))
    if isinstance(rows, Mapping):
        # Distinguish a dictionary of columns from a dictionary of captions by image.
        is_by_image = all(str(key).isdigit() or _holds_objects(value) for key, value in rows.items())
        captions = rows_of_object(rows) if is_by_image or "annotations" in rows else None
        if captions is not None:
            return _of_dicts(captions[chosen])
    raise UsageTypeError.about("rows", f"must be {TABLES}, got {type(rows).__name__}", _suggest_conversion(rows))


def _suggest_conversion(rows: Any) -> str:
    """Return a hint how to convert an object of another type to a table."""
    name = type(rows).__name__
    if name in ("DatasetDict", "IterableDatasetDict"):
        return f'take one of its splits: rows["{next(iter(rows), "train")}"]'
    if name == "IterableDataset":
        return "take the first rows of the stream: Dataset.from_list(list(rows.take(n)))"
    if isinstance(rows, Mapping):
        return "convert it to a DataFrame: pandas.DataFrame(rows)"
    if isinstance(rows, (list, tuple)) and isinstance(rows[0], str):
        return "give the texts a column name: [{'predictions': text} for text in texts]"
    return "convert it to a list of dicts"


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def check_rows_file(rows: Any, argument: str = "rows") -> None:
    """Check that a path exists.

    Args:
        rows: Path, or any other value, which is not checked.
        argument: Name of the argument in messages.

    Raises:
        FileNotFoundError: If it does not. The message lists similar file names in the folder.
    """
    if not isinstance(rows, (str, PathLike)) or fspath(rows) == STDIN or Path(rows).exists():
        return
    path = Path(rows)
    names = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = suggest_word(path.name, names) or f"pass its path relative to {Path.cwd()}, or an absolute path"
    problem = f"must be the path of an existing file, got {short_repr(fspath(rows))}"
    raise MissingFileError.about(argument, problem, hint)


def _of_dicts(rows: Rows, file: str | None = None) -> GivenTable:
    def frame() -> Any:
        import pandas as pd

        return pd.DataFrame(rows)

    return GivenTable(rows, list(dict.fromkeys(title for row in rows for title in row)), frame, file=file)


def _of_pandas(frame: Any, wanted: Sequence[str]) -> GivenTable:
    titles = list(frame.columns)
    if first_repeated([*map(str, titles)]) is not None or not len(frame):
        return GivenTable([], titles, lambda: frame) if not len(frame) else GivenTable([{}], titles, lambda: frame)
    first = {title: _pandas_cells(frame[title].iloc[:1])[0] for title in titles}
    cells = {title: _pandas_cells(frame[title]) for title in _read(titles, wanted)}
    for name in frame.index.names:  # pandas also accepts names of index levels as titles
        if name in wanted and name not in titles:
            cells[name] = _pandas_cells(frame.index.get_level_values(name).to_series())
    ids = [_plain_id(one) for one in frame.index.tolist()]
    return GivenTable(_rows(first, cells, len(frame)), titles, lambda: frame.copy(deep=False), ids)


def _pandas_cells(column: Any) -> list[Any]:
    """Convert the cells of a column to Python objects: missing cells to None, arrays of strings to lists."""
    cells: list[Any] = column.astype(object).tolist()
    missing = column.isna()
    if missing.any():
        cells = [None if is_none else cell for cell, is_none in zip(cells, missing.tolist(), strict=True)]
    if {str, type(None)}.issuperset(map(type, cells)):
        return cells
    return [_plain_cell(cell) for cell in cells]


def _plain_cell(cell: Any) -> Any:
    """Convert a NumPy scalar to a Python object and an array of strings, as pandas reads from Parquet, to a list."""
    if getattr(getattr(cell, "dtype", None), "kind", "") in ("O", "U", "T") and hasattr(cell, "tolist"):
        return [_plain_cell(one) for one in cell.tolist()]
    if isinstance(cell, list):
        return [_plain_cell(one) for one in cell]
    return cell.item() if hasattr(cell, "item") and getattr(cell, "ndim", None) == 0 else cell


def _plain_id(one: Any) -> Any:
    """Return an integer or a string unchanged, and the string of any other index label."""
    return one if isinstance(one, (str, int)) and not isinstance(one, bool) else str(one)


def _of_arrow(rows: Any, wanted: Sequence[str], chosen: slice) -> GivenTable:
    import pyarrow as pa

    try:
        table = pa.table(rows)
    except (pa.ArrowInvalid, TypeError):
        raise UsageTypeError.about(
            "rows", f"must be {TABLES}, got a {type(rows).__name__} of one column", "convert it to a DataFrame"
        ) from None
    start, stop, _ = chosen.indices(table.num_rows)
    table = table.slice(start, max(0, stop - start))
    return _of_table(table.slice(0, 1), table.select, table.num_rows, wanted, table.to_pandas)


def _of_table(
    head: Any, select: Callable[[list[str]], Any], n_rows: int, wanted: Sequence[str], frame: Callable[[], Any]
) -> GivenTable:
    """Return the rows of a table.

    Args:
        head: Arrow table with the first row.
        select: Function that returns an Arrow table with some columns of all rows.
        n_rows: Number of rows.
        wanted: Names of the columns to read.
        frame: See `GivenTable`.
    """
    titles = list(head.column_names)
    if first_repeated(titles) is not None or not n_rows:
        return GivenTable([{}] if n_rows else [], titles, frame)
    read = _read(titles, wanted)
    table = select(read) if read else None
    cells = {title: table.column(title).to_pylist() for title in read} if table is not None else {}
    return GivenTable(_rows(head.to_pylist()[0], cells, n_rows), titles, frame)


def _of_data_set(rows: Any, wanted: Sequence[str], chosen: slice) -> GivenTable:
    """Return the rows of a dataset without decoding images. Columns that are not used are not read from disk."""
    start, stop, _ = chosen.indices(len(rows))
    part = rows if (start, stop) == (0, len(rows)) else rows.select(range(start, stop) if start < stop else [])
    arrow = part.with_format("arrow")
    return _of_table(arrow[:1], lambda read: arrow.select_columns(read)[:], len(part), wanted, part.to_pandas)


def _read(titles: Sequence[Any], wanted: Sequence[str]) -> list[str]:
    named = {one for title in wanted for one in split_titles(title, titles)}
    return [title for title in titles if title in named]


def _rows(first: dict[str, Any], cells: Mapping[str, Sequence[Any]], n_rows: int) -> Rows:
    if not cells:
        return [first, *({} for _ in range(n_rows - 1))]
    found = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    return [first | found[0], *found[1:]]


def check_free_titles(titles: Iterable[Any], added: Iterable[str]) -> None:
    """Check that no column has the name of a score that will be added.

    Raises:
        UsageError: If a column has such a name.
    """
    there = set(titles)
    for name in added:
        if name in there:
            raise UsageError.about(
                "rows",
                f"must have no column {short_repr(name)}, because the scores are stored in it, got one",
                "rename or drop it first",
            )
