"""Files in folders, tar archives and zip archives, listed and read without unpacking them to disk.

Workers of the sandbox always open archives, because `tarfile` and `zipfile` do not limit time and memory.
"""

import json
import os
import stat
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from vlgauge.core.errors import UsageError, convert_errors
from vlgauge.core.files import (
    check_json_objects,
    current_limits,
    decode_text,
    limit_unpacked_size,
    open_file,
    parse_json,
    refuse,
)
from vlgauge.inputs.datasets.kinds import kind_of_cell
from vlgauge.inputs.sandbox import Part, run

TAR, ZIP = ".tar", ".zip"
_AT_A_TIME = 1000  # members per task
_LONGEST_NAME = 2**12
# Approximate memory of a file in the list and in the rows, and the number of copies of its name.
_BYTES_PER_FILE, _NAMES_PER_FILE = 800, 4


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """File in a folder or archive.

    Attributes:
        name: Path in the folder or archive, with slashes.
        n_bytes: Size according to the header.
        read: Function that returns its content, up to a number of bytes. None for a link or a device.
    """

    name: str
    n_bytes: int
    read: Callable[[int], bytes] | None

    def content(self, most_bytes: int) -> bytes:
        """Return the content of the file.

        Raises:
            UsageError: If the file is a link or a device, is larger than `most_bytes`, or is damaged.
        """
        if self.read is None:
            raise UsageError(f"`{self.name[-60:]}` must be a regular file, got a link or a device")
        if self.n_bytes > most_bytes:
            raise UsageError(f"`{self.name[-60:]}` must be a file of at most {most_bytes:,} bytes, got a larger one")
        return self.read(most_bytes)

    @property
    def is_hidden(self) -> bool:
        """Whether the name is that of a hidden file or of a system file such as ``__MACOSX``."""
        return any(part.strip(".") and part.startswith((".", "__MACOSX")) for part in self.name.split("/"))


def folder_files(folder: Path) -> Iterator[ArchiveFile]:
    """Yield the files in a folder and its subfolders, without following links.

    Raises:
        OSError: If a subfolder cannot be read.
    """
    paths = (Path(place, name) for place, _, names in os.walk(folder, onerror=_raise) for name in names)
    for path in _limit_entries(paths):
        status = path.lstat()
        read = partial(_part, str(path), 0, status.st_size) if stat.S_ISREG(status.st_mode) else None
        yield ArchiveFile(path.relative_to(folder).as_posix(), status.st_size, read)


def archive_files(path: str) -> Iterator[ArchiveFile]:
    """Yield the files of a tar or zip archive in order, without folders. A tar archive is only read as far as needed.

    Raises:
        UsageError: If the archive is damaged, or has too many files, too long names or too large a content.
    """
    with open_file(path, "FILE") as file:  # raises for pipes and devices
        is_zip = path.lower().endswith(ZIP)
        unpacked = most_unpacked = limit_unpacked_size(os.fstat(file.fileno()).st_size)
    left = most = current_limits().max_unpacked
    for member in _limit_entries(_members("zip_members" if is_zip else "tar_members", path)):
        if member is not None:
            name, n_bytes, place = member
            left -= _BYTES_PER_FILE + _NAMES_PER_FILE * sys.getsizeof(name)
            if left < 0:
                refuse("FILE", most, "bytes of file names in memory", "max_unpacked", path)
            unpacked -= n_bytes
            if unpacked < 0:
                refuse("FILE", most_unpacked, "bytes when it is decompressed", "max_unpacked", path)
            read = partial(_zip_content, path, place, name) if is_zip else partial(_part, path, place, n_bytes)
            yield ArchiveFile(name, n_bytes, None if place is None else read)


def _members(task: str, path: str) -> Iterator[tuple[str, int, Any] | None]:
    start: int | None = 0
    while start is not None:
        ((found, start), _), *_ = _run(task, path, got=path, start=start, most=_AT_A_TIME)
        yield from found


def _limit_entries(files: Iterable[Any]) -> Iterator[Any]:
    most = current_limits().max_rows
    for number, one in enumerate(files):
        if number >= most:
            raise UsageError(f"FILE must have at most {most:,} files, got more; raise the limit with --max-rows")
        yield one


def _raise(error: OSError) -> None:
    raise error


def _part(path: str, first: int, n_bytes: int, most_bytes: int) -> bytes:
    with open_file(path, "FILE") as file:
        file.seek(first)
        return file.read(min(n_bytes, most_bytes))


def _zip_content(path: str, number: int, name: str, most_bytes: int) -> bytes:
    return b"".join(body for _, body in _run("zip_content", path, most_bytes, number=number, name=name[-60:]))


