"""Protocol of sources of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vlgauge.inputs.datasets.kinds import CLIPS, Kind, is_clip, kind_of_cell, kinds_of_rows

__all__ = ["CLIPS", "Kind", "Origin", "Source", "is_clip", "kind_of_cell", "kinds_of_rows"]


@dataclass(frozen=True)
class Origin:
    """Identification of the rows, for the header of scores."""

    id: str
    config: str | None = None
    split: str | None = None
    revision: str | None = None


class Source(Protocol):
    """Protocol for sources of numbered rows.

    Attributes:
        origin: Identification of the rows.
        kinds: Kind of content by column name.
        n_rows: Number of rows. None if it is unknown before all rows are read.
    """

    @property
    def origin(self) -> Origin:
        """Identification of the rows."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of content by column name."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows. None if it is unknown before all rows are read."""

    def rows(self, titles: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the given columns of the rows from row `start` up to row `stop`, cells by column name.

        A cell that cannot be read is an exception. Row `stop` is not included, and None is for all rows.
        """

    def file(self, path: str, most_bytes: int) -> bytes | str:
        """Return the content of a file of the source, or the path of a file that may be opened.

        No other file is opened or requested.

        Raises:
            ValueError: If the source has no such file, or the file is larger than `most_bytes`.
        """
