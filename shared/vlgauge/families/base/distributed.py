"""Rendezvous of the processes on one machine that jointly compute a metric, and cleanup after processes that died.

Each process writes its rows to a file with a unique name, ``<round>-<unique>-<world>-<rank>.arrow``, and holds the lock
``….arrow.lock`` while it writes. Processes communicate through two small files next to the rows, which are written
atomically:

* ``….arrow.round``: The first process lists the row files that it finds. Every other process that finds its file in the
  list answers with the name of the first process's file. The list is final when all have answered. A file of a dead run
  cannot answer.
* ``….arrow.rows``: The number of rows, written after all rows. Row files without it are never read.
"""

import json
import os
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout

from vlgauge.core.errors import UsageError, short_reason
from vlgauge.core.writing import parts_of, write

_NAME = re.compile(r"(?P<round>.+)-[0-9a-f]{32}-(?P<world>\d+)-(?P<rank>\d+)\.arrow")
_ROUND, _ROWS, _LOCK = ".round", ".rows", ".lock"
_SUFFIX = re.compile(r"\.(round|rows|lock)$")
_PAUSE = 0.01

_EXPERIMENT = re.compile(r"[A-Za-z0-9._-]{1,100}")


def check_experiment(experiment: object) -> None:
    """Check that an experiment id can be used as part of a file name.

    Raises:
        ValueError: If it is not a string of 1 to 100 letters, digits, dots, underscores and hyphens.
    """
    if not (isinstance(experiment, str) and _EXPERIMENT.fullmatch(experiment)):
        raise UsageError.about(
            "experiment_id",
            f"must be a plain name of at most 100 letters, digits, '.', '_' and '-', got {experiment!r:.120}",
        )


def row_file(folder: str, round_: str, world: int, rank: int) -> str:
    """Return a unique path for the rows of one process in one round."""
    return os.path.join(folder, f"{round_}-{uuid.uuid4().hex}-{world}-{rank}.arrow")


def lock_file(path: str) -> str:
    """Return the path of the lock that the owner of a row file holds while it writes."""
    return path + _LOCK


def check_unique_process(own: str) -> None:
    """Check that no other live object uses the same process number in this round.

    Raises:
        ValueError: If another object does.
    """
    twins = [path for path, rank in _of_round(own) if rank == _rank(own) and path != own]
    # Check twice, because another process that checks the lock also holds it for a moment.
    if any(_is_held(twin) for twin in twins):
        time.sleep(5 * _PAUSE)
        if any(_is_held(twin) for twin in twins):
            raise UsageError(
                f"process {_rank(own)} has already joined this round from another object or another run named "
                f"{_quote_name(own)}; use a unique `experiment_id` for each run"
            )


def meet(own: str, timeout: float) -> list[str]:
    """Wait until all processes of a round have joined. The row file of this process must already exist.

    Returns:
        On the first process, the row files of all processes, sorted by process number. On the others, only the row file
        of the first process.

    Raises:
        ValueError: If a process does not join before the timeout, or joins more than once.
    """
    end = time.monotonic() + timeout
    return _gather_files(own, end, timeout) if _rank(own) == 0 else [_join_run(own, end, timeout)]


def _gather_files(own: str, end: float, timeout: float) -> list[str]:
    """Wait for all processes on the first process, and return their row files."""
    seen: list[str] = []
    while True:
        others = [path for path, rank in _of_round(own) if rank != 0]
        if others != seen:
            seen = others
            _tell(own + _ROUND, {"files": [os.path.basename(path) for path in seen], "final": False})
        came = [path for path in seen if _read(path + _ROUND) == os.path.basename(own)]
        ranks = sorted(map(_rank, came))
        if len(set(ranks)) < len(ranks):
            twice = next(rank for rank in ranks if ranks.count(rank) > 1)
            raise UsageError(
                f"process {twice} has joined this round of the run {_quote_name(own)} more than once; use a unique "
                "`experiment_id` for each run"
            )
        if len(came) == _world(own) - 1:
            party = [own, *sorted(came, key=_rank)]
            _tell(own + _ROUND, {"files": [os.path.basename(path) for path in party], "final": True})
            return party
        if time.monotonic() > end:
            raise UsageError(_absent(own, sorted(set(range(1, _world(own))) - set(ranks)), timeout))
        time.sleep(_PAUSE)


def _join_run(own: str, end: float, timeout: float) -> str:
    """Wait until the first process has listed this one, and return the row file of the first process."""
    name = os.path.basename(own)
    answered = None
    while True:
        for first in [path for path, rank in _of_round(own) if rank == 0]:
            list_ = _read(first + _ROUND)
            if list_ is None or name not in list_["files"]:
                continue
            if list_["final"]:
                return first
            if answered != first:
                _tell(own + _ROUND, os.path.basename(first))
                answered = first
        if time.monotonic() > end:
            raise UsageError(_absent(own, [0], timeout))
        time.sleep(_PAUSE)


def _absent(own: str, ranks: Sequence[int], timeout: float) -> str:
    return (
        f"all {_world(own)} processes of the run {_quote_name(own)} must join a round within `timeout` ({timeout:g} "
        f"s), but {_processes(ranks)} did not; start every process with the same `num_process`, `experiment_id` "
        "and `cache_dir`, and call `compute` in each of them in every round"
    )


