"""What a column of rows holds, as far as its type or its first cells tell."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

# What a column holds, as far as its type or its first cells tell.
Kind = Literal["text", "texts", "image", "images", "video", "scores", "other"]

# How names of clips end; a GIF is a picture.
CLIPS = ("mp4", "m4v", "webm", "mov", "avi", "mkv", "mpg", "mpeg")


def is_clip(name: Any) -> bool:
    """Whether the name of a file is that of a clip."""
    return isinstance(name, str) and name.lower().endswith(tuple(f".{ending}" for ending in CLIPS))


def kind_of_cell(cell: Any) -> Kind:
    """What a column seems to hold, by one of its cells."""
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
    """What each column of a table seems to hold, by its first cell that is not empty and says so."""
    found: dict[str, Kind] = {}
    told: set[str] = set()
    for row in rows:
        for title, cell in row.items():
            if title not in told and (cell or title not in found):
                found[title] = kind_of_cell(cell)
                if cell and found[title] != "other":
                    told.add(title)
    return found
