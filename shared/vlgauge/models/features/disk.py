"""Feature store on disk, shared by processes, for repeated scoring of the same inputs.

All stores of a folder are in one SQLite database, whose locks the file system of the folder must support.
"""

import hashlib
import json
import math
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vlgauge.core.validation import warn

FILE = "features.sqlite"
MAX_BYTES = 2 * 2**30

# If the limit is exceeded, the features that were unused longest are removed until this share of it is left.
_FILLED = 0.9
_KEYS_AT_A_TIME = 900  # SQLite before 3.32 accepts 999 variables
_WAIT_SECONDS = 60.0  # for other processes that write
_DAY = 24 * 60 * 60  # seconds
_SCHEMA = """
CREATE TABLE IF NOT EXISTS features (
    store TEXT, key BLOB, vector BLOB, checksum INTEGER, used INTEGER, PRIMARY KEY (store, key)
)
"""

_COLUMNS = ["store", "key", "vector", "checksum", "used"]
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_warned: set[tuple[Path, str]] = set()

_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A child process would inherit SQLite's record of the file locks that the parent process holds, but not the locks.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def preprocess_id(settings: Mapping[str, Any]) -> str:
    """Return sixteen hexadecimal digits that identify all preprocessing settings that affect the features."""
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class StoredFeatures(NamedTuple):
    """Stored features of one side of one encoder.

    Attributes:
        name: Encoder, side, preprocessing and data type.
        n_features: Number of features.
        n_bytes: Size of the features in bytes.
        used: Number of days from 1970 to the last use.
    """

    name: str
    n_features: int
    n_bytes: int
    used: int


