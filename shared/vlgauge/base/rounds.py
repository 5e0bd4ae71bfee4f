"""A round of several processes on one machine: who takes part, who is done with how many rows, and what the dead left.

Each process writes its rows to a file of a name that was never used before, ``<round>-<unique>-<world>-<rank>.arrow``,
and holds the lock ``….arrow.lock`` while it writes. Two small files beside the rows carry what the processes tell each
other, and appear whole:

* ``….arrow.round``: the first process lists whose files it sees; another process that finds its own there answers with
  the name of the first one's; when all have answered, the list is final. A file that a dead run left cannot answer.
* ``….arrow.rows``: the number of rows, written when all of them are. Nobody reads rows without it.
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

from vlgauge.errors import UsageError
from vlgauge.writing import parts_of, write

_NAME = re.compile(r"(?P<round>.+)-[0-9a-f]{32}-(?P<world>\d+)-(?P<rank>\d+)\.arrow")
_ROUND, _ROWS, _LOCK = ".round", ".rows", ".lock"
_BESIDE = re.compile(r"\.(round|rows|lock)$")
_PAUSE = 0.01

_EXPERIMENT = re.compile(r"[A-Za-z0-9._-]{1,100}")


def check_experiment(experiment: object) -> None:
    """Refuse what would not stay a part of a file name; ValueError."""
    if not (isinstance(experiment, str) and _EXPERIMENT.fullmatch(experiment)):
        raise UsageError(
            "`experiment_id` must be a plain name of at most 100 letters, digits, '.', '_' and '-', got "
            f"{experiment!r:.120}"
        )


def row_file(folder: str, round_: str, world: int, rank: int) -> str:
    """A path for the rows of one process in one round that no other process or round ever has."""
    return os.path.join(folder, f"{round_}-{uuid.uuid4().hex}-{world}-{rank}.arrow")


def lock_file(path: str) -> str:
    """The lock that the owner of a file of rows holds while it writes."""
    return path + _LOCK


def refuse_twin(own: str) -> None:
    """Refuse to take part in a round beside another living object of the same process number; ValueError."""
    twins = [path for path, rank in _of_round(own) if rank == _rank(own) and path != own]
    # Somebody who looks holds the lock for a moment too, so a second look decides.
    if any(_is_held(twin) for twin in twins):
        time.sleep(5 * _PAUSE)
        if any(_is_held(twin) for twin in twins):
            raise UsageError(
                f"process {_rank(own)} takes part in this round already, as another object or run of the name "
                f"{_told(own)}; give each run an `experiment_id` of its own"
            )


def meet(own: str, timeout: float) -> list[str]:
    """Wait until every process of a round has come to it, whose file of rows must be there.

    Returns:
        The paths of all, by process number, where this is the first process; else its path alone.

    Raises:
        ValueError: If one does not come in time, or comes twice.
    """
    end = time.monotonic() + timeout
    return _gathered(own, end, timeout) if _rank(own) == 0 else [_joined(own, end, timeout)]


def _gathered(own: str, end: float, timeout: float) -> list[str]:
    """All that take part, for the first process, which decides."""
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
                f"process {twice} takes part in this round of the run {_told(own)} more than once; give each run an "
                "`experiment_id` of its own"
            )
        if len(came) == _world(own) - 1:
            party = [own, *sorted(came, key=_rank)]
            _tell(own + _ROUND, {"files": [os.path.basename(path) for path in party], "final": True})
            return party
        if time.monotonic() > end:
            raise UsageError(_absent(own, sorted(set(range(1, _world(own))) - set(ranks)), timeout))
        time.sleep(_PAUSE)


def _joined(own: str, end: float, timeout: float) -> str:
    """The file of the first process, after it has counted this one in."""
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
        f"all {_world(own)} processes of the run {_told(own)} must come to a round within `timeout` ({timeout:g} s), "
        f"{_processes(ranks)} did not; start every process with the same `num_process`, `experiment_id` and "
        "`cache_dir`, and let each of them `compute` every round"
    )


def publish(own: str, first: str, n_rows: int) -> None:
    """Say that all rows of this process are written; where the first process has given up, remove them."""
    with suppress(FileNotFoundError):  # removed while it was being written, by the first process
        _tell(own + _ROWS, n_rows)
    if not os.path.exists(first + _ROUND):
        remove(own)


def collected(party: Sequence[str], n_rows: int, timeout: float) -> pa.Table:
    """The rows of all processes, in their order, once all have said how many there are.

    Raises:
        ValueError: If a process ended, or was not done in time, or its rows are others than it said; names it and the
            number of rows that are there.
    """
    end = time.monotonic() + timeout
    while True:
        counts = [n_rows, *(_read(path + _ROWS) for path in party[1:])]
        late = [rank for rank, count in enumerate(counts) if count is None]
        if not late:
            return pa.concat_tables([_table(path, count) for path, count in zip(party, counts, strict=True)])
        # In this order: a process says how many rows it has before it releases its lock.
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
                f"`compute` must have the rows of all {len(party)} processes of the run {_told(party[0])}, but "
                f"{' and '.join(why)}; the {n_there} rows of {_processes(there)} are not scored: run the round again"
            )
        time.sleep(_PAUSE)


def _table(path: str, n_rows: int) -> pa.Table:
    """The rows in a file, which must be so many."""
    try:
        table = pa.ipc.open_stream(pa.memory_map(path)).read_all()
        found = f"{table.num_rows} rows"
    except (pa.ArrowException, OSError) as error:
        table, found = None, f"a file that fails with: {' '.join(str(error).split())[:200]}"
    if table is None or table.num_rows != n_rows:
        raise UsageError(
            f"process {_rank(path)} of the run {_told(path)} wrote {n_rows} rows, got {found}; nothing is scored: run "
            "the round again"
        )
    return table


def remove(path: str) -> None:
    """Remove the rows of a process and what it told the others; the lock is its owner's."""
    # First what others look at: where it is gone, a process that is late removes its own. Last the rows, whose name a
    # sweep needs to find what is half-written beside them.
    told = (path + _ROUND, path + _ROWS)
    for file in (*told, *(part.path for beside in told for part in parts_of(beside)), path):
        with suppress(FileNotFoundError):
            os.unlink(file)


