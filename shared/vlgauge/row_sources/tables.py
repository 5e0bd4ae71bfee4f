"""Rows of a table that somebody uploaded, with the pictures beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vlgauge.media.tables import read_rows
from vlgauge.row_sources.source import Kind, Origin, kind_of_cell


class UploadedRows:
    """Rows of a table; a picture or clip is what was uploaded under the name that its cell ends in.

    Args:
        path: The table.
        uploads: Paths of the other uploads.

    Raises:
        ValueError: If it is no table.
    """

    def __init__(self, path: str, uploads: Sequence[str] = ()) -> None:
        self._rows = read_rows(path)
        self.origin = Origin(Path(path).name)
        self._uploads: dict[str, str | None] = {}
        for one in uploads:
            name = Path(one).name
            self._uploads[name] = None if name in self._uploads else one

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What each column holds, by the first cell that is not empty."""
        titles = dict.fromkeys(title for row in self._rows for title in row)
        first = {title: next((row[title] for row in self._rows if row.get(title)), None) for title in titles}
        return {title: kind_of_cell(cell) for title, cell in first.items()}

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def rows(self, titles: Sequence[str], start: int = 0) -> Iterator[Mapping[str, Any]]:
        """Rows from a number on, with these columns."""
        for row in self._rows[start:]:
            yield {title: row.get(title) for title in titles}

    def file(self, path: str, most_bytes: int) -> str:
        """Path of the upload of that name.

        Raises:
            ValueError: If there is none, or two; nothing else is looked for, let alone opened.
        """
        name = path.replace("\\", "/").rpartition("/")[2]
        if (found := self._uploads.get(name)) is None:
            what = (
                "the name of one uploaded file, got that of several"
                if name in self._uploads
                else "an uploaded file, got"
            )
            raise ValueError(f"a picture or clip must be {what} {name[:60]!r}; upload it beside the table")
        if Path(found).stat().st_size > most_bytes:
            raise ValueError(f"a picture or clip must be a file of at most {most_bytes:,} bytes, got a larger one")
        return found