def _run(task: str, path: str, most_bytes: int = 0, **settings: Any) -> Iterable[Part]:
    settings |= {"path": os.path.abspath(path)}
    return run(f"{__name__}:{task}", settings, subject=f"FILE, {path!r},", most_bytes=most_bytes)


# -- Tasks ------------------------------------------------------------------------------------------------------------
def tar_members(content: bytes, path: str, got: str, start: int, most: int) -> Iterator[tuple[Any, bytes]]:
    """Yield up to `most` members of a tar archive, and the position after them (None at the end).

    A member is a tuple of name, size and position of its content. The position is None for a link or a device. The
    member is None for a folder.

    Args:
        content: Not used.
        path: Path of the archive.
        got: Path of the archive in messages.
        start: Position of the first member, in bytes.
        most: Maximum number of members.

    Raises:
        UsageError: If the archive is damaged or packed.
    """
    found: list[tuple[str, int, int | None] | None] = []
    expected = f"FILE must be a complete uncompressed tar archive, got {got!r}"
    with convert_errors(expected), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(start)
        archive = tarfile.TarFile(fileobj=file)
        while len(found) < most and (member := archive.next()) is not None:
            first = member.offset_data if member.isreg() and not member.issparse() else None
            if member.size < 0 or (first is not None and first + member.size > size):
                raise UsageError(f"the file ends before the content of the member at byte {member.offset:,}")
            found.append(None if member.isdir() else (member.name[:_LONGEST_NAME], member.size, first))
        if member is None:
            # tarfile treats any invalid header block as the end of the archive.
            file.seek(archive.offset)
            if file.read(tarfile.BLOCKSIZE).strip(b"\0"):
                raise UsageError(f"the header at byte {archive.offset:,} is damaged")
    yield (found, None if member is None else archive.offset), b""


def zip_members(content: bytes, path: str, got: str, start: int, most: int) -> Iterator[tuple[Any, bytes]]:
    """Yield members of a zip archive like `tar_members`, with their index in the directory instead of the position.

    Args:
        content: Not used.
        path: Path of the archive.
        got: Path of the archive in messages.
        start: Index of the first member.
        most: Maximum number of members.

    Raises:
        UsageError: If the archive is damaged.
    """
    with convert_errors(f"FILE must be a complete zip archive, got {got!r}"):
        every, end = _open_zip_file(path).infolist(), start + most
        found = [
            None if one.is_dir() else (one.filename[:_LONGEST_NAME], one.file_size, None if _is_link(one) else number)
            for number, one in enumerate(every[start:end], start)
        ]
    yield (found, end if end < len(every) else None), b""


def zip_content(content: bytes, path: str, number: int, name: str) -> Iterator[tuple[Any, bytes]]:
    """Yield None and the content of a member, which has at most as many bytes as its header states.

    Args:
        content: Not used.
        path: Path of the archive.
        number: Index of the member.
        name: Name of the member in messages.

    Raises:
        UsageError: If the member is damaged, encrypted, or packed by another method than deflate.
    """
    archive = _open_zip_file(path)
    member = archive.infolist()[number]
    if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UsageError(f"`{name}` must be compressed by deflate or not at all, and not encrypted")
    with convert_errors(f"`{name}` must be a complete file, got a damaged one"), archive.open(member) as file:
        found = file.read(member.file_size)
        if len(found) < member.file_size:
            raise UsageError("it is too short")
    yield None, found


def json_cells(
    content: bytes, name: str, limit: int, titles: list[str] | None, most_titles: int
) -> Iterator[tuple[None, bytes]]:
    """Yield None and a JSON text: some cells of the object in a JSON file by title, or the kinds of all cells.

    Args:
        content: Content of the file.
        name: Name of the file in messages.
        limit: Maximum memory of its objects in bytes.
        titles: Titles of the cells. None for the kinds of all cells.
        most_titles: Maximum number of kinds.

    Raises:
        UsageError: If the content is not an object.
    """
    text = decode_text(content, "`json`", name)
    check_json_objects(text, limit, "`json`", name)
    cells = parse_json(text, "`json`", name)
    if not isinstance(cells, dict):
        raise UsageError.about("json", f"must be an object, got {type(cells).__name__}")
    if titles is None:
        found: dict[str, Any] = {title: kind_of_cell(cell) for title, cell in islice(cells.items(), most_titles)}
    else:
        found = {title: cells[title] for title in titles if title in cells}
    yield None, json.dumps(found).encode()


def _is_link(member: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(member.external_attr >> 16)


def _open_zip_file(path: str) -> zipfile.ZipFile:
    status = os.stat(path)
    return _open_zip(path, (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=2)
def _open_zip(path: str, state: tuple[int, int]) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)
