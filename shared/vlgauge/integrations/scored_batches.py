"""Scores in small files of a folder, one per batch, so that a run that ended goes on where it stood."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vlgauge.files import read_json
from vlgauge.results import without_nan
from vlgauge.writing import write

_RUN = "run.json"


class ScoredBatches:
    """A folder with the scored batches of one run.

    A file is there when it is complete, and its name is made of its ids: a batch that is scored twice, because a worker
    died behind it, is written twice to the same place.

    Args:
        folder: Made where it is not there.
        run: What the scores depend on; a folder of another run is refused.

    Raises:
        ValueError: If the folder holds another run, or something else.
    """

    def __init__(self, folder: str | Path, run: Mapping[str, Any]) -> None:
        self.folder = Path(folder).absolute()  # workers may be somewhere else
        self.folder.mkdir(parents=True, exist_ok=True)
        told = json.loads(json.dumps(without_nan(dict(run))))
        if (self.folder / _RUN).exists():
            found = read_json(self.folder / _RUN, "--checkpoint")
            other = [key for key in {**told, **found} if told.get(key) != found.get(key)] if _is_run(found) else ["all"]
            if other:
                raise ValueError(
                    f"--checkpoint must be of the same run, got another one in {str(folder)!r}, which differs in "
                    f"{', '.join(sorted(other))}; give another folder, or remove this one"
                )
        elif any(self.folder.iterdir()):
            raise ValueError(
                f"--checkpoint must be the folder of a run, or empty, got {str(folder)!r} with other files"
            )
        else:
            write(self.folder / _RUN, json.dumps(told, indent=1) + "\n")

    def add(self, ids: Sequence[Any], scored: pa.Table) -> None:
        """Write a scored batch."""
        name = hashlib.sha256(json.dumps(sorted(map(repr, ids))).encode()).hexdigest()[:32]
        stream = pa.BufferOutputStream()
        pq.write_table(scored, stream)
        write(self.folder / f"{name}.parquet", stream.getvalue().to_pybytes())

    def ids(self, title: str) -> set[Any]:
        """The ids of all rows that are there."""
        return {name for batch in self.batches([title]) for name in batch.column(title).to_pylist()}

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The scored batches.

        Args:
            columns: Those that are read; None for all.

        Raises:
            ValueError: If a file is damaged; it is named.
        """
        for path in sorted(self.folder.glob("*.parquet")):
            try:
                # Not `read_table`, which would take parts of the path for columns.
                yield pq.ParquetFile(path).read(columns=columns)
            except (pa.ArrowException, OSError, KeyError) as error:
                why = " ".join(str(error).split())[:200]
                raise ValueError(
                    f"--checkpoint must hold whole files, got {str(path)!r}, which fails with: {why}; remove it, and "
                    "its rows are scored again"
                ) from None


def _is_run(found: Any) -> bool:
    return isinstance(found, dict)
