"""Folder of scored batches, one small file per batch, from which an interrupted run continues."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vlgauge.core.errors import UsageError, short_reason
from vlgauge.core.files import read_json
from vlgauge.core.results import without_nan
from vlgauge.core.run_locks import LOCK
from vlgauge.core.writing import write

_RUN = "run.json"
_DIGITS = 32  # characters of the digest of the ids in a file name, and of its checksum


class ScoredBatches:
    """Folder with the scored batches of one run.

    Files are written atomically. The name of a file contains a digest of its ids, and a checksum of its content and the
    run. Thus a batch that is scored twice, because a worker died after writing it, counts once, and corrupted files are
    detected.

    Args:
        folder: Path of the folder, which is created if needed.
        run: Description of everything that affects the scores. A folder of another run is rejected.

    Raises:
        ValueError: If the folder belongs to another run or contains other files.
    """

    def __init__(self, folder: str | Path, run: Mapping[str, Any]) -> None:
        self.folder = Path(folder).absolute()  # workers may have another working directory
        self.folder.mkdir(parents=True, exist_ok=True)
        run_facts = json.loads(json.dumps(without_nan(dict(run))))
        self._run = json.dumps(run_facts, sort_keys=True).encode()
        if (self.folder / _RUN).exists():
            found = read_json(self.folder / _RUN, "--parts")
            other = _differing(run_facts, found) if isinstance(found, dict) else ["all"]
            if other:
                raise UsageError(
                    f"--parts must be of the same run, got another one in {str(folder)!r}, which differs in "
                    f"{', '.join(sorted(other))}; pass another folder, or remove this one"
                )
        elif any(path.name != LOCK for path in self.folder.iterdir()):
            raise UsageError(f"--parts must be the folder of a run, or empty, got {str(folder)!r} with other files")
        else:
            write(self.folder / _RUN, json.dumps(run_facts, indent=1) + "\n")

    def add(self, ids: Sequence[Any], scored: pa.Table) -> None:
        """Write a scored batch.

        Args:
            ids: Ids of its rows.
            scored: Output of `RowScorer.score_rows`.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        name = hashlib.sha256(json.dumps(sorted(map(repr, ids))).encode()).hexdigest()[:_DIGITS]
        stream = pa.BufferOutputStream()
        pq.write_table(scored, stream)
        content = stream.getvalue().to_pybytes()
        write(self.folder / f"{name}-{self._checksum(content)}.parquet", content)

    def ids(self, title: str) -> set[Any]:
        """Return the ids of all stored rows, strings or integers.

        Args:
            title: Name of the id column.
        """
        return {name for batch in self.batches([title]) for name in batch.column(title).to_pylist()}

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the stored batches.

        Args:
            columns: Columns to read. None for all columns.

        Raises:
            ValueError: If a file is damaged. The message names it.
        """
        # Keep one file per digest of ids, because a worker that died may have written another one.
        files = {path.name[:_DIGITS]: path for path in sorted(self.folder.glob("*.parquet"))}
        for path in files.values():
            try:
                content = path.read_bytes()
                if path.stem[_DIGITS + 1 :] != self._checksum(content):
                    raise OSError("its content was modified")
                yield pq.ParquetFile(pa.BufferReader(content)).read(columns=columns)
            except (pa.ArrowException, OSError, KeyError) as error:
                why = short_reason(error)
                raise UsageError(
                    f"--parts must contain complete files, got {str(path)!r}, which fails with: {why}; remove it, and "
                    "its rows are scored again"
                ) from None

    def _checksum(self, content: bytes) -> str:
        return hashlib.sha256(self._run + content).hexdigest()[:_DIGITS]


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    found = []
    for key in {**one, **other}:
        first, second = one.get(key), other.get(key)
        if isinstance(first, dict) and isinstance(second, dict) and first != second:
            found.append(f"{key} ({', '.join(sorted(_differing(first, second)))})")
        elif first != second:
            found.append(key)
    return found
