"""Files in tar archives, whose headers a worker of the sandbox reads."""

import os
import tarfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from vlgauge.errors import UsageError
from vlgauge.files import current_limits, open_file
from vlgauge.sandbox import run

# Of members: the first ones tell what columns there are, and often nobody wants more.
_AT_FIRST, _AT_A_TIME = 50, 1000
_MOST_NAME = 2**12


class Member(NamedTuple):
    """A file in an archive, and where in it the file begins; None for a link or a device."""

    name: str
    n_bytes: int
    first: int | None


# -- Here -------------------------------------------------------------------------------------------------------------
def archive_members(path: str) -> Iterator[Member]:
    """Yield the files of an archive in their order, without folders."""
    n_left = current_limits().max_rows
    with open_file(path, "FILE"):  # No pipe and no device.
        start: int | None = 0
    while start is not None:
        settings = {"path": path, "file": os.path.abspath(path), "start": start}
        settings |= {"most": _AT_A_TIME if start else _AT_FIRST}
        parts = run("vlgauge.media.archives:members", settings, subject=f"FILE, {path!r},", most_bytes=0)
        *found, (n_members, start) = (part.facts for part in parts)
        yield from (Member(*one) for one in found[: max(0, n_left)])
        n_left -= n_members
        if n_left < 0:
            raise UsageError(
                f"FILE must have at most {current_limits().max_rows:,} files, got more; raise the limit with --max-rows"
            )


# -- In a worker ------------------------------------------------------------------------------------------------------
def members(settings: dict[str, Any], content: bytes) -> Iterator[tuple[Any, bytes]]:
    """Yield members from a position on, then their number and the position of the next ones."""
    path, most = settings["path"], settings["most"]
    with open(settings["file"], "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(settings["start"])
        archive = _read_header(path, lambda: tarfile.TarFile(fileobj=file))
        for number in range(most):
            member = _read_header(path, archive.next)
            if member is None:
                yield (number, None), b""
                return
            archive.members = []  # It would keep all of them.
            first = member.offset_data if member.isreg() and not member.issparse() else None
            if member.size < 0 or (first is not None and first + member.size > size):
                raise UsageError(f"FILE must be a whole tar archive, not packed, got {path!r} (a member outside of it)")
            if not member.isdir():
                yield (member.name[:_MOST_NAME], member.size, first), b""
        yield (most, archive.offset), b""


def _read_header(path: str, read: Any) -> Any:
    """What a function of `tarfile` gives."""
    try:
        return read()
    except MemoryError:
        raise
    except Exception as error:
        # The reader trusts the inside of the file: thousands of headers of one member, sizes beyond the end.
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError(f"FILE must be a whole tar archive, not packed, got {path!r} ({why})") from error
