"""What every source of rows can tell and give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

# What a column holds, as far as its type or its first cells tell.
Kind = Literal["text", "texts", "image", "images", "video", "scores", "other"]

# How names of clips end; a GIF is a picture.
CLIPS = ("mp4", "m4v", "webm", "mov", "avi", "mkv", "mpg", "mpeg")


@dataclass(frozen=True)
class Origin:
    """Which rows they are: the header of the scores.

    Attributes:
        id: The data set of the Hub, or the name of a file.
        config: Configuration of a data set of the Hub.
        split: Its split.
        revision: Its commit.
    """

    id: str
    config: str | None = None
    split: str | None = None
    revision: str | None = None


class Source(Protocol):
    """Rows with numbers.

    Attributes:
        origin: Which rows they are.
        kinds: What each column holds, by its title.
    """

    @property
    def origin(self) -> Origin:
        """Which rows they are."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What each column holds, by its title."""

    def rows(self, titles: Sequence[str], start: int = 0) -> Iterator[Mapping[str, Any]]:
        """Rows from a number on, with these columns; a cell that is an error says why it cannot be had."""

    def file(self, path: str, most_bytes: int) -> bytes | str:
        """Content of a file that the source holds, or the path of one that may be opened.

        Raises:
            ValueError: If it holds no such file, or a larger one; nothing else is opened or asked for.
        """


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
