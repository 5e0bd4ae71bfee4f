"""The host library made safe: clean-up after errors, threads, several processes, no left-over files.

`evaluate` 0.4.6 keeps the rows of a round in a locked Arrow file and leaks both when anything fails; it is not safe in
threads; of several processes it mixes the rounds, and scores what a dead one had written so far. Every private name of
the host that we touch is in this file.
"""

import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import evaluate
import pyarrow as pa
from datasets.arrow_writer import ArrowWriter
from filelock import FileLock

from vlgauge.base import rounds
from vlgauge.base.columns import Column
from vlgauge.errors import UsageError

# Locks stay outside of the instances, because a lock cannot be pickled.
_LOCKS: weakref.WeakKeyDictionary[object, threading.RLock] = weakref.WeakKeyDictionary()
_LOCKS_GUARD = threading.Lock()


def _forget_locks() -> None:
    """In the child of a fork: a lock that another thread of the parent held would never be released."""
    global _LOCKS_GUARD
    _LOCKS_GUARD = threading.Lock()
    _LOCKS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)


def lock_of(instance: object) -> threading.RLock:
    """The one lock of an instance, made when first asked for."""
    with _LOCKS_GUARD:
        return _LOCKS.setdefault(instance, threading.RLock())


class StoredRows:
    """Stands in for the host's data set, so that `_compute` gets the rows as the user gave them."""

    def __init__(self, table: pa.Table, columns: Sequence[Column]) -> None:
        self._table = table
        self._columns = {column.name: column for column in columns}

    def set_format(self, type: str | None = None) -> None:
        """Nothing to do: the columns know their form."""

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, name: str) -> Sequence[Any]:
        """All rows of a column."""
        return self._columns[name].restore(self._table.column(name))


