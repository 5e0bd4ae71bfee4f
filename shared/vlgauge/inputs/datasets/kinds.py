"""Kinds of columns, inferred from their types or first cells."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

# Kind of a column, inferred from its type or its first cells.
Kind = Literal["text", "texts", "image", "images", "video", "scores", "other"]

# Columns of metrics whose cells are images or videos.
MEDIA_COLUMNS = ("images", "videos")

# File extensions of videos. A GIF counts as an image.
CLIPS = ("mp4", "m4v", "webm", "mov", "avi", "mkv", "mpg", "mpeg")


def is_clip(name: Any) -> bool:
    """Return whether a file name has the extension of a video."""
    return isinstance(name, str) and name.lower().endswith(tuple(f".{ending}" for ending in CLIPS))


def kind_of_cell(cell: Any) -> Kind:
    """Return the kind of a column, inferred from one of its cells."""
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, dict):
        if not {"bytes", "path"} & cell.keys():
            return "scores"
        return "video" if is_clip(cell.get("path")) else "image"
    if isinstance(cell, list) and cell:
        return {"text": "texts", "image": "images"}.get(kind_of_cell(cell[0]), "other")  # type: ignore[return-value]
    return "other"


def kinds_of_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, Kind]:
    """Return the kind of each column, inferred from its first non-empty cell with a kind other than "other"."""
    found: dict[str, Kind] = {}
    inferred: set[str] = set()
    for row in rows:
        for title, cell in row.items():
            if title not in inferred and (cell or title not in found):
                found[title] = kind_of_cell(cell)
                if cell and found[title] != "other":
                    inferred.add(title)
    return found
