"""Files of training rows in JSON lines or CSV, with texts and paths of images in their columns."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from vlgauge.core.errors import UsageError
from vlgauge.core.files import is_address
from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import WholeImage
from vlgauge.inputs.tables.files import read_rows, row_place, rows_called

MISSING = -1


def records(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the position and the fields of each row of JSON lines, or of a CSV with a header, without empty fields.

    Args:
        path: File.
        columns: Columns that every row must have.

    Raises:
        ValueError: If the file is missing or not UTF-8, a row is invalid or lacks a column, or there is no row.
    """
    with rows_called(f"`{path}`"):
        rows = read_rows(str(path), "csv" if path.suffix.lower() == ".csv" else "jsonl")
    for number, row in enumerate(rows):
        fields = {name: value for name, value in row.items() if value not in (None, "")}
        place = f"{path.name}, {row_place(row, number)}"
        if not fields.keys() >= set(columns):
            raise UsageError.about(
                place, f"must have the columns {', '.join(columns)}, got the columns {sorted(fields)}"
            )
        yield place, fields


def text_field(fields: Mapping[str, Any], column: str, place: str) -> str:
    """Return the text of a column.

    Raises:
        ValueError: If the value is not a string or blank.
    """
    value = fields[column]
    if not isinstance(value, str) or not value.strip():
        raise UsageError.about(place, f"must have text in the column {column!r}, got {value!r}")
    return value


def image_field(fields: Mapping[str, Any], column: str, folder: Path, place: str) -> WholeImage:
    """Return the image named by a column.

    Raises:
        ValueError: If the cell is not a string, or the image does not exist.
    """
    value = text_field(fields, column, place)
    name = f"{place} {column}"
    # `image_cell` checks URLs, so a URL must not be joined with the folder.
    path = value if is_address(value) else str(folder / value)
    return WholeImage(image_cell(path, name), name)


def number_distinct(keys: Sequence[Hashable | None]) -> tuple[npt.NDArray[np.int64], list[int]]:
    """Assign numbers to the distinct keys in order of appearance.

    Returns:
        The number of each key (`MISSING` for None), shape ``(n_keys,)``, and the index of the first occurrence of each
        number.
    """
    codes, _ = pd.factorize(np.array(keys, dtype=object))
    numbers, first = np.unique(codes, return_index=True)
    return codes.astype(np.int64), first[numbers != MISSING].tolist()
