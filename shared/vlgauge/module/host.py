"""The host library made safe: clean-up after errors, threads, several processes, no left-over files.

`evaluate` 0.4.6 keeps the rows of a round in a locked Arrow file and leaks both when anything fails; it is not safe in
threads, and mixes the rounds of several processes. Every private name of the host that we touch is in this file.
"""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from typing import ClassVar

import evaluate
from datasets import Dataset
from filelock import FileLock

from vlgauge.module.columns import Column

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

    def __init__(self, dataset: Dataset, columns: Sequence[Column]) -> None:
        self._table = dataset.data
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

    columns: ClassVar[tuple[Column, ...]] = ()

    # Attributes of the host, which declares no types.
    data: Any
    writer: Any
    buf_writer: Any
    filelock: Any
    filelocks: Any
    rendez_vous_lock: Any
    file_paths: Any
    cache_file_name: Any
    selected_feature_format: Any

    def __init__(self, *args: Any, **host: Any) -> None:
        if host.get("num_process", 1) != 1 and not host.get("experiment_id"):
            raise ValueError(
                "`experiment_id` must be one string shared by all processes when `num_process` is over 1, got none; "
                "without it a second run in the same cache folder would mix with this one"
            )
        super().__init__(*args, **host)
        self._first_id = self.experiment_id
        self._round = 0
        self._process = os.getpid()

    def __del__(self) -> None:
        # Rows that were added and never scored: each round has a file of its own, so nobody else would remove it.
        # After a fork the file belongs to the parent.
        if getattr(self, "_process", None) == os.getpid():
            self._discard_rows()

    def _host_add(self, stored: Mapping[str, list[Any]]) -> None:
        """Write checked rows; whatever fails here discards the rows of the round."""
        try:
            super().add_batch(**stored)
        except BaseException as error:
            self._discard_rows()
            error.add_note("The rows that were added before in this round have been discarded.")
            raise

    def _host_compute(self, options: Mapping[str, Any]) -> dict[str, Any] | None:
        """Score the rows of the round; the caller ends it."""
        if self.num_process > 1 and self.writer is None:
            # A process without rows takes part all the same, or the others would wait for it in vain.
            super().add_batch(**{column.name: [] for column in self.columns})
        try:
            record: dict[str, Any] | None = super().compute(**options)
        finally:
            if self.num_process > 1 and self.filelocks:
                # Only rank 0 comes here, after it has got the lock of every process: nobody waits for one any more.
                for who in (*range(self.num_process), "rdv"):
                    stem = f"{self.experiment_id}-{self.num_process}-{who}"
                    _unlink(os.path.join(self.data_dir, stem + (".lock" if who == "rdv" else ".arrow.lock")))
        return record

    def _create_cache_file(self, timeout: float = 1) -> tuple[str, FileLock]:
        """A name of its own for each round, so that no instance ever waits for the lock of another one."""
        if self.num_process > 1:
            return super()._create_cache_file(timeout)
        name = f"{self.experiment_id}-{uuid.uuid4()}-1-0.arrow"
        path = os.path.join(self.data_dir, name)
        # Not bound to a thread, so that rows added in one can be scored in another one later.
        lock = FileLock(path + ".lock", thread_local=False)
        lock.acquire(timeout=timeout)
        return path, lock

    def _finalize(self) -> None:
        super()._finalize()
        if self.data is None:
            return
        self.data = StoredRows(self.data, self.columns)
        if not len(self.data):
            raise ValueError(self._no_rows())

    def _no_rows(self) -> str:
        names = " and ".join(f"`{column.name}`" for column in self.columns if not column.optional)
        return f"{names} must have at least one row, got none; pass rows to `compute`, or `add_batch` them first"

    def _end_round(self) -> None:
        """After each `compute`, failed or not: no rows; in a distributed run also another file name."""
        self._discard_rows()
        if self.num_process > 1:
            # A fast process may write its next rows before rank 0 has read these: they go to another file.
            self._round += 1
            self._module_info.experiment_id = f"{self._first_id}@r{self._round}"

    def _discard_rows(self) -> None:
        """Bring the instance to its state before the first row: no file, no held lock, no writer."""
        if self.writer is not None:
            with suppress(Exception):
                self.writer.close()
        locks = [*(self.filelocks or ()), self.filelock, self.rendez_vous_lock]
        for path in {*(self.file_paths or ()), self.cache_file_name} - {None}:
            _unlink(path)
        for lock in locks:
            if lock is not None:
                with suppress(OSError):
                    lock.release(force=True)
                if self.num_process == 1:
                    # Nobody else can be waiting for it: its name was never used twice.
                    _unlink(lock.lock_file)
        self.writer = self.buf_writer = self.data = None
        self.filelock = self.rendez_vous_lock = self.filelocks = None
        self.file_paths = self.cache_file_name = self.selected_feature_format = None


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
