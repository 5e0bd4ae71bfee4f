"""Files of training rows in JSON lines or CSV, with texts and paths of images in their columns."""

import csv
import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from vlgauge.core.errors import UsageError
from vlgauge.core.files import is_address
from vlgauge.inputs.media.images import image_cell
from vlgauge.inputs.media.pictures import WholeImage

MISSING = -1


def records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the position and the fields of each row of JSON lines, or of a CSV with a header, without empty fields.

    Raises:
        ValueError: If the file cannot be read or a row is malformed.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError.about(str(path), f"must be a readable file of UTF-8 text, got an error: {error}") from error
    records = _csv_records(text, path) if path.suffix.lower() == ".csv" else _json_records(text, path)
    for line, fields in records:
        yield f"{path.name}:{line}", {name: value for name, value in fields.items() if value not in (None, "")}


def _json_records(text: str, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            fields = json.loads(content)
        except json.JSONDecodeError as error:
            raise UsageError.about(
                f"{path.name}:{line}", f"must be a JSON object, got {content[:60]!r} ({error})"
            ) from error
        if not isinstance(fields, dict):
            raise UsageError.about(f"{path.name}:{line}", f"must be a JSON object, got {content[:60]!r}")
        yield line, fields


def _csv_records(text: str, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise UsageError.about(
                f"{path.name}:{reader.line_num}", f"must be a row of CSV, got an error: {error}"
            ) from error
        if fields is None:
            return
        if None in fields or None in fields.values():
            raise UsageError.about(f"{path.name}:{reader.line_num}", "must have as many fields as the header")
        yield reader.line_num, fields


def text_field(fields: Mapping[str, Any], column: str, place: str) -> str | None:
    """Return the text of a column, or None if the column is missing.

    Raises:
        ValueError: If the value is not a string or blank.
    """
    value = fields.get(column)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise UsageError.about(place, f"must have text in the column {column!r}, got {value!r}")
    return value


def picture_field(fields: Mapping[str, Any], column: str, folder: Path, place: str) -> WholeImage | None:
    """Return the image named by a column, or None if the column is missing.

    Raises:
        ValueError: If the cell is not a string, or the image does not exist.
    """
    value = text_field(fields, column, place)
    if value is None:
        return None
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
