"""Suggestions of table columns for a column that a metric requires. Suggestions are never used automatically."""

import re
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any

from vlgauge.core.files import is_address
from vlgauge.core.validation import is_missing
from vlgauge.families.base.columns import Captions, Column, Images, References, Story, Text
from vlgauge.families.base.components import Components
from vlgauge.families.base.video_columns import Videos
from vlgauge.inputs.datasets.kinds import is_clip, kind_of_cell
from vlgauge.inputs.images.cells import is_single_image
from vlgauge.inputs.tables.files import Rows

_LOOKED_AT = 50  # rows
_MOST = 4  # suggestions
_LONGEST_TITLE = 100  # a longer title is unlikely to be typed and would fill the message
_IMAGES = ("png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff")
# Titles of row IDs and row numbers, whatever their content.
_ID = re.compile(r"(?i:(?:.*[_\W])?(?:id|ids|key|uuid|guid|index|idx|hash|sha\d*|split)_*)|.*[a-z]Ids?")
_FILE_NAME = re.compile(r"\S*[/\\]\S*|\S+\.[A-Za-z]\w{1,4}")


def suggest_columns(rows: Rows, column: Column, taken: Collection[str]) -> list[tuple[str, Any]]:
    """Return titles that can be a column of a metric, each with its first cell."""
    found = []
    for title in rows[0]:
        if title in taken or not isinstance(title, str) or len(title) > _LONGEST_TITLE or _ID.fullmatch(title):
            continue
        cells = [row[title] for row in islice(rows, _LOOKED_AT) if title in row and not is_missing(row[title])]
        # COCO results have their captions under two titles. A caption is not a reference for itself.
        if column.name == "references" and _are_captions_again(cells, rows):
            continue
        if cells and all(_fits(column, cell) for cell in cells) and not _names_rows(column, cells):
            found.append((title, cells[0]))
    likest = max((_likeness(column, first) for _, first in found), default=0)
    return [one for one in found if _likeness(column, one[1]) == likest][:_MOST]


def _are_captions_again(cells: Sequence[Any], rows: Rows) -> bool:
    captions = [row.get("predictions") for row in rows[:_LOOKED_AT]]
    return all(isinstance(one, str) for one in (*cells, *captions)) and list(cells) == captions


def _fits(column: Column, cell: Any) -> bool:
    if isinstance(column, Videos):
        return is_clip(cell) or kind_of_cell(cell) == "video"
    if isinstance(column, Images):
        return any(_is_image(one) for one in (cell if isinstance(cell, list) and cell else [cell]))
    if isinstance(column, Components):
        return isinstance(cell, dict) and all(isinstance(one, (int, float)) for one in cell.values())
    if isinstance(column, (Story, References)):
        return _is_text(cell) or _are_texts(cell)
    if isinstance(column, Captions):
        return _are_texts(cell)
    return isinstance(column, Text) and _is_text(cell)


def _is_image(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.rpartition(".")[2].lower() in _IMAGES
    if isinstance(cell, dict):
        return kind_of_cell(cell) == "image"
    return is_single_image(cell)


def _is_text(cell: Any) -> bool:
    """Return whether a cell is natural language instead of a number, a path or a URL."""
    if not isinstance(cell, str) or not any(map(str.isalpha, cell)):
        return False
    text = cell.strip()
    return not is_address(text) and _FILE_NAME.fullmatch(text) is None


def _are_texts(cell: Any) -> bool:
    return isinstance(cell, list) and len(cell) > 0 and all(map(_is_text, cell))


def _names_rows(column: Column, cells: Sequence[Any]) -> bool:
    """Return whether cells are likely row IDs: single words of which some have digits, such as "a17"."""
    if (
        column.name == "styles"
        or isinstance(column, (Images, Videos))
        or not all(isinstance(cell, str) for cell in cells)
    ):
        return False
    return all(not cell.split()[1:] for cell in cells) and any(map(str.isdigit, "".join(cells)))


def _likeness(column: Column, cell: Any) -> int:
    """Return 1 for text of several words and 0 for other cells, or the reverse for a column of styles."""
    one = cell[0] if isinstance(cell, list) and cell else cell
    has_words = isinstance(one, str) and len(one.split()) > 1
    return int(has_words != (column.name == "styles"))
