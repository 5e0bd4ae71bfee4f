"""Rows of Parquet and Arrow files, decoded by a sandbox worker."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from vlgauge.core.errors import UsageError
from vlgauge.core.files import Limits, current_limits, limit_unpacked_size
from vlgauge.inputs.sandbox.setting import is_sandboxed
from vlgauge.inputs.sandbox.workers import MEGABYTE, MEMORY, MOST_SECONDS, SECONDS, run

if TYPE_CHECKING:
    import pyarrow as pa

_BYTES_PER_SECOND = 10 * MEGABYTE
_MOST_METADATA = 32 * MEGABYTE
_OVERHEAD = 16 * MEGABYTE  # schemas and padding of all batches


def parquet_rows(
    data: bytes, name: str, got: object, *, form: str = "Parquet", most_texts: int | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file, or of an Arrow stream in the format of `datasets`, as cells by column name.

    Args:
        data: Content of the file.
        name: Name of the file in messages, such as ``"FILE"``.
        got: Path of the file, for messages.
        form: ``"Parquet"`` or ``"Arrow"``.
        most_texts: Maximum number of texts of a cell. None for no limit.

    Raises:
        ValueError: If the file is not valid, is damaged, or has too many rows, values or bytes after decoding.
    """
    known, limit = current_limits(), limit_unpacked_size(len(data))
    settings: dict[str, Any] = {"form": form, "limit": limit, "max_rows": known.max_rows, "max_row": known.max_row}
    settings |= {"most_texts": most_texts, "untrusted": is_sandboxed()}
    with closing(_batches(data, name, got, settings)) as batches:
        return [row for batch in batches for row in objects(batch, name, got)]


def parquet_table(data: bytes, name: str, got: str, limit: int) -> pa.Table:
    """Return a Parquet file as a table with the metadata of its schema.

    Args:
        data: Content of the file.
        name: Name of the file in messages.
        got: Path of the file, for messages.
        limit: Maximum size of the table in memory, in bytes.

    Raises:
        ValueError: If the file is not valid, is damaged, or exceeds the limit.
    """
    import pyarrow as pa

    with closing(_batches(data, name, got, {"form": "Parquet", "limit": limit})) as batches:
        return pa.Table.from_batches(batches)


def parquet_metadata(data: bytes, key: str, name: str, got: str) -> bytes:
    """Return the metadata of a Parquet file under a key. Empty without the key, or if the file is damaged.

    Args:
        data: Content of the file.
        key: Key of the metadata.
        name: Name of the file in messages.
        got: Path of the file, for messages.

    Raises:
        UsageError: If the metadata are too large.
    """
    task, subject = "vlgauge.inputs.tables.parquet_tasks:metadata", f"{name}, {got!r},"
    (part,) = run(task, {"key": key}, data, subject=subject, most_bytes=_MOST_METADATA, memory=MEMORY + len(data))
    return part.body


def batches_of(content: bytes) -> list[pa.RecordBatch]:
    """Return the batches of an Arrow stream that a worker wrote."""
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(content)) as stream:
        return list(stream)


def objects(batch: pa.RecordBatch, name: str, got: object) -> list[dict[str, Any]]:
    """Return the rows of a batch as dictionaries of Python objects by column name.

    Raises:
        UsageError: If Python cannot represent a value, such as a time before year 1.
    """
    import pyarrow as pa

    try:
        return batch.to_pylist()
    except (pa.ArrowException, ArithmeticError, ValueError, LookupError) as error:
        raise UsageError(
            f"{name} must have times that Python can represent, got one in {got!r} that it cannot ({error}); "
            "save such a column as strings"
        ) from error


def _batches(data: bytes, name: str, got: object, settings: dict[str, Any]) -> Generator[pa.RecordBatch]:
    """Yield the batches. The first one arrives after the worker has checked that all of them are within the limits."""
    limit = settings["limit"]
    parts = run(
        "vlgauge.inputs.tables.parquet_tasks:batches",
        {"name": name, "got": str(got), **settings},
        data,
        subject=f"{name}, {str(got)!r},",
        most_bytes=limit + _OVERHEAD,
        memory=MEMORY * max(1, -(-limit // Limits.max_unpacked)),
        seconds=min(max(SECONDS, len(data) / _BYTES_PER_SECOND), MOST_SECONDS),
    )
    with closing(parts):
        for part in parts:
            yield from batches_of(part.body)