def sweep(folder: str, experiment: str) -> None:
    """Remove what dead processes of earlier runs of this name have left, in whatever round and of whatever number."""
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
    """Whether the owner of a file of rows is alive and writes; a lock that nobody holds is removed."""
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
    """Paths and process numbers of all files of rows of a round, in a fixed order."""
    mine = _NAME.fullmatch(os.path.basename(own))
    assert mine is not None
    return [
        (path, int(name["rank"]))
        for path, name in sorted(_files(os.path.dirname(own)), key=lambda found: found[0])
        if (name["round"], name["world"]) == (mine["round"], mine["world"]) and os.path.exists(path)
    ]


def _files(folder: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Files of rows by path, each once, also where only something beside them is left."""
    for rows in {_BESIDE.sub("", entry) for entry in os.listdir(folder)}:
        if (name := _NAME.fullmatch(rows)) is not None:
            yield os.path.join(folder, rows), name


def _rank(path: str) -> int:
    return int(path.removesuffix(".arrow").rpartition("-")[2])


def _world(path: str) -> int:
    return int(path.rsplit("-", 2)[1])


def _told(path: str) -> str:
    """The name of the run, as the user gave it."""
    name = _NAME.fullmatch(os.path.basename(path))
    assert name is not None
    return repr(name["round"].partition("@")[0])


def _processes(ranks: Sequence[int]) -> str:
    return f"process{'es' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def _tell(path: str, value: Any) -> None:
    write(path, json.dumps(value))


def _read(path: str) -> Any:
    """What was written; None if nothing was."""
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except FileNotFoundError:
        return None
