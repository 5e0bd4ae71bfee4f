"""Files in zip archives: a worker of the sandbox reads the directory, a member is unpacked here, up to a limit."""

import os
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from vlgauge.errors import UsageError
from vlgauge.files import current_limits, open_file
from vlgauge.sandbox import run

_MOST_PART, _MOST_NAME = 2**16, 2**12
_HEADER = 30  # bytes of the header of a member before its name
_STORED, _DEFLATED = 0, 8
_LINK = 0o120000


class ZipMember(NamedTuple):
    """A file in an archive.

    Attributes:
        name: Its name there.
        n_bytes: Its size when unpacked, as the archive says.
        packed: Its size in the archive.
        header: Where in the archive its header begins.
        crc: CRC-32 of what is in it, as the archive says.
        method: How it is packed; None for what is not read, a link or what a password locks.
    """

    name: str
    n_bytes: int
    packed: int
    header: int
    crc: int
    method: int | None

    def content(self, path: str, most_bytes: int) -> bytes:
        """What is in it, at most so many bytes."""
        what = f"`{self.name[-60:]}`"
        if self.method not in (_STORED, _DEFLATED):
            raise UsageError(f"{what} must be a file packed by deflate or not at all, without a password, got another")
        if self.n_bytes > most_bytes or self.packed > most_bytes + _MOST_PART:
            raise UsageError(f"{what} must be a file of at most {most_bytes:,} bytes, got a larger one")
        with open_file(path, "FILE") as file:
            file.seek(self.header)
            head = file.read(_HEADER)
            file.seek(
                self.header + _HEADER + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
            )
            packed = file.read(self.packed)
        try:
            found = packed
            if self.method == _DEFLATED:
                found = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, self.n_bytes + 1)
        except zlib.error as error:
            raise UsageError(f"{what} must be a whole file, got a damaged one ({error})") from error
        if head[:4] != b"PK\x03\x04" or len(found) != self.n_bytes or zlib.crc32(found) != self.crc:
            raise UsageError(f"{what} must be a whole file, got a damaged one")
        return found


# -- Here -------------------------------------------------------------------------------------------------------------
def zip_members(path: str) -> list[ZipMember]:
    """Return the files of an archive, without folders."""
    most = current_limits().max_rows
    with open_file(path, "FILE"):  # No pipe and no device.
        settings = {"path": path, "file": os.path.abspath(path), "most": most}
    parts = run("vlgauge.media.zips:directory", settings, subject=f"FILE, {path!r},", most_bytes=0)
    found = [ZipMember(*part.facts) for part in parts]
    if len(found) > most:
        raise UsageError(f"FILE must have at most {most:,} files, got more; raise the limit with --max-rows")
    return found


# -- In a worker ------------------------------------------------------------------------------------------------------
def directory(settings: dict[str, Any], content: bytes) -> Iterator[tuple[ZipMember, bytes]]:
    """Yield the members, one more than the limit at most."""
    path = settings["path"]
    try:
        with zipfile.ZipFile(settings["file"]) as archive:
            members, size = archive.infolist(), os.path.getsize(settings["file"])
    except MemoryError:
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError(f"FILE must be a whole zip archive, got {path!r} ({why})") from error
    for one in members[: settings["most"] + 1]:
        if one.is_dir():
            continue
        if one.header_offset < 0 or one.header_offset + one.compress_size > size:
            raise UsageError(f"FILE must be a whole zip archive, got {path!r} (a member is outside of it)")
        is_plain = not one.flag_bits & 1 and (one.external_attr >> 16) & 0o170000 != _LINK
        name, method = one.filename[:_MOST_NAME], one.compress_type if is_plain else None
        yield ZipMember(name, one.file_size, one.compress_size, one.header_offset, one.CRC, method), b""
