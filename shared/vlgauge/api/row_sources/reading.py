"""Incremental reading of rows for metrics, which records skipped rows with reasons."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from vlgauge.api.row_sources.kept_files import KeptFiles, RunTooLargeError
from vlgauge.api.row_sources.source import Source
from vlgauge.core.errors import UsageError, is_of_item
from vlgauge.core.validation import is_missing
from vlgauge.families.base.columns import Column, Images
from vlgauge.families.base.video_columns import Videos
from vlgauge.inputs.datasets.kinds import MEDIA_COLUMNS
from vlgauge.inputs.images.cells import check_image, short_cell
from vlgauge.inputs.images.lazy_images import content_digest
from vlgauge.inputs.limits import RowLimits, check_n_texts
from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.inputs.tables.files import AS_JSON, NO_PYTHON_LIST, is_python_list, side_by_side
from vlgauge.inputs.video.decoder import VideoSource
from vlgauge.inputs.video.frames import check_video
from vlgauge.stats.drawing import is_unlabeled

Titles = Mapping[str, Sequence[str]]
_FILE = ("bytes", "path")
_PLACE, _VALUE = "\0place", "\0value"

CheckedFiles: TypeAlias = dict[tuple[Any, ...], UsageError | None]
"""Errors of checked images and videos by content, None for valid ones."""


@dataclass(frozen=True)
class SkippedRow:
    """Row that was skipped, and the reason."""

    id: Any
    reason: str


def skip_reasons(left_out: Sequence[SkippedRow]) -> list[tuple[str, int]]:
    """Count the skipped rows by reason, most frequent first."""
    return Counter(one.reason for one in left_out).most_common()


@dataclass
class RowReader:
    """Reader that converts rows of a source to columns of metrics, and continues at the next row on each call.

    Videos that are not files on this machine, and images if `in_files` is set, are stored in temporary files until
    `clear` is called or this object is deleted.

    Attributes:
        source: Source of the rows.
        wanted: Columns of the metrics.
        titles: Column names of the source by column of the metrics, several for references in parallel columns.
            ``"id"`` identifies rows, and ``"groups"`` labels rows that belong together.
        limits: Limits of the content of a row.
        in_files: Whether images are stored in files instead of memory.
        next_row: Index of the next row.
        stop_row: Index of the row before which the caller stops. None if it reads all rows.
        is_done: Whether the source has no more rows.
        ids: Ids of the valid rows, from the column ``"id"`` or their index.
        groups: Labels of the valid rows from the column ``"groups"``, if it is specified.
        columns: Cells of the valid rows by column. None for a column that is not specified.
        left_out: Skipped rows.
    """

    source: Source
    wanted: Sequence[Column]
    titles: Titles
    limits: RowLimits = field(default_factory=RowLimits)
    in_files: bool = False
    next_row: int = 0
    stop_row: int | None = None
    is_done: bool = False
    ids: list[Any] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    columns: dict[str, list[Any] | None] = field(default_factory=dict)
    left_out: list[SkippedRow] = field(default_factory=list)
    _n_bytes: int = 0
    _kept: KeptFiles = field(default_factory=KeptFiles)
    _checked: CheckedFiles = field(default_factory=dict)
    _rows: Iterator[Mapping[str, Any]] | None = None
    _stop: int | None = None

    def __post_init__(self) -> None:
        """Check that all required and specified columns exist."""
        needed = [one.name for one in self.wanted if not one.optional and not self.titles.get(one.name)]
        if needed:
            raise UsageError(
                f"`{'` and `'.join(dict.fromkeys(needed))}` must be columns of the rows, but no column is selected"
            )
        named = {title for titles in self.titles.values() for title in titles}
        if missing := sorted(named - self.source.kinds.keys()):
            there = ", ".join(map(str, list(self.source.kinds)[:20])) or "none"
            raise UsageError(f"the rows must have the columns {', '.join(missing)}, got {there:.500}")
        self.wanted = list(dict.fromkeys(self.wanted))  # several metrics may share a column
        for column in self.wanted:
            self.columns.setdefault(column.name, [] if self.titles.get(column.name) else None)

    @property
    def n_read(self) -> int:
        """Number of rows that were read, including skipped ones."""
        return len(self.ids) + len(self.left_out)

    def clear(self) -> None:
        """Remove the temporary files. The columns may contain paths that no longer exist."""
        self._kept.clear()

    def read(self, n_rows: int) -> int:
        """Read up to `n_rows` more rows.

        Returns:
            Number of rows that were read.

        Raises:
            ValueError: If the source is invalid.
            OSError: If the source cannot be reached. Rows read before are kept, and the next call retries from the
                failed row.
        """
        with use_sandbox():
            return self._read(n_rows)

    def _read(self, n_rows: int) -> int:
        if self._rows is None:
            own = list(dict.fromkeys(title for titles in self.titles.values() for title in titles))
            self._rows, self._stop = self.source.rows(own, self.next_row, self.stop_row), self.stop_row
        for done in range(n_rows):
            try:
                self._take(next(self._rows))
            except StopIteration:
                self.is_done = True
                return done
            except Exception:
                self._rows = None  # a failed generator is exhausted, so the next call starts again with this row
                raise
            self.next_row += 1
            if self.next_row == self._stop:
                self._rows = None  # more rows than planned begin with this row
                return done + 1
        return n_rows

    def _take(self, row: Mapping[str, Any]) -> None:
        name: Any = self.next_row
        label = ""
        before = self._n_bytes
        self._kept.start_row()
        try:
            if titles := self.titles.get("id"):
                name = row[titles[0]]
            if titles := self.titles.get("groups"):
                if is_unlabeled(row[titles[0]]):
                    raise UsageError.about(
                        "groups", f"must be a column with a value in every row, got none in {titles[0]}"
                    )
                label = str(row[titles[0]])
            given = {column: self._read_cell(column, row) for column in self.columns}
            cells = {
                one.name: check_cell(one, given[one.name], one.name, self.limits, self._checked) for one in self.wanted
            }
            if self.in_files:
                cells = {column: self._replace_bytes(cell) for column, cell in cells.items()}
        except Exception as error:
            self._n_bytes = before
            reason = self._kept.discard_row(str(error))
            is_of_row = is_of_item(error) or (isinstance(error, OSError) and not isinstance(error, UsageError))
            if isinstance(error, RunTooLargeError) or not is_of_row:
                raise
            self.left_out.append(SkippedRow(name, " ".join(reason.split())))
            return
        self.ids.append(name)
        if self.titles.get("groups"):
            self.groups.append(label)
        for column, cell in cells.items():
            if (kept := self.columns[column]) is not None:
                kept.append(cell)

    def _read_cell(self, column: str, row: Mapping[str, Any]) -> Any:
        """Return the cell of a row for a column, with images as bytes and videos as files."""
        titles = self.titles.get(column) or ()
        if not titles:
            return None
        found = [row[title] for title in titles]
        for cell in found:
            if isinstance(cell, Exception):
                raise cell
            if is_python_list(cell):
                raise UsageError.about(column, f"{NO_PYTHON_LIST} {AS_JSON}")
        if column not in MEDIA_COLUMNS:
            return side_by_side(found) if len(found) > 1 else None if is_missing(found[0]) else found[0]
        # A row may fill only one of several columns, such as one column per file extension.
        there = [one for one in found if not is_missing(one)]
        if len(there) > 1 and column == "videos":
            raise UsageError.about(
                "videos", f"must be one column of a row, got {' and '.join(titles)}; choose one of them"
            )
        cell = side_by_side(there) if len(there) > 1 else there[0] if there else None
        return self._clip(cell, column) if column == "videos" else self._image(cell, column)

    def _image(self, cell: Any, place: str) -> Any:
        """Return the bytes of an image, or of a list of images."""
        if isinstance(cell, list):
            return [self._image(one, place) for one in cell]
        return self._content(cell, place, self.limits.picture_bytes)

    def _clip(self, cell: Any, place: str) -> Any:
        """Return a video as a path, with the other keys of the cell, or as images if the cell contains frames."""
        if isinstance(cell, list):
            return self._image(cell, place)
        others = {key: value for key, value in cell.items() if key not in _FILE} if isinstance(cell, Mapping) else {}
        if isinstance(others.get("frames"), list):
            return {**others, "frames": self._image(others["frames"], place)}
        content = self._content(cell, place, self.limits.clip_bytes)
        path = self._kept.add(content) if isinstance(content, bytes) else content
        return {**others, "path": path} if others else path

    def _content(self, cell: Any, place: str, most_bytes: int) -> bytes | str | None:
        """Return the file content of a cell, or the path of a file that may be opened. None if there is no file."""
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
            raise RunTooLargeError(
                f"`{place}` must have at most {self.limits.run_bytes:,} bytes in all rows, got more at row "
                f"{self.next_row}; score fewer rows, or increase `run_bytes`"
            )
        return content

    def _replace_bytes(self, cell: Any) -> Any:
        """Replace the bytes in a cell with paths of files."""
        if isinstance(cell, list):
            return [self._replace_bytes(one) for one in cell]
        if isinstance(cell, dict):
            return {key: self._replace_bytes(value) for key, value in cell.items()}
        return self._kept.add(cell) if isinstance(cell, bytes) else cell


def check_cell(column: Column, cell: Any, place: str, limits: RowLimits, checked: CheckedFiles | None = None) -> Any:
    """Check that a metric can score a cell: images and videos are readable, and texts are few and short enough.

    Args:
        column: Column of the metric.
        cell: Cell in the form that the metric accepts.
        place: Position of the cell, for error messages.
        limits: Limits of the content of a row.
        checked: Results for images and videos of previous cells. The results for this cell are added.

    Returns:
        The unchanged cell.

    Raises:
        ValueError: If the cell is invalid.
        TypeError: If the cell has the wrong type.
    """
    if cell is None:
        if column.optional:
            return None
        raise UsageError.about(place, "is required")
    if isinstance(cell, list) and not isinstance(column, (Images, Videos)):
        check_n_texts(place, len(cell), limits.texts)
    texts = list(cell.values()) if isinstance(cell, Mapping) else cell if isinstance(cell, list) else [cell]
    longest = max((len(text) for text in texts if isinstance(text, (str, list))), default=0)
    if longest > limits.characters:
        raise UsageError.about(place, f"must have at most {limits.characters:,} characters, got {longest:,}")
    checked = {} if checked is None else checked
    stored = column.store(cell, place)
    if isinstance(column, Images):
        for image in stored or ():
            _check_image(image, place, limits, checked)
    if isinstance(column, Videos) and stored:
        for image in stored["frames"] or ():
            _check_image(image, place, limits, checked)
        if path := stored["path"]:
            key = (VideoSource(path, place).digest, stored["start"], stored["end"])
            _check_once(key, checked, place, repr(path), partial(check_video, stored, place))
        else:
            check_video({**stored, "path": None}, place)
    return cell


def _check_image(cell: Mapping[str, Any], place: str, limits: RowLimits, checked: CheckedFiles) -> None:
    check = partial(check_image, cell, place, max_pixels=limits.pixels)
    _check_once((content_digest(cell, place),), checked, place, short_cell(cell), check)


def _check_once(key: tuple[Any, ...], checked: CheckedFiles, place: str, value: str, check: Callable[[], None]) -> None:
    """Check a file unless its content is known, because a table may name a slow file in every row."""
    if key not in checked:
        try:
            check()
            checked[key] = None
        except UsageError as error:
            # Without its traceback, which keeps the content.
            message = str(error).replace(f"`{place}`", _PLACE).replace(value, _VALUE)
            checked[key] = error.with_message(message)
            raise
    elif (known := checked[key]) is not None:
        repeated = known.with_message(str(known).replace(_PLACE, f"`{place}`").replace(_VALUE, value))
        repeated.argument = known.argument and place
        raise repeated
