"""One run at a time: a lock that dies with its process, under which what killed runs left half-written goes."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from vlgauge.errors import UsageError
from vlgauge.writing import PART, parts_of, remove_part

LOCK = ".run.lock"
"""Name of the lock in the folder of a run; a lock for one file has the name of the file in front."""


class AnotherRun(UsageError):
    """An output into which another run writes."""


@contextmanager
def only_run(output: Path, name: str, *, folder: bool = True, beside: Iterable[Path] = ()) -> Iterator[None]:
    """Context in which no other process writes to an output; what killed ones left of it is removed first.

    The lock is the operating system's: it goes with its process, however that ends. Nothing waits for it.

    Args:
        output: A folder, made where it is not there, or a file in a folder that is.
        name: How messages call it.
        folder: Whether it is a folder.
        beside: More files that the run writes, elsewhere than in the folder.

    Raises:
        AnotherRun: If another run has the lock.
    """
    is_new = folder and not output.exists()
    if folder:
        output.mkdir(parents=True, exist_ok=True)
    lock = FileLock(output / LOCK if folder else output.with_name(f".{output.name}{LOCK}"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise AnotherRun(
            f"{name} must be written by one run at a time, got {str(output)!r}, to which another one writes; wait "
            "for its end, or name another output"
        ) from None
    try:
        for part in (
            *(_parts_in(output) if folder else parts_of(output)),
            *(p for file in beside for p in parts_of(file)),
        ):
            remove_part(part)
        yield
    finally:
        # While it is held: who comes now sees that the file has no name any more, and makes a new one.
        with suppress(OSError):
            os.unlink(lock.lock_file)
        lock.release()
        if is_new:
            with suppress(OSError):  # something is in it
                output.rmdir()


def _parts_in(folder: Path) -> list[os.DirEntry[str]]:
    """What is half-written in a folder, of whatever file."""
    with os.scandir(folder) as entries:
        return [entry for entry in entries if PART.fullmatch(entry.name)]
