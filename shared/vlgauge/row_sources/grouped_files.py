"""Rows of files that lie together: those of one name are a row, their endings its columns, as in WebDataset.

A name is a label: no file is written, and none is opened but by the archive or folder that listed it.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from vlgauge.errors import UsageError
from vlgauge.files import check_objects, current_limits, json_bytes, open_file, parse_json
from vlgauge.media.archives import archive_members
from vlgauge.media.limits import RowLimits
from vlgauge.media.tables import read_rows
from vlgauge.media.zips import zip_members
from vlgauge.row_sources.source import CLIPS, Kind, Origin, is_clip, kind_of_cell

KEY = "__key__"
TAR, ZIP = ".tar", ".zip"
_TEXTS = ("txt", "text", "caption", "cls")
_PICTURES = ("jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "ppm")
_TABLES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
_LOOKED_AT = 20  # rows that tell what columns there are
_SHARE = 4  # what one file of JSON may take of what a table may


@dataclass(frozen=True)
class Listed:
    """A file in an archive or folder, and what gives so many bytes of it; None where it is a link or a device."""

    name: str
    n_bytes: int
    read: Callable[[int], bytes] | None

    @property
    def key(self) -> str:
        """What the files of a row share: folders, and the name up to its first point."""
        folder, slash, name = self.name.rpartition("/")
        return f"{folder}{slash}{name.partition('.')[0]}"

    @property
    def ending(self) -> str:
        """The rest of the name, in small letters."""
        return self.name.rpartition("/")[2].partition(".")[2].lower()

    def content(self, most_bytes: int) -> bytes:
        """What is in it."""
        if self.read is None:
            raise UsageError(f"`{self.name[-60:]}` must be a regular file, got a link or a device")
        if self.n_bytes > most_bytes:
            raise UsageError(f"`{self.name[-60:]}` must be a file of at most {most_bytes:,} bytes, got a larger one")
        return self.read(most_bytes)


class GroupedRows:
    """Rows of the files of an archive or folder, those of a row side by side."""

    def __init__(self, origin: Origin, listed: Callable[[], Iterator[Listed]], limits: RowLimits) -> None:
        self.origin = origin
        self.n_rows = None  # they are not listed before they are read
        self._listed = listed
        self._limits = limits

    def _groups(self) -> Iterator[tuple[str, list[Listed]]]:
        known = (one for one in self._listed() if one.ending and not one.name.rpartition("/")[2].startswith("."))
        for key, files in groupby(known, lambda one: one.key):
            yield key, list(files)

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """What each column holds, by the first rows."""
        found: dict[str, Kind] = {KEY: "text"}
        for _, files in islice(self._groups(), _LOOKED_AT):
            for one in files:
                if one.ending in _TEXTS:
                    found.setdefault(one.ending, "text")
                elif one.ending in _PICTURES:
                    found.setdefault(one.ending, "image")
                elif one.ending in CLIPS:
                    found.setdefault(one.ending, "video")
                elif one.ending == "json":
                    cells = _object(one, self._limits.picture_bytes)
                    for title, cell in ({} if isinstance(cells, Exception) else cells).items():
                        found.setdefault(f"json.{title}", kind_of_cell(cell))
        return found

    def rows(self, titles: Sequence[str], start: int = 0) -> Iterator[Mapping[str, Any]]:
        """Rows from a number on, with these columns."""
        for key, files in islice(self._groups(), start, None):
            by_ending = {one.ending: one for one in files}
            yield {title: self._cell(title, key, by_ending) for title in titles}

    def _cell(self, title: str, key: str, files: Mapping[str, Listed]) -> Any:
        if title == KEY:
            return key
        ending, _, name = title.partition(".") if title.startswith("json.") else (title, "", "")
        if ending not in files:
            return None
        if name:
            cells = _object(files[ending], self._limits.picture_bytes)
            return cells if isinstance(cells, Exception) else cells.get(name)
        try:
            most = self._limits.clip_bytes if ending in CLIPS else self._limits.picture_bytes
            content = files[ending].content(most)
            # Windows may put a mark before a text, which is no letter of it.
            return content.decode("utf-8-sig").strip() if ending in _TEXTS else {"bytes": content, "path": None}
        except ValueError as error:
            return error

    def file(self, path: str, most_bytes: int) -> bytes:
        """Nothing: what is in a row is in its files.

        Raises:
            ValueError: Always.
        """
        raise UsageError(f"a picture or clip must be a file of the row itself, got the name {path[:60]!r}")


def _object(file: Listed, most_bytes: int) -> dict[str, Any] | ValueError:
    """The object in a file of JSON, or why there is none.

    Read here: Python's reader is no danger to the process, and a text of few objects becomes no large one.
    """
    limit = current_limits().max_unpacked // _SHARE
    try:
        text = file.content(most_bytes).decode("utf-8-sig")
        check_objects(json_bytes(text, limit), limit, "`json`", file.name)
        cells = parse_json(text, "`json`", file.name)
    except ValueError as error:
        return error
    return cells if isinstance(cells, dict) else ValueError(f"`json` must be an object, got {type(cells).__name__}")


def tar_rows(path: str, limits: RowLimits) -> GroupedRows:
    """Rows of a WebDataset archive, which is not unpacked."""
    rows = GroupedRows(Origin(Path(path).name), partial(_members, path), limits)
    if rows.kinds.keys() == {KEY}:
        raise UsageError(f"FILE must have files of texts, pictures or clips, got none in {path!r}")
    return rows


def listed_files(path: str) -> list[Listed]:
    """Files of a tar or zip archive."""
    if path.lower().endswith(ZIP):
        return [Listed(one.name, one.n_bytes, partial(one.content, path)) for one in zip_members(path)]
    return list(_members(path))


def _members(path: str) -> Iterator[Listed]:
    """Files of an archive, as they follow one another."""
    for one in archive_members(path):
        read = None if one.first is None else partial(_part, path, one.first, one.n_bytes)
        yield Listed(one.name, one.n_bytes, read)


def _part(path: str | Path, first: int, n_bytes: int, most_bytes: int) -> bytes:
    """So many bytes of a file, from one on."""
    with open_file(path, "FILE") as stream:
        stream.seek(first)
        return stream.read(min(n_bytes, most_bytes))


class FolderRows:
    """Rows of a folder: of the table in it that names its pictures in ``file_name``, or of files of one name."""

    def __init__(self, folder: str, limits: RowLimits) -> None:
        self._folder = Path(folder)
        self._files = {one.name: one for one in _files_of(self._folder)}
        self.origin = Origin(self._folder.absolute().name)
        tables = [name for name in _TABLES if name in self._files]
        self._table = read_rows(str(self._folder / tables[0])) if tables else None
        self._grouped = GroupedRows(self.origin, lambda: iter(self._files.values()), limits)
        if self._table is None and self._grouped.kinds.keys() == {KEY}:
            raise UsageError(f"FILE must be a folder of pictures, clips or texts, got none in {folder!r}")

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What each column holds."""
        if self._table is None:
            return self._grouped.kinds
        kinds = {title: kind_of_cell(cell) for title, cell in self._table[0].items()}
        named: Kind = "video" if is_clip(self._table[0].get("file_name")) else "image"
        return kinds | ({"file_name": named} if "file_name" in kinds else {})

    @property
    def n_rows(self) -> int | None:
        """Number of rows of the table, if there is one."""
        return None if self._table is None else len(self._table)

    def rows(self, titles: Sequence[str], start: int = 0) -> Iterator[Mapping[str, Any]]:
        """Rows from a number on, with these columns."""
        if self._table is None:
            yield from self._grouped.rows(titles, start)
            return
        for row in self._table[start:]:
            yield {title: row.get(title) for title in titles}

    def file(self, path: str, most_bytes: int) -> bytes:
        """Content of a file in the folder, as its table names it.

        Raises:
            ValueError: If there is none of that name; nothing else is looked for.
        """
        if path not in self._files:
            raise UsageError(f"a picture or clip must be a file in the folder, got {path[:60]!r}")
        return self._files[path].content(most_bytes)


def _files_of(folder: Path) -> list[Listed]:
    """Files in a folder and in those within it, by name; what a link leads to is not looked at."""
    found: list[Listed] = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            known = path.lstat()
            read = partial(_part, path, 0, known.st_size) if stat.S_ISREG(known.st_mode) else None
            found.append(Listed(path.relative_to(folder).as_posix(), known.st_size, read))
            if len(found) > current_limits().max_rows:
                raise UsageError(f"FILE must have at most {current_limits().max_rows:,} files; raise --max-rows")
    return sorted(found, key=lambda one: (one.key, one.name))
