"""Rows of grouped files: files with the same name form a row, and their extensions are its columns.

Names in a tar archive are split at the first dot, as in WebDataset. Names in a folder or zip archive are split at the
last one, because names such as "shot 10.15.23.png" contain other dots. Names are only labels. No file is written, and
files are opened only by the archive or folder that listed them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from vlgauge.api.row_sources.source import CLIPS, Kind, Origin
from vlgauge.core.errors import UsageError
from vlgauge.core.files import current_limits, decode_text
from vlgauge.inputs.archives import ArchiveFile, archive_files
from vlgauge.inputs.limits import MAX_COLUMNS, RowLimits, check_n_columns
from vlgauge.inputs.sandbox import MEGABYTE, run

KEY = "__key__"
_TEXTS = ("txt", "text", "caption", "cls")
_IMAGES = ("jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "ppm")
_LOOK_AHEAD = 1000  # minimum number of files that are listed, for any number of rows
_SHARE = 4  # a JSON file may use the memory limit of a table divided by this
_ESCAPED = 6  # maximum number of characters of an escaped one
# Maximum number and size of the JSON files from which columns are inferred.
_JSON_FILES, _JSON_BYTES = 1000, 2**24
# Columns of the image or video of a row, if rows have them in files with different extensions.
_ANY: Mapping[str, Sequence[str]] = {"image": _IMAGES, "video": CLIPS}
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(_TEXTS, "text"),
    **dict.fromkeys(_IMAGES, "image"),
    **dict.fromkeys(CLIPS, "video"),
}


def split_path(name: str, *, at_first_dot: bool) -> tuple[str, str]:
    """Split a path into the key that the files of a row share (folders and stem) and the lowercase extension.

    Args:
        name: Path of the file.
        at_first_dot: Whether the name is split at its first dot instead of the last one.
    """
    folder, slash, last = name.rpartition("/")
    stem, _, ending = last.partition(".") if at_first_dot else last.rpartition(".")
    return f"{folder}{slash}{stem}", ending.lower()


class GroupedRows:
    """Rows of the files of an archive or folder, in the order of their first files.

    Args:
        origin: Identification of the rows.
        files: All files. Files with other extensions are ignored.
        limits: Limits of file sizes.
        at_first_dot: Whether names are split at their first dot instead of the last one.
        most_rows: Number of rows that will be read. Further files are not listed if the files of each row are adjacent.
            Otherwise all files are listed.

    Attributes:
        n_rows: Number of rows. None if not all files were listed.

    Raises:
        UsageError: If there are no texts, images or videos, or two files belong to the same cell.
    """

    def __init__(
        self,
        origin: Origin,
        files: Iterable[ArchiveFile],
        limits: RowLimits,
        *,
        at_first_dot: bool,
        most_rows: int | None = None,
    ) -> None:
        self.origin = origin
        self._limits = limits
        self._rows: dict[str, dict[str, ArchiveFile]] = {}
        self.n_rows: int | None = None
        last, is_scattered, has_several = "", False, False
        for number, one in enumerate(files):
            key, ending = split_path(one.name, at_first_dot=at_first_dot)
            if one.is_hidden or ending not in (*_KINDS, "json"):
                continue
            if key != last:
                is_scattered = is_scattered or key in self._rows
                # If no row has several files, all images may come before all captions.
                stand_together = has_several and not is_scattered
                if most_rows is not None and len(self._rows) >= most_rows and number >= _LOOK_AHEAD and stand_together:
                    return
            files_of_row = self._rows.setdefault(key, {})
            other = files_of_row.setdefault(ending, one)
            if other is not one:
                raise UsageError(
                    f"FILE must have each file of a row once, got {other.name[-60:]!r} and {one.name[-60:]!r}; rename "
                    "or remove one of them"
                )
            last, has_several = key, has_several or len(files_of_row) > 1
        self.n_rows = len(self._rows)
        if self.kinds.keys() == {KEY}:
            raise UsageError(f"FILE must have files of texts, images or videos, got none in {origin.id!r}")

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of content of each column, based on the files of all rows and the content of the first JSON files."""
        found: dict[str, Kind] = {KEY: "text"}
        n_files = n_bytes = 0
        for files in self._rows.values():
            for ending, one in files.items():
                if ending in _KINDS:
                    found[ending] = _KINDS[ending]
                    continue
                n_files, n_bytes = n_files + 1, n_bytes + one.n_bytes
                if n_files > 1 and (n_files > _JSON_FILES or n_bytes > _JSON_BYTES):
                    continue
                cells = _object(one, self._limits.picture_bytes)
                for title, kind in ({} if isinstance(cells, Exception) else cells).items():
                    if found.get(f"json.{title}", "other") == "other":  # such as an empty list
                        found[f"json.{title}"] = kind
                check_n_columns("FILE", len(found), one.name[-60:])
        for title, endings in _ANY.items():
            if len(found.keys() & {*endings}) > 1:
                found[title] = _KINDS[endings[0]]
        return found

    @cached_property
    def _in_all(self) -> Mapping[str, str | None]:
        """Extension in `_ANY` that all rows with such a file share, by column. None if there is no such extension."""
        found: dict[str, str | None] = {}
        for title, endings in _ANY.items():
            own = [files.keys() & {*endings} for files in self._rows.values() if files.keys() & {*endings}]
            found[title] = min(set.intersection(*own), key=endings.index, default=None) if own else None
        return found

    def rows(self, titles: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the given columns of the rows from row `start` up to row `stop`, cells by column name.

        A cell that cannot be read is the error.
        """
        names = [title.removeprefix("json.") for title in titles if title.startswith("json.")]
        for key, files in islice(self._rows.items(), start, stop):
            has_cells = names and "json" in files
            cells = _object(files["json"], self._limits.picture_bytes, names) if has_cells else {}
            yield {title: self._cell(title, key, files, cells) for title in titles}

    def _cell(self, title: str, key: str, files: Mapping[str, ArchiveFile], cells: dict[str, Any] | UsageError) -> Any:
        if title == KEY:
            return key
        try:
            ending, _, name = title.partition(".")
            ending = self._any_of(title, files) if title in _ANY else ending
            if name:
                return cells if isinstance(cells, UsageError) else cells.get(name)
            if ending not in files:
                return None
            most = self._limits.clip_bytes if ending in CLIPS else self._limits.picture_bytes
            content = files[ending].content(most)
            if ending in _TEXTS:
                return decode_text(content, f"`{ending}`", files[ending].name).strip()
            return {"bytes": content, "path": None}
        except UsageError as error:
            return error

    def _any_of(self, title: str, files: Mapping[str, ArchiveFile]) -> str:
        """Return the extension of the image or video of a row. Empty if it has none."""
        if in_all := self._in_all[title]:
            return in_all
        there = [ending for ending in _ANY[title] if ending in files]
        if len(there) > 1:
            names = " and ".join(repr(files[ending].name[-60:]) for ending in there)
            raise UsageError.about(
                title, f"must be one file per row, got {names}", f"choose the column {' or '.join(there)}"
            )
        return there[0] if there else ""

    def file(self, path: str, most_bytes: int) -> bytes:
        """Raise an error, because the content of a row is in its files.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"an image or video must be a file of the row itself, got the name {path[:60]!r}")


