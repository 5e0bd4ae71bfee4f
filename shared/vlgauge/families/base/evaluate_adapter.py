"""Wrapper around `evaluate.Metric` that adds error cleanup, thread safety and reliable distributed runs.

`evaluate` 0.4.6 stores the rows of a round in a locked Arrow file and leaks both on errors. It is not thread-safe. In
distributed runs it mixes rows of different rounds and scores incomplete rows of dead processes. All uses of private
names of `evaluate` are in this module.
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

from vlgauge.core.errors import UsageError
from vlgauge.families.base import distributed
from vlgauge.families.base.columns import Column

# Locks are kept outside of the instances, because a lock cannot be pickled.
_LOCKS: weakref.WeakKeyDictionary[object, threading.RLock] = weakref.WeakKeyDictionary()
_LOCKS_GUARD = threading.Lock()


def _forget_locks() -> None:
    """Replace all locks in a forked child, because locks held by other threads of the parent are never released."""
    global _LOCKS_GUARD
    _LOCKS_GUARD = threading.Lock()
    _LOCKS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)


def lock_of(instance: object) -> threading.RLock:
    """Return the lock of an instance, created on first use."""
    with _LOCKS_GUARD:
        return _LOCKS.setdefault(instance, threading.RLock())


class StoredRows:
    """Replacement of the dataset of `evaluate` that passes rows to `_compute` in the form in which they were passed."""

    def __init__(self, table: pa.Table, columns: Sequence[Column]) -> None:
        self._table = table
        self._columns = {column.name: column for column in columns}

    def set_format(self, type: str | None = None) -> None:
        """Do nothing, because the columns define their format."""

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, name: str) -> Sequence[Any]:
        """Return all rows of a column."""
        return self._columns[name].restore(self._table.column(name))


class EvaluateAdapter(evaluate.Metric):
    """Base class with all state handling around the calls of `evaluate`, independent of scores."""

    columns: tuple[Column, ...] = ()

    # Attributes of `evaluate.Metric`, which has no type annotations.
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
            raise UsageError.about(
                "experiment_id",
                "must be one string shared by all processes when `num_process` is over 1, got none",
                "otherwise, a second run in the same cache folder would mix with this one",
            )
        super().__init__(*args, **host)
        distributed.check_experiment(self.experiment_id)
        self._first_id = self.experiment_id
        self._round = 0
        self._n_rows = 0
        self._party: list[str] = []
        self._process = os.getpid()

    def __del__(self) -> None:
        # Remove rows that were added but never scored. Each round has its own file, so nothing else would remove it.
        # After a fork, the file belongs to the parent process.
        if getattr(self, "_process", None) == os.getpid():
            self._discard_rows()

    def _host_add(self, stored: Mapping[str, list[Any]]) -> None:
        """Write validated rows. Any failure discards all rows of the round."""
        try:
            self._write(stored)
            self._n_rows += len(next(iter(stored.values())))
        except BaseException as error:
            self._discard_rows()
            error.add_note("The rows that were added before in this round have been discarded.")
            raise

    def _write(self, stored: Mapping[str, list[Any]]) -> None:
        """Write rows like `evaluate.Metric.add_batch`, without encoding them again."""
        if self.writer is None:
            self.selected_feature_format = self.info.features
            self._init_writer()
        self.writer.write_batch(dict(stored))

    def _create_cache_file(self, timeout: float = 1) -> tuple[str, FileLock]:
        """Create a unique file name for each round, so that no instance ever waits for the lock of another one."""
        path = distributed.row_file(self.data_dir, self.experiment_id, self.num_process, self.process_id)
        # Do not bind the lock to a thread, so that rows added in one thread can be scored in another one.
        lock = FileLock(distributed.lock_file(path), thread_local=False)
        lock.acquire(timeout=timeout)
        return path, lock

    def _init_writer(self, timeout: float = 1) -> None:
        """Open the row file. In a distributed run, wait until all processes have opened theirs."""
        if self.num_process == 1:
            super()._init_writer(timeout)
            return
        self.cache_file_name, self.filelock = self._create_cache_file(timeout)
        self.writer = ArrowWriter(features=self.selected_feature_format, path=self.cache_file_name)
        distributed.check_unique_process(self.cache_file_name)
        self._party = distributed.meet(self.cache_file_name, self.timeout)

    def _finalize(self) -> None:
        if self.num_process == 1:
            self._finalize_alone()
        else:
            self._finalize_one_of_several()
        if self.data is not None:
            if not len(self.data):
                raise UsageError(self._no_rows())
            self.check_all_rows()

    def check_all_rows(self) -> None:
        """Check all rows of a call, which are in `data`, before they are scored. Subclasses override this method."""

    def _finalize_alone(self) -> None:
        """Finalize like `evaluate`, but without a dataset, which would compute an unused fingerprint of all rows."""
        self.writer.finalize()
        self.writer = None
        if self.keep_in_memory:
            table = pa.ipc.open_stream(self.buf_writer.getvalue()).read_all()
        else:
            self.file_paths, self.filelocks = [self.cache_file_name], [self.filelock]
            table = distributed.collect_rows(self.file_paths, self._n_rows, self.timeout)
        self.data = StoredRows(table, self.columns)

    def _finalize_one_of_several(self) -> None:
        """Publish the rows of this process. The first process reads the rows of all processes."""
        if self.writer is None:
            # A process without rows participates too, because the others would otherwise wait until the timeout.
            self._write({column.name: [] for column in self.columns})
        self.writer.finalize()
        self.writer = None
        if self.process_id == 0:
            self.file_paths, self.filelocks = self._party, [self.filelock]
            self.data = StoredRows(distributed.collect_rows(self._party, self._n_rows, self.timeout), self.columns)
        else:
            distributed.publish(self.cache_file_name, self._party[0], self._n_rows)
            self.cache_file_name = None  # removed by the first process from now on
            _release(self.filelock)

    def _no_rows(self) -> str:
        names = " and ".join(f"`{column.name}`" for column in self.columns if not column.optional)
        return (
            f"{names} must have at least one row, got none; pass rows to `compute`, or add them with `add_batch` first"
        )

    def _end_round(self) -> None:
        """Discard all rows after each `compute`, failed or not, and change the file name in a distributed run."""
        self._discard_rows()
        if self.num_process > 1:
            if self.process_id == 0:
                with suppress(OSError):
                    distributed.sweep(self.data_dir, self._first_id)
            # A fast process may write its next rows before rank 0 has read these, so they go to another file.
            self._round += 1
            self._module_info.experiment_id = f"{self._first_id}@r{self._round}"

    def _discard_rows(self) -> None:
        """Reset the instance to its state before the first row, without files, locks and writer."""
        if self.writer is not None:
            with suppress(Exception):
                self.writer.close()
        locks = [*(self.filelocks or ()), self.filelock]
        # Remove the file of this process first, because late processes remove theirs once it is gone.
        for path in dict.fromkeys((self.cache_file_name, *(self.file_paths or ()))):
            if path is not None:
                distributed.remove(path)
        for lock in locks:
            if lock is not None:
                _release(lock)
        self._n_rows, self._party = 0, []
        self.writer = self.buf_writer = self.data = None
        self.filelock = self.filelocks = None
        self.file_paths = self.cache_file_name = self.selected_feature_format = None


def _release(lock: FileLock) -> None:
    """Release a lock and remove its file. No process can wait for it, because its name is never reused."""
    with suppress(OSError):
        lock.release(force=True)
    with suppress(OSError):
        os.unlink(lock.lock_file)
