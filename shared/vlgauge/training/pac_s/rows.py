"""Training rows: from JSON lines or CSV, or drawn; and pairs of a right and a wrong caption to test with."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlgauge.files import is_address
from vlgauge.media.images import image_cell
from vlgauge.media.pictures import ImagePicture, Picture
from vlgauge.training.pac_s.options import Columns


@dataclass(frozen=True)
class Row:
    """One image with one of its captions.

    Attributes:
        image: v.
        caption: t.
        generated_image: v', drawn after the caption; None leaves the row out of that term.
        generated_caption: t', written after the image; None leaves the row out of that term.
        group: Rows of one group are put into one batch, as hard negatives of each other; None for a row by itself.
    """

    image: Picture
    caption: str
    generated_image: Picture | None
    generated_caption: str | None
    group: str | None = None


@dataclass(frozen=True)
class Foil:
    """An image with a caption that is right and one that is wrong.

    Attributes:
        image: What both are about.
        right: The caption that should score higher.
        wrong: The other.
        kind: What is wrong with it.
        group: Pairs of one group are not independent; None for those of one image.
    """

    image: Picture
    right: str
    wrong: str
    kind: str
    group: str | None = None


def read_rows(path: Path, columns: Columns, folder: Path | None = None) -> list[Row]:
    """Training rows of a file; images are opened later.

    Args:
        path: JSON lines, or CSV with a header if its name ends in .csv.
        columns: Names of the columns.
        folder: Where relative image paths start; None for the folder of the file.

    Raises:
        ValueError: If a row lacks its image or caption, holds something else, or names a file that is missing; names
            file and line.
    """
    folder = folder or path.parent
    rows = []
    for place, fields in _records(path):
        image = _picture(fields, columns.image, folder, place)
        caption = _text(fields, columns.caption, place)
        if image is None or caption is None:
            missing = columns.image if image is None else columns.caption
            raise ValueError(f"`{place}` must have the column {missing!r}, got the columns {sorted(fields)}")
        generated = _picture(fields, columns.generated_image, folder, place)
        said, group = (_text(fields, name, place) for name in (columns.generated_caption, columns.group))
        rows.append(Row(image, caption, generated, said, group))
    if len({row.image.key for row in rows}) < 2:
        raise ValueError(f"`{path}` must have rows of at least 2 images, got {len(rows)} rows")
    return rows


def read_foils(path: Path, columns: Columns, folder: Path | None = None) -> list[Foil]:
    """Test pairs of a file with the columns of image, caption and foil.

    Args:
        path: As for `read_rows`.
        columns: Names of the columns.
        folder: As for `read_rows`.

    Raises:
        ValueError: If a row lacks one of the three; names file and line.
    """
    foils = []
    for place, fields in _records(path):
        image = _picture(fields, columns.image, folder or path.parent, place)
        right, wrong = _text(fields, columns.caption, place), _text(fields, columns.foil, place)
        if image is None or right is None or wrong is None:
            wanted = f"{columns.image}, {columns.caption} and {columns.foil}"
            raise ValueError(f"`{place}` must have the columns {wanted}, got the columns {sorted(fields)}")
        foils.append(Foil(image, right, wrong, "foil"))
    if not foils:
        raise ValueError(f"`{path}` must have at least one row, got none")
    return foils


def _records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Place and fields of each row; empty lines are passed over, empty fields are left out."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"`{path}` must be a readable file of UTF-8 text, got an error: {error}") from error
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
            raise ValueError(f"`{path.name}:{line}` must be a JSON object, got {content[:60]!r} ({error})") from error
        if not isinstance(fields, dict):
            raise ValueError(f"`{path.name}:{line}` must be a JSON object, got {content[:60]!r}")
        yield line, fields


def _csv_records(text: str, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise ValueError(f"`{path.name}:{reader.line_num}` must be a row of CSV, got an error: {error}") from error
        if fields is None:
            return
        if None in fields or None in fields.values():
            raise ValueError(
                f"`{path.name}:{reader.line_num}` must have as many fields as the header, got another number"
            )
        yield reader.line_num, fields


def _text(fields: Mapping[str, Any], column: str, place: str) -> str | None:
    value = fields.get(column)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"`{place}` must have text in the column {column!r}, got {value!r}")
    return value


def _picture(fields: Mapping[str, Any], column: str, folder: Path, place: str) -> Picture | None:
    value = _text(fields, column, place)
    if value is None:
        return None
    name = f"{place} {column}"
    # An address must reach the check of the cell as it is.
    path = value if is_address(value) else str(folder / value)
    return ImagePicture(image_cell(path, name), name)
