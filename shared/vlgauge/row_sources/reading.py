"""Reading rows for metrics, some at a time: those that can be scored, and why the others cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vlgauge.base.columns import Column, Images
from vlgauge.media.images import open_image
from vlgauge.media.tables import PICTURED, is_missing, side_by_side
from vlgauge.network import NetworkError
from vlgauge.row_sources.limits import RowLimits
from vlgauge.row_sources.source import Source

Titles = Mapping[str, Sequence[str]]


class RunTooLarge(ValueError):
    """Pictures that do not fit into a run."""


@dataclass(frozen=True)
class LeftOut:
    """A row that was not scored.

    Attributes:
        id: What the row is called.
        reason: Why.
    """

    id: Any
    reason: str


def counted_reasons(left_out: Sequence[LeftOut]) -> list[tuple[str, int]]:
    """How many rows were left out for each reason, the most frequent first."""
    return Counter(one.reason for one in left_out).most_common()


@dataclass
class RowReader:
    """Rows of a source as columns of metrics; goes on where it stood.

    Attributes:
        source: Where they come from.
        wanted: Columns of the metrics.
        titles: Titles in the source by name of the column, several for references side by side; ``"id"`` names rows.
        limits: What a row may hold.
        next_row: Number of the row that is read next.
        is_done: Whether the source has no more.
        ids: What the rows that can be scored are called: by the column ``"id"``, or by their number.
        columns: Their cells by name of the column, None for one that is not given.
        left_out: The others.
    """

    source: Source
    wanted: Sequence[Column]
    titles: Titles
    limits: RowLimits = field(default_factory=RowLimits)
    next_row: int = 0
    is_done: bool = False
    ids: list[Any] = field(default_factory=list)
    columns: dict[str, list[Any] | None] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    _n_bytes: int = 0
    _rows: Iterator[Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        """Refuse columns that are not there.

        Raises:
            ValueError: If a column is needed and not named, or named and not there; all of them are told.
        """
        needed = [one.name for one in self.wanted if not one.optional and not self.titles.get(one.name)]
        if needed:
            raise ValueError(f"`{'` and `'.join(dict.fromkeys(needed))}` must be columns of the rows, none is chosen")
        named = {title for titles in self.titles.values() for title in titles}
        if missing := sorted(named - self.source.kinds.keys()):
            there = ", ".join(map(str, list(self.source.kinds)[:20])) or "none"
            raise ValueError(f"the rows must have the columns {', '.join(missing)}, got {there:.500}")
        for column in self.wanted:
            self.columns.setdefault(column.name, [] if self.titles.get(column.name) else None)

    def read(self, n_rows: int) -> int:
        """Read up to so many rows more; returns how many there were.

        Raises:
            ValueError: If the source cannot be read.
            OSError: If it cannot be had; what was read before stays, and the next call tries again from there.
        """
        if self._rows is None:
            own = list(dict.fromkeys(title for titles in self.titles.values() for title in titles))
            self._rows = self.source.rows(own, self.next_row)
        for done in range(n_rows):
            try:
                self._take(next(self._rows))
            except StopIteration:
                self.is_done = True
                return done
            except Exception:
                self._rows = None  # a generator that failed is at its end; the next call begins with this row
                raise
            self.next_row += 1
        return n_rows

    def _take(self, row: Mapping[str, Any]) -> None:
        name: Any = self.next_row
        try:
            if titles := self.titles.get("id"):
                name = row[titles[0]]
            cells = {column.name: self._cell(column, row) for column in self.wanted}
        except (RunTooLarge, NetworkError):
            raise  # no fault of this row
        except (ValueError, TypeError, OSError) as error:
            self.left_out.append(LeftOut(name, " ".join(str(error).split())))
            return
        self._n_bytes += sum(_n_bytes(cell) for cell in cells.values())
        self.ids.append(name)
        for column, cell in cells.items():
            if (kept := self.columns[column]) is not None:
                kept.append(cell)

    def _cell(self, column: Column, row: Mapping[str, Any]) -> Any:
        """The cell of a column, checked.

        Raises:
            ValueError: If it cannot be scored.
        """
        titles = self.titles.get(column.name) or ()
        if not titles:
            return None
        found = [row[title] for title in titles]
        for cell in found:
            if isinstance(cell, Exception):
                raise cell
        cell = side_by_side(found) if len(found) > 1 else None if is_missing(found[0]) else found[0]
        if column.name in PICTURED:
            cell = self._picture(cell, column.name)
        return checked_cell(column, cell, column.name, self.limits)

    def _picture(self, cell: Any, place: str) -> Any:
        """The bytes of a picture, or of a list of them."""
        if isinstance(cell, list):
            return [self._picture(one, place) for one in cell]
        if isinstance(cell, Mapping):
            path, content = cell.get("path"), cell.get("bytes")
        else:
            path, content = (cell, None) if isinstance(cell, str) else (None, cell)
        if content is None and isinstance(path, str) and path:
            content = self.source.file(path, self.limits.picture_bytes)
        if isinstance(content, str):
            return {**cell, "path": content} if isinstance(cell, Mapping) and "bytes" not in cell else content
        if content is None:
            return None
        if not isinstance(content, bytes):
            raise ValueError(f"`{place}` must be the bytes or the name of a file, got {type(content).__name__}")
        if len(content) > self.limits.picture_bytes:
            raise ValueError(_too_large(place, self.limits.picture_bytes))
        if self._n_bytes + len(content) > self.limits.run_bytes:
            raise RunTooLarge(
                f"`{place}` must have at most {self.limits.run_bytes:,} bytes in all rows, got more at row "
                f"{self.next_row}; take fewer rows, or raise `run_bytes`"
            )
        return content


def checked_cell(column: Column, cell: Any, place: str, limits: RowLimits) -> Any:
    """The cell, if the metric will take it: its pictures can be read, its texts are not too long.

    Raises:
        ValueError: If it will not.
        TypeError: If it is of another kind.
    """
    if cell is None and not column.optional:
        raise ValueError(f"`{place}` must be given, got nothing")
    texts = list(cell.values()) if isinstance(cell, Mapping) else cell if isinstance(cell, list) else [cell]
    longest = max((len(text) for text in texts if isinstance(text, (str, list))), default=0)
    if longest > limits.characters:
        raise ValueError(f"`{place}` must have at most {limits.characters:,} characters, got {longest:,}")
    stored = column.store(cell, place)
    if isinstance(column, Images):
        for picture in stored or ():
            open_image(picture, place, max_pixels=limits.pixels)
    return cell


def _n_bytes(cell: Any) -> int:
    if isinstance(cell, list):
        return sum(map(_n_bytes, cell))
    return len(cell) if isinstance(cell, bytes) else 0


def _too_large(place: str, most: int) -> str:
    return f"`{place}` must be a file of at most {most:,} bytes, got a larger one"