class HostedMetric(evaluate.Metric):
    """What has to be done around each call of the host; knows nothing of scores."""

    columns: tuple[Column, ...] = ()

    # Attributes of the host, which declares no types.
    data: Any
    writer: Any
    buf_writer: Any
    filelock: Any
    filelocks: Any
    file_paths: Any
    cache_file_name: Any
    selected_feature_format: Any

    def __init__(self, *args: Any, **host: Any) -> None:
        if host.get("num_process", 1) != 1 and not host.get("experiment_id"):
            raise UsageError(
                "`experiment_id` must be one string shared by all processes when `num_process` is over 1, got none; "
                "without it a second run in the same cache folder would mix with this one"
            )
        super().__init__(*args, **host)
        rounds.check_experiment(self.experiment_id)
        self._first_id = self.experiment_id
        self._round = 0
        self._n_rows = 0
        self._party: list[str] = []
        self._process = os.getpid()

    def __del__(self) -> None:
        # Rows that were added and never scored: each round has a file of its own, so nobody else would remove it.
        # After a fork the file belongs to the parent.
        if getattr(self, "_process", None) == os.getpid():
            self._discard_rows()

    def _host_add(self, stored: Mapping[str, list[Any]]) -> None:
        """Write checked rows; whatever fails here discards the rows of the round."""
        try:
            self._write(stored)
            self._n_rows += len(next(iter(stored.values())))
        except BaseException as error:
            self._discard_rows()
            error.add_note("The rows that were added before in this round have been discarded.")
            raise

    def _write(self, stored: Mapping[str, list[Any]]) -> None:
        """What the host's `add_batch` does, but for encoding each row again: the columns have done it."""
        if self.writer is None:
            self.selected_feature_format = self.info.features
            self._init_writer()
        self.writer.write_batch(dict(stored))

    def _host_compute(self, options: Mapping[str, Any]) -> dict[str, Any] | None:
        """Score the rows of the round; the caller ends it."""
        if self.num_process > 1 and self.writer is None:
            # A process without rows takes part all the same, or the others would wait for it in vain.
            self._write({column.name: [] for column in self.columns})
        return super().compute(**options)

    def _create_cache_file(self, timeout: float = 1) -> tuple[str, FileLock]:
        """A name of its own for each round, so that no instance ever waits for the lock of another one."""
        path = rounds.row_file(self.data_dir, self.experiment_id, self.num_process, self.process_id)
        # Not bound to a thread, so that rows added in one can be scored in another one later.
        lock = FileLock(rounds.lock_file(path), thread_local=False)
        lock.acquire(timeout=timeout)
        return path, lock

    def _init_writer(self, timeout: float = 1) -> None:
        """Open the file of rows; of several processes, wait until all have."""
        if self.num_process == 1:
            super()._init_writer(timeout)
            return
        self.cache_file_name, self.filelock = self._create_cache_file(timeout)
        self.writer = ArrowWriter(features=self.selected_feature_format, path=self.cache_file_name)
        rounds.refuse_twin(self.cache_file_name)
        self._party = rounds.meet(self.cache_file_name, self.timeout)

    def _finalize(self) -> None:
        if self.num_process == 1:
            self._finalize_alone()
        else:
            self._finalize_one_of_several()
        if self.data is not None and not len(self.data):
            raise UsageError(self._no_rows())

    def _finalize_alone(self) -> None:
        """What the host does, but for its data set, which takes a digest of all rows that nobody asks for."""
        self.writer.finalize()
        self.writer = None
        if self.keep_in_memory:
            table = pa.ipc.open_stream(self.buf_writer.getvalue()).read_all()
        else:
            self.file_paths, self.filelocks = [self.cache_file_name], [self.filelock]
            table = rounds.collected(self.file_paths, self._n_rows, self.timeout)
        self.data = StoredRows(table, self.columns)

    def _finalize_one_of_several(self) -> None:
        """Hand the rows of this process over; the first one reads those of all."""
        self.writer.finalize()
        self.writer = None
        if self.process_id == 0:
            self.file_paths, self.filelocks = self._party, [self.filelock]
            self.data = StoredRows(rounds.collected(self._party, self._n_rows, self.timeout), self.columns)
        else:
            rounds.publish(self.cache_file_name, self._party[0], self._n_rows)
            self.cache_file_name = None  # from now on the first process's to remove
            _release(self.filelock)

    def _no_rows(self) -> str:
        names = " and ".join(f"`{column.name}`" for column in self.columns if not column.optional)
        return f"{names} must have at least one row, got none; pass rows to `compute`, or `add_batch` them first"

    def _end_round(self) -> None:
        """After each `compute`, failed or not: no rows; in a distributed run also another file name."""
        self._discard_rows()
        if self.num_process > 1:
            if self.process_id == 0:
                with suppress(OSError):
                    rounds.sweep(self.data_dir, self._first_id)
            # A fast process may write its next rows before rank 0 has read these: they go to another file.
            self._round += 1
            self._module_info.experiment_id = f"{self._first_id}@r{self._round}"

    def _discard_rows(self) -> None:
        """Bring the instance to its state before the first row: no file, no held lock, no writer."""
        if self.writer is not None:
            with suppress(Exception):
                self.writer.close()
        locks = [*(self.filelocks or ()), self.filelock]
        # The own file first: where it is gone, processes that are late remove theirs.
        for path in dict.fromkeys((self.cache_file_name, *(self.file_paths or ()))):
            if path is not None:
                rounds.remove(path)
        for lock in locks:
            if lock is not None:
                _release(lock)
        self._n_rows, self._party = 0, []
        self.writer = self.buf_writer = self.data = None
        self.filelock = self.filelocks = None
        self.file_paths = self.cache_file_name = self.selected_feature_format = None


def _release(lock: FileLock) -> None:
    """Release a lock and remove its file: nobody waits for it, because its name was never used twice."""
    with suppress(OSError):
        lock.release(force=True)
    with suppress(OSError):
        os.unlink(lock.lock_file)
