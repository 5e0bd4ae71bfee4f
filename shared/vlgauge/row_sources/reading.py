"""Reading rows for metrics, some at a time: those that can be scored, and why the others cannot."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vlgauge.base.columns import Column, Images
from vlgauge.base.video_columns import Videos
from vlgauge.errors import UsageError, is_of_item
from vlgauge.media.frames import check_video
from vlgauge.media.images import check_image
from vlgauge.media.limits import RowLimits
from vlgauge.media.tables import AS_JSON, NO_PYTHON_LIST, PICTURED, is_missing, is_python_list, side_by_side
from vlgauge.row_sources.kept_files import KeptFiles, RunTooLarge
from vlgauge.row_sources.source import Source
from vlgauge.sandbox import reading
from vlgauge.statistics.drawing import is_unlabeled

Titles = Mapping[str, Sequence[str]]
_FILE = ("bytes", "path")


@dataclass(frozen=True)
class LeftOut:
    """A row that was not scored."""

    id: Any
    reason: str


def counted_reasons(left_out: Sequence[LeftOut]) -> list[tuple[str, int]]:
    """How many rows were left out for each reason, the most frequent first."""
    return Counter(one.reason for one in left_out).most_common()


@dataclass
class RowReader:
    """Rows of a source as columns of metrics; goes on where it stood.

    Clips that do not lie in files of this machine, and pictures where that is wanted, are kept in files until `clear`,
    or as long as this object.

    Attributes:
        source: Where they come from.
        wanted: Columns of the metrics.
        titles: Titles in the source by name of the column, several for references side by side; ``"id"`` names rows,
            ``"groups"`` labels those that belong together.
        limits: What a row may hold.
        in_files: Whether pictures wait in files rather than in memory.
        next_row: Number of the row that is read next.
        is_done: Whether the source has no more.
        ids: What the rows that can be scored are called: by the column ``"id"``, or by their number.
        groups: Their labels by the column ``"groups"``, where it has a title.
        columns: Their cells by name of the column, None for one that is not given.
        left_out: The others.
    """

    source: Source
    wanted: Sequence[Column]
    titles: Titles
    limits: RowLimits = field(default_factory=RowLimits)
    in_files: bool = False
    next_row: int = 0
    is_done: bool = False
    ids: list[Any] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    columns: dict[str, list[Any] | None] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    _n_bytes: int = 0
    _kept: KeptFiles = field(default_factory=KeptFiles)
    _rows: Iterator[Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        """Refuse columns that are not there."""
        needed = [one.name for one in self.wanted if not one.optional and not self.titles.get(one.name)]
        if needed:
            raise UsageError(f"`{'` and `'.join(dict.fromkeys(needed))}` must be columns of the rows, none is chosen")
        named = {title for titles in self.titles.values() for title in titles}
        if missing := sorted(named - self.source.kinds.keys()):
            there = ", ".join(map(str, list(self.source.kinds)[:20])) or "none"
            raise UsageError(f"the rows must have the columns {', '.join(missing)}, got {there:.500}")
        self.wanted = list(dict.fromkeys(self.wanted))  # of several metrics
        for column in self.wanted:
            self.columns.setdefault(column.name, [] if self.titles.get(column.name) else None)

    @property
    def n_read(self) -> int:
        """Number of rows that were read, whether they can be scored or not."""
        return len(self.ids) + len(self.left_out)

    def clear(self) -> None:
        """Remove what was kept in files; the columns name some that are gone then."""
        self._kept.clear()

    def read(self, n_rows: int) -> int:
        """Read up to so many rows more; returns how many there were.

        Raises:
            ValueError: If the source cannot be read.
            OSError: If it cannot be had; what was read before stays, and the next call tries again from there.
        """
        with reading("boxed"):
            return self._read(n_rows)

    def _read(self, n_rows: int) -> int:
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
        label = ""
        before, files = self._n_bytes, _RowFiles(self._kept)
        try:
            if titles := self.titles.get("id"):
                name = row[titles[0]]
            if titles := self.titles.get("groups"):
                if is_unlabeled(row[titles[0]]):
                    raise UsageError(f"`groups` must be a column that every row has, this one has none in {titles[0]}")
                label = str(row[titles[0]])
            given = {column: self._given(column, row, files) for column in self.columns}
            cells = {one.name: checked_cell(one, given[one.name], one.name, self.limits) for one in self.wanted}
            if self.in_files:
                cells = {column: _filed(cell, files) for column, cell in cells.items()}
        except Exception as error:
            self._n_bytes = before
            told = files.forgotten(str(error))
            is_of_row = is_of_item(error) or (isinstance(error, OSError) and not isinstance(error, UsageError))
            if isinstance(error, RunTooLarge) or not is_of_row:
                raise
            self.left_out.append(LeftOut(name, " ".join(told.split())))
            return
        self.ids.append(name)
        if self.titles.get("groups"):
            self.groups.append(label)
        for column, cell in cells.items():
            if (kept := self.columns[column]) is not None:
                kept.append(cell)

    def _given(self, column: str, row: Mapping[str, Any], files: "_RowFiles") -> Any:
        """What a row has for a column; the pictures of it as bytes, a clip as a file."""
        titles = self.titles.get(column) or ()
        if not titles:
            return None
        found = [row[title] for title in titles]
        for cell in found:
            if isinstance(cell, Exception):
                raise cell
            if is_python_list(cell):
                raise UsageError(f"`{column}` {NO_PYTHON_LIST} {AS_JSON}")
        if column not in PICTURED:
            return side_by_side(found) if len(found) > 1 else None if is_missing(found[0]) else found[0]
        # Of several columns, such as one per ending of files, a row may fill one.
        there = [one for one in found if not is_missing(one)]
        if len(there) > 1 and column == "videos":
            raise UsageError.about(
                "videos", f"must be one column of a row, got {' and '.join(titles)}; choose one of them"
            )
        cell = side_by_side(there) if len(there) > 1 else there[0] if there else None
        return self._clip(cell, column, files) if column == "videos" else self._picture(cell, column)

    def _picture(self, cell: Any, place: str) -> Any:
        """The bytes of a picture, or of a list of them."""
        if isinstance(cell, list):
            return [self._picture(one, place) for one in cell]
        return self._content(cell, place, self.limits.picture_bytes)

    def _clip(self, cell: Any, place: str, files: "_RowFiles") -> Any:
        """A clip as the path of a file, with what else the cell tells of it; one that is frames as pictures."""
        if isinstance(cell, list):
            return self._picture(cell, place)
        others = {key: value for key, value in cell.items() if key not in _FILE} if isinstance(cell, Mapping) else {}
        if isinstance(others.get("frames"), list):
            return {**others, "frames": self._picture(others["frames"], place)}
        content = self._content(cell, place, self.limits.clip_bytes)
        path = files.add(content) if isinstance(content, bytes) else content
        return {**others, "path": path} if others else path

    def _content(self, cell: Any, place: str, most_bytes: int) -> bytes | str | None:
        """Content of the file of a cell, or the path of one that may be opened; None for no file."""
        if isinstance(cell, Mapping):
            path, content = cell.get("path"), cell.get("bytes")
        else:
            path, content = (cell, None) if isinstance(cell, str) else (None, cell)
        if content is None and isinstance(path, str) and path:
            content = self.source.file(path, most_bytes)
        if content is None or isinstance(content, str):
            return content
        if not isinstance(content, bytes):
            raise UsageError.about(place, f"must be the bytes or the name of a file, got {type(content).__name__}")
        if len(content) > most_bytes:
            raise UsageError.about(place, f"must be a file of at most {most_bytes:,} bytes, got a larger one")
        self._n_bytes += len(content)
        if self._n_bytes > self.limits.run_bytes:
            raise RunTooLarge(
                f"`{place}` must have at most {self.limits.run_bytes:,} bytes in all rows, got more at row "
                f"{self.next_row}; take fewer rows, or raise `run_bytes`"
            )
        return content


class _RowFiles:
    """The files of one row."""

    def __init__(self, kept: KeptFiles) -> None:
        self._kept = kept
        self._sizes: dict[str, int] = {}

    def add(self, content: bytes) -> str:
        """Path of a new one."""
        path = self._kept.add(content)
        self._sizes[path] = len(content)
        return path

    def forgotten(self, message: str) -> str:
        """A message without their paths, which differ from row to row; they are removed."""
        for path, size in self._sizes.items():
            Path(path).unlink(missing_ok=True)
            message = message.replace(repr(path), f"{size:,} bytes")
        return message


def _filed(cell: Any, files: _RowFiles) -> Any:
    """A cell whose bytes are in files."""
    if isinstance(cell, list):
        return [_filed(one, files) for one in cell]
    if isinstance(cell, dict):
        return {key: _filed(value, files) for key, value in cell.items()}
    return files.add(cell) if isinstance(cell, bytes) else cell


def checked_cell(column: Column, cell: Any, place: str, limits: RowLimits) -> Any:
    """The cell, if the metric will take it: its pictures and its clip can be read, its texts are not too long.

    Raises:
        ValueError: If it will not.
        TypeError: If it is of another kind.
    """
    if cell is None:
        if column.optional:
            return None
        raise UsageError.about(place, "must be given, got nothing")
    texts = list(cell.values()) if isinstance(cell, Mapping) else cell if isinstance(cell, list) else [cell]
    longest = max((len(text) for text in texts if isinstance(text, (str, list))), default=0)
    if longest > limits.characters:
        raise UsageError.about(place, f"must have at most {limits.characters:,} characters, got {longest:,}")
    stored = column.store(cell, place)
    if isinstance(column, Images):
        for picture in stored or ():
            check_image(picture, place, max_pixels=limits.pixels)
    if isinstance(column, Videos) and stored:
        for picture in stored["frames"] or ():
            check_image(picture, place, max_pixels=limits.pixels)
        check_video({**stored, "path": stored["path"] or None}, place)
    return cell