class DiskStore:
    """Features of one side of one encoder in a folder. Safe for threads and processes.

    Args:
        root: Folder of all stores. It is created at the first write, accessible to this user only.
        weights_digest: SHA-256 of the weights in hexadecimal digits.
        side: Kind of input, such as ``"image"`` or ``"text"``.
        preprocess_id: See `preprocess_id`.
        dtype: Data type of the computation. Features are stored as float32.
        max_bytes: Maximum size of all stores in `root` in bytes.
    """

    def __init__(
        self,
        root: str | PathLike[str],
        *,
        weights_digest: str,
        side: str,
        preprocess_id: str,
        dtype: str,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.path = Path(root).expanduser().absolute() / FILE
        self.name = f"clip-{weights_digest[:32]}/{side}-{preprocess_id}-{dtype}"
        self.max_bytes = max_bytes

    def get(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """Return the stored features of these keys, shape ``(width,)`` each, float32. Unknown keys are omitted."""
        found: dict[bytes, np.ndarray] = {}

        def look_up(database: sqlite3.Connection) -> None:
            today, altered, unused = _today(), [], []
            database.text_factory = bytes  # a damaged type may be text that is not valid UTF-8
            for key, content, check, used in self._select(database, "key, vector, checksum, used", keys):
                is_blob = isinstance(key, bytes) and isinstance(content, bytes)
                if not is_blob or self._checksum(key, content) != check:
                    altered.append((self.name, key))
                    continue
                found[key] = np.frombuffer(content, "<f4").astype(np.float32)
                if used != today:
                    unused.append((today, self.name, key))
            if altered:
                n_altered = f"{len(altered)} of {len(found) + len(altered)} embeddings in {self.path}"
                self._warn("altered", f"{n_altered} were altered after they were written; they are computed again")
            if altered or unused:
                with suppress(sqlite3.OperationalError), database:  # nothing can be written to a read-only folder
                    database.executemany("DELETE FROM features WHERE store = ? AND key = ?", altered)
                    database.executemany("UPDATE features SET used = ? WHERE store = ? AND key = ?", unused)

        self._run(look_up)
        return found

    def absent(self, keys: Sequence[bytes]) -> list[bytes]:
        """Return the keys that are not stored, without reading features."""
        there: set[bytes] = set()
        self._run(lambda database: there.update(key for (key,) in self._select(database, "key", keys)))
        return [key for key in keys if key not in there]

    def put(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Store features, except for rows that are not finite.

        If the disk is full or read-only, nothing is stored and one warning is issued.

        Args:
            vectors: Features by key, shape ``(width,)`` each.
        """
        contents = {key: vector.astype("<f4").tobytes() for key, vector in vectors.items() if np.isfinite(vector).all()}
        n_bytes = sum(map(len, contents.values()))
        if n_bytes > self.max_bytes:
            limit = f"the limit of {self.max_bytes} bytes"
            self._warn("limit", f"features of {n_bytes} bytes exceed {limit}, so they are not stored")
            return

        def write(database: sqlite3.Connection) -> None:
            today = _today()
            with database:
                database.execute("BEGIN IMMEDIATE")
                n_removed = self._make_room(database, n_bytes)
                database.executemany(
                    "INSERT OR REPLACE INTO features VALUES (?, ?, ?, ?, ?)",
                    (
                        (self.name, key, content, self._checksum(key, content), today)
                        for key, content in sorted(contents.items())
                    ),
                )
            if n_removed:
                with suppress(sqlite3.OperationalError):  # too little space for a second file
                    database.execute("VACUUM")  # otherwise, pages that are half empty count as full from now on

        if contents:
            self._run(write, creates=True)

    def _checksum(self, key: bytes, content: bytes) -> int:
        """Return the CRC-32 of the name, a key and its features, which detects bits that changed on the disk."""
        return zlib.crc32(content, zlib.crc32(key, zlib.crc32(self.name.encode())))

    def _select(self, database: sqlite3.Connection, columns: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), _KEYS_AT_A_TIME):
            some = keys[start : start + _KEYS_AT_A_TIME]
            query = f"SELECT {columns} FROM features WHERE store = ? AND key IN ({', '.join('?' * len(some))})"
            yield from database.execute(query, (self.name, *some))

    def _make_room(self, database: sqlite3.Connection, n_bytes: int) -> int:
        """Remove the features that were unused longest, if the limit would be exceeded, and return their number."""
        names = ("page_count", "freelist_count", "page_size")
        n_pages, n_free, page_size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        total = (n_pages - n_free) * page_size + n_bytes
        if total <= self.max_bytes:
            return 0
        (n_rows,) = database.execute("SELECT count(*) FROM features").fetchone()
        n_surplus = math.ceil(n_rows * (1 - _FILLED * self.max_bytes / total))
        oldest = "SELECT rowid FROM features ORDER BY used, rowid LIMIT ?"
        return database.execute(f"DELETE FROM features WHERE rowid IN ({oldest})", (n_surplus,)).rowcount

    def _run(self, work: Callable[[sqlite3.Connection], object], *, creates: bool = False) -> None:
        """Call a function with the open database, and warn instead of raising an error if that fails."""
        with _lock:
            try:
                if creates:
                    self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    with suppress(FileExistsError):
                        # Closing a file that others use would release SQLite's locks of this process.
                        self.path.touch(0o600, exist_ok=False)
                elif not self.path.exists():
                    return
                with closing(connect(self.path)) as database:
                    work(database)
            except (sqlite3.Error, OSError) as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGE:  # of an extended code
                    what = "stored in" if creates else "read from"
                    self._warn(what, f"features cannot be {what} {self.path}, so scoring continues without: {error}")
                    return
                try:
                    remove(self.path)
                    outcome = "it was removed, and its features are computed again"
                except OSError as failure:
                    outcome = f"it cannot be removed ({failure.strerror}), so scoring continues without"
                self._warn("broken", f"{self.path} is broken ({error}); {outcome}")

    def _warn(self, kind: str, message: str) -> None:
        """Warn about the database, once per process and kind of message."""
        if (self.path, kind) not in _warned:
            _warned.add((self.path, kind))
            warn(message)


def connect(path: Path) -> sqlite3.Connection:
    """Open an existing database of features.

    Raises:
        sqlite3.DatabaseError: If the file is not readable, or not a database of features.
    """
    database = sqlite3.connect(f"{path.as_uri()}?mode=rw", _WAIT_SECONDS, isolation_level="IMMEDIATE", uri=True)
    database.execute("PRAGMA page_size = 16384")
    try:
        # Waiting for the disk is not needed in a cache: a power cut may damage the file, the end of a process does not.
        database.execute("PRAGMA synchronous = OFF")
        database.execute(_SCHEMA)
        columns = [name for _, name, *_ in database.execute("PRAGMA table_info(features)")]
    except UnicodeDecodeError:  # the name of a damaged column, in a result or a message
        columns = []
    if columns != _COLUMNS:
        error = sqlite3.DatabaseError("its table has other columns")
        error.sqlite_errorcode = sqlite3.SQLITE_NOTADB
        raise error
    return database


def list_features(root: Path) -> list[StoredFeatures]:
    """Return what is stored in a folder, sorted by name.

    Raises:
        sqlite3.DatabaseError: If the database cannot be read.
    """
    if not (root / FILE).exists():
        return []
    with closing(connect((root / FILE).absolute())) as database:
        columns = "store, count(*), sum(length(vector)), max(used)"
        return [StoredFeatures(*row) for row in database.execute(f"SELECT {columns} FROM features GROUP BY store")]


def clear(root: Path) -> int:
    """Remove all features in a folder and nothing else, and return the number of bytes freed.

    Raises:
        OSError: If the file cannot be removed.
    """
    path = root / FILE
    n_bytes = path.stat().st_size if path.exists() else 0
    remove(path)
    return n_bytes


def remove(path: Path) -> None:
    """Remove a database and the journal of an interrupted write, if they exist.

    Raises:
        OSError: If a file cannot be removed.
    """
    for file in (path, path.with_name(f"{path.name}-journal")):
        file.unlink(missing_ok=True)


def _today() -> int:
    """Return the number of days since 1970, because a more precise time would need a write for each read."""
    return int(time.time()) // _DAY
