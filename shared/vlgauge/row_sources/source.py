"""What every source of rows can tell and give."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vlgauge.sandbox.kinds import CLIPS, Kind, is_clip, kind_of_cell, kinds_of_rows

__all__ = ["CLIPS", "Kind", "Origin", "Source", "is_clip", "kind_of_cell", "kinds_of_rows"]


@dataclass(frozen=True)
class Origin:
    """Which rows they are: the header of the scores."""

    id: str
    config: str | None = None
    split: str | None = None
    revision: str | None = None


class Source(Protocol):
    """Rows with numbers.

    Attributes:
        origin: Which rows they are.
        kinds: What each column holds, by its title.
        n_rows: How many there are; None where that is not known before all are read.
    """

    @property
    def origin(self) -> Origin:
        """Which rows they are."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What each column holds, by its title."""

    @property
    def n_rows(self) -> int | None:
        """How many rows there are; None where that is not known before all are read."""

    def rows(self, titles: Sequence[str], start: int = 0) -> Iterator[Mapping[str, Any]]:
        """Rows from a number on, with these columns; a cell that is an error says why it cannot be had."""

    def file(self, path: str, most_bytes: int) -> bytes | str:
        """Content of a file that the source holds, or the path of one that may be opened.

        Raises:
            ValueError: If it holds no such file, or a larger one; nothing else is opened or asked for.
        """