def publish(own: str, first: str, n_rows: int) -> None:
    """Announce that all rows of this process are written. Remove them if the first process has already given up."""
    with suppress(FileNotFoundError):  # removed by the first process during the write
        _tell(own + _ROWS, n_rows)
    if not os.path.exists(first + _ROUND):
        remove(own)


def collect_rows(party: Sequence[str], n_rows: int, timeout: float) -> pa.Table:
    """Wait for the rows of all processes and return them, sorted by process number.

    Args:
        party: Row files of all processes, starting with this one.
        n_rows: Number of rows of this process.
        timeout: Maximum waiting time, in seconds.

    Raises:
        ValueError: If a process ended early, missed the timeout, or wrote another number of rows than announced. The
            message names the process, and the number of available rows if some are missing.
    """
    end = time.monotonic() + timeout
    while True:
        counts = [n_rows, *(_read(path + _ROWS) for path in party[1:])]
        late = [rank for rank, count in enumerate(counts) if count is None]
        if not late:
            return pa.concat_tables([_table(path, count) for path, count in zip(party, counts, strict=True)])
        # Check in this order, because a process announces its number of rows before it releases its lock.
        ended = [rank for rank in late if not _is_held(party[rank]) and _read(party[rank] + _ROWS) is None]
        over = time.monotonic() > end
        if ended or over:
            n_there = sum(count for count in counts if count is not None)
            there = [rank for rank in range(len(party)) if rank not in late]
            why = [f"{_processes(ended)} ended before all rows were written"] if ended else []
            slow = [rank for rank in late if rank not in ended]
            if over and slow:
                why.append(f"{_processes(slow)} had not called `compute` after `timeout` ({timeout:g} s)")
            raise UsageError(
                f"`compute` must have the rows of all {len(party)} processes of the run {_quote_name(party[0])}, but "
                f"{' and '.join(why)}; the {n_there} rows of {_processes(there)} are not scored; run the round "
                "again"
            )
        time.sleep(_PAUSE)


def _table(path: str, n_rows: int) -> pa.Table:
    """Read a row file, which must have `n_rows` rows."""
    try:
        table = pa.ipc.open_stream(pa.memory_map(path)).read_all()
        found = f"{table.num_rows} rows"
    except (pa.ArrowException, OSError) as error:
        table, found = None, f"a file that fails with: {short_reason(error)}"
    if table is None or table.num_rows != n_rows:
        raise UsageError(
            f"process {_rank(path)} of the run {_quote_name(path)} wrote {n_rows} rows, got {found}; nothing is "
            "scored, so run the round again"
        )
    return table


def remove(path: str) -> None:
    """Remove the row file of a process and its messages. The lock is removed by its owner."""
    # Remove the round file first, because late processes remove their files once it is gone. Remove the row file last,
    # because `sweep` needs its name to find partially written files.
    written = (path + _ROUND, path + _ROWS)
    for file in (*written, *(part.path for name in written for part in parts_of(name)), path):
        with suppress(FileNotFoundError):
            os.unlink(file)


def sweep(folder: str, experiment: str) -> None:
    """Remove files that dead processes of earlier runs with the same name left behind."""
    ours = re.compile(re.escape(experiment) + r"(@r\d+)?")
    left = {path for path, name in _files(folder) if ours.fullmatch(name["round"])}
    living = {path for path in left if _is_held(path)}
    for first in [path for path in living if _rank(path) == 0]:
        list_ = _read(first + _ROUND)
        if list_ is not None and list_["final"]:
            living |= {os.path.join(folder, name) for name in list_["files"]}
    for path in left - living:
        remove(path)


def _is_held(path: str) -> bool:
    """Return whether the owner of a row file is alive and writing. A lock without an owner is removed."""
    if not os.path.exists(lock_file(path)):
        return False
    lock = FileLock(lock_file(path))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    with suppress(FileNotFoundError):
        os.unlink(lock_file(path))
    lock.release()
    return False


def _of_round(own: str) -> list[tuple[str, int]]:
    """Return paths and process numbers of all row files of a round, in a fixed order."""
    mine = _NAME.fullmatch(os.path.basename(own))
    assert mine is not None
    return [
        (path, int(name["rank"]))
        for path, name in sorted(_files(os.path.dirname(own)), key=lambda found: found[0])
        if (name["round"], name["world"]) == (mine["round"], mine["world"]) and os.path.exists(path)
    ]


def _files(folder: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield distinct row files, including paths for which only a message or lock file is left."""
    for rows in {_SUFFIX.sub("", entry) for entry in os.listdir(folder)}:
        if (name := _NAME.fullmatch(rows)) is not None:
            yield os.path.join(folder, rows), name


def _rank(path: str) -> int:
    return int(path.removesuffix(".arrow").rpartition("-")[2])


def _world(path: str) -> int:
    return int(path.rsplit("-", 2)[1])


def _quote_name(path: str) -> str:
    """Return the name of the run as specified by the user, quoted."""
    name = _NAME.fullmatch(os.path.basename(path))
    assert name is not None
    return repr(name["round"].partition("@")[0])


def _processes(ranks: Sequence[int]) -> str:
    return f"process{'es' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def _tell(path: str, value: Any) -> None:
    write(path, json.dumps(value))


def _read(path: str) -> Any:
    """Return the parsed JSON content of a file. None if the file does not exist."""
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except FileNotFoundError:
        return None