def _object(file: ArchiveFile, most_bytes: int, titles: Sequence[str] | None = None) -> dict[str, Any] | UsageError:
    """Return the cells with the given titles of the object in a JSON file, or the error if there is none.

    Without titles, return the kinds of all cells.
    """
    try:
        content = file.content(min(most_bytes, current_limits().max_row))
        limit = current_limits().max_unpacked // _SHARE
        settings = {"name": file.name, "titles": titles, "most_titles": MAX_COLUMNS + 1, "limit": limit}
        most = _ESCAPED * len(content) + MEGABYTE
        (part,) = run("vlgauge.inputs.archives:json_cells", settings, content, subject="`json`", most_bytes=most)
    except UsageError as error:
        return error
    found: dict[str, Any] = json.loads(part.body)
    return found


def tar_rows(path: str, limits: RowLimits, most_rows: int | None = None) -> GroupedRows:
    """Return the rows of a WebDataset archive without unpacking it. See `GroupedRows`.

    Args:
        path: Path of the archive.
        limits: Limits of file sizes.
        most_rows: Number of rows that will be read. None for all rows.

    Raises:
        UsageError: If the archive contains no texts, images or videos.
    """
    return GroupedRows(Origin(Path(path).name), archive_files(path), limits, at_first_dot=True, most_rows=most_rows)


def in_order(files: Iterable[ArchiveFile]) -> list[ArchiveFile]:
    """Sort the files of a folder or zip archive by row."""
    return sorted(files, key=lambda one: (split_path(one.name, at_first_dot=False), one.name))
