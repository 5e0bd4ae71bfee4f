"""Lock that allows one run at a time per output, and cleanup of partially written files of killed runs."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from filelock import FileLock, Timeout

from vlgauge.core.errors import UsageError
from vlgauge.core.writing import parts_in, parts_of, remove_part

LOCK = ".run.lock"
"""Name of the lock file in the output folder of a run. For an output file, it is appended to the name of the file."""


class RunInProgressError(UsageError):
    """Raised if another run is writing to the same output."""


@contextmanager
def exclusive_run(output: Path, name: str, *, folder: bool = True, others: Iterable[Path] = ()) -> Iterator[None]:
    """Prevent other processes from writing to an output inside the context.

    Partially written files of killed runs are removed first. The operating system releases the lock when its process
    ends for any reason. No process waits for the lock.

    Args:
        output: A folder, which is created if needed, or a file in an existing folder.
        name: Name of the output in error messages.
        folder: Whether the output is a folder.
        others: Other files that the run writes, outside of the folder.

    Raises:
        RunInProgressError: If another run has the lock.
    """
    is_new = folder and not output.exists()
    if folder:
        output.mkdir(parents=True, exist_ok=True)
    lock = FileLock(output / LOCK if folder else output.with_name(f".{output.name}{LOCK}"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise RunInProgressError(
            f"{name} must not be in use by another run, got {str(output)!r}; wait until the other run ends, or "
            "choose another output"
        ) from None
    try:
        own = parts_in(output) if folder else parts_of(output)
        for part in chain(own, *map(parts_of, others)):
            remove_part(part)
        yield
    finally:
        # Remove the lock file before releasing the lock, so that the next process detects that it was removed and
        # creates a new one.
        with suppress(OSError):
            os.unlink(lock.lock_file)
        lock.release()
        if is_new:
            with suppress(OSError):  # the folder is not empty
                output.rmdir()
