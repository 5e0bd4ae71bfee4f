"""Rows of tables whose cells name images and videos among uploaded files, or in an archive or folder."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from vlgauge.api.row_sources.grouped_files import GroupedRows, in_order, split_path
from vlgauge.api.row_sources.source import Kind, Origin, Source, is_clip, kinds_of_rows
from vlgauge.core.errors import UsageError
from vlgauge.inputs.archives import TAR, ZIP, ArchiveFile, archive_files, folder_files
from vlgauge.inputs.limits import RowLimits
from vlgauge.inputs.tables.files import TABLE_ENDINGS, Rows, read_rows

ARCHIVES = (TAR, ZIP)
_LONGEST_PATH, _MOST_FOLDERS = 4096, 64
# The names that `datasets` reads in an image folder.
_FOLDER_TABLES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")


class TableRows:
    """Rows of a table.

    Args:
        rows: Rows of the table.
        origin: Identification of the table.
    """

    def __init__(self, rows: Rows, origin: Origin) -> None:
        self._rows, self.origin = rows, origin

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of content of each column, based on its first cell that is not empty."""
        return kinds_of_rows(self._rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def rows(self, titles: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the given columns of the rows from row `start` up to row `stop`. Missing cells are None."""
        for row in self._rows[start:stop]:
            yield {title: row.get(title) for title in titles}


class UploadedRows(TableRows):
    """Rows of a table that names images and videos by paths, whose last part is the name of an uploaded file.

    Args:
        rows: Rows of the table.
        origin: Identification of the table.
        packed: Uploaded files in archives.
        paths: Paths of the other uploads.
    """

    def __init__(self, rows: Rows, origin: Origin, packed: Iterable[ArchiveFile], paths: Iterable[str] = ()) -> None:
        super().__init__(rows, origin)
        self._packed: dict[str, list[ArchiveFile]] = {}
        for one in packed:
            self._packed.setdefault(one.name.rpartition("/")[2], []).append(one)
        self._paths: dict[str, list[str]] = {}
        for path in paths:
            self._paths.setdefault(Path(path).name, []).append(path)

    @cached_property
    def _n_named(self) -> Mapping[str, int]:
        return n_files_named(self._rows)

    def file(self, path: str, most_bytes: int) -> bytes | str:
        """Return the path of the upload with the file name of a path, or its content if it is in an archive.

        Raises:
            ValueError: If there is no such upload, or more than one, or it is larger than `most_bytes`. No other file
                is searched or opened.
        """
        whole = _parts_of(path)
        name = whole[-1]
        packed, paths = self._packed.get(name, []), self._paths.get(name, [])
        # Among files with the same name, prefer the one whose folders match the path best.
        alike = [_n_alike(whole, _parts_of(one.name)) for one in packed]
        most = max(alike, default=0)
        packed = [one for one, n in zip(packed, alike, strict=True) if n == most]
        n_found = len(packed) + len(paths)
        # If the table names several files with this name, a file that matches none of their folders is ambiguous.
        if n_found == 1 and most < min(2, len(whole)) and self._n_named.get(name, 0) > 1:
            n_found = 2
        if n_found != 1:
            what = "the name of one uploaded file, got that of several" if n_found else "an uploaded file, got"
            raise UsageError(f"an image or video must be {what} {name[:60]!r}; upload it with the table")
        if packed:
            return packed[0].content(most_bytes)
        if Path(paths[0]).stat().st_size > most_bytes:
            raise UsageError(f"an image or video must be a file of at most {most_bytes:,} bytes, got a larger one")
        return paths[0]


class FolderTable(TableRows):
    """Rows of the table in a folder that names its images or videos in ``file_name``.

    Args:
        rows: Rows of the table.
        origin: Identification of the folder.
        files: Files in the folder.
    """

    def __init__(self, rows: Rows, origin: Origin, files: Sequence[ArchiveFile]) -> None:
        super().__init__(rows, origin)
        self._files = {one.name: one for one in files}

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of content of each column."""
        kinds = kinds_of_rows(self._rows)
        named: Kind = "video" if is_clip(self._rows[0].get("file_name")) else "image"
        return kinds | ({"file_name": named} if "file_name" in kinds else {})

    def file(self, path: str, most_bytes: int) -> bytes:
        """Return the content of a file in the folder, by the path in the table.

        Raises:
            UsageError: If there is no file with this path, or it is larger than `most_bytes`. No other file is opened.
        """
        if path not in self._files:
            raise UsageError(f"an image or video must be a file in the folder, got {path[:60]!r}")
        return self._files[path].content(most_bytes)


def n_files_named(cells: Any) -> dict[str, int]:
    """Count the distinct files to which the paths in cells can refer, by file name, including paths in nested cells.

    A path that is a suffix of another one may refer to the same file.
    """
    found: dict[str, set[tuple[str, ...]]] = {}
    for text in _texts_in(cells):
        if 0 < len(text) <= _LONGEST_PATH:
            parts = _parts_of(text)
            found.setdefault(parts[-1], set()).add(parts[::-1])
    return {name: _n_beginnings(sorted(paths)) for name, paths in found.items()}


def _n_beginnings(ascending: Sequence[tuple[str, ...]]) -> int:
    """Count the sequences that are not a prefix of another one."""
    return sum(one != other[: len(one)] for one, other in pairwise([*ascending, ()]))


def _texts_in(cell: Any) -> Iterator[str]:
    if isinstance(cell, str):
        yield cell
    elif isinstance(cell, (list, tuple, Mapping)):
        for one in cell.values() if isinstance(cell, Mapping) else cell:
            yield from _texts_in(one)


def _parts_of(path: str) -> tuple[str, ...]:
    """Split a path into folders and name, including Windows paths. The first of very many folders are one part."""
    return tuple(path.replace("\\", "/").removeprefix("./").rsplit("/", _MOST_FOLDERS))


def _n_alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the equal parts at the end of two paths."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def read_uploaded_rows(path: str, uploads: Sequence[str] = ()) -> UploadedRows:
    """Return the rows of an uploaded table, with the other uploads and the files of uploaded archives.

    Raises:
        ValueError: If the table or an archive is not valid.
    """
    return uploaded_rows(read_rows(path), Path(path).name, uploads)


def uploaded_rows(rows: Rows, name: str, uploads: Sequence[str] = ()) -> UploadedRows:
    """Return the rows of a table with this name, with the other uploads and the files of uploaded archives.

    Raises:
        ValueError: If an archive is not valid.
    """
    archives = [one for one in uploads if one.lower().endswith(ARCHIVES)]
    packed = [one for archive in archives for one in archive_files(archive)]
    paths = [one for one in uploads if one not in archives]
    return UploadedRows(rows, Origin(name), packed, paths)


def folder_rows(folder: str, limits: RowLimits) -> Source:
    """Return the rows of a folder, from the table in it that names its images or from files with the same name.

    Raises:
        UsageError: If the folder contains no texts, images or videos.
    """
    files, origin = in_order(folder_files(Path(folder))), Origin(Path(folder).absolute().name)
    names = {one.name for one in files}
    if table := next((name for name in _FOLDER_TABLES if name in names), None):
        return FolderTable(read_rows(str(Path(folder, table)), most_texts=limits.texts), origin, files)
    return GroupedRows(origin, files, limits, at_first_dot=False)


def archive_rows(path: str, limits: RowLimits) -> Source:
    """Return the rows of an archive, from the table in it that names its images or from files with the same name.

    Raises:
        UsageError: If the archive contains no texts, images or videos.
    """
    files = list(archive_files(path))
    is_tar = path.lower().endswith(TAR)
    keys = [split_path(one.name, at_first_dot=is_tar)[0] for one in files]
    tables = [one for one in files if one.name.lower().endswith(TABLE_ENDINGS) and not one.is_hidden]
    origin = Origin(Path(path).name)
    # A JSON file next to an image with the same name is part of a row, as in WebDataset.
    if len(tables) == 1 and keys.count(split_path(tables[0].name, at_first_dot=is_tar)[0]) == 1:
        return UploadedRows(_rows_of(tables[0], limits), origin, files)
    return GroupedRows(origin, files if is_tar else in_order(files), limits, at_first_dot=is_tar)


def _rows_of(table: ArchiveFile, limits: RowLimits) -> Rows:
    with tempfile.TemporaryDirectory(prefix="vlgauge-table-") as folder:
        path = Path(folder, f"table{Path(table.name).suffix.lower()}")
        path.write_bytes(table.content(limits.clip_bytes))
        try:
            return read_rows(str(path), most_texts=limits.texts)
        except UsageError as error:
            # Name the table by its path in the archive, which the user knows.
            raise error.with_message(str(error).replace(repr(str(path)), repr(table.name[-60:]))) from None
