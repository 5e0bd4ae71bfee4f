"""Worker tasks that decode Parquet and Arrow files and measure rows before they become Python objects."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from vlgauge.core.errors import UsageError, convert_errors
from vlgauge.core.files import FileLimitError, first_repeated, refuse
from vlgauge.inputs.datasets.kinds import MEDIA_COLUMNS
from vlgauge.inputs.limits import check_n_columns, check_n_texts

_BATCH_ROWS, _BATCH_BYTES = 4096, 16 * 2**20
_BYTES_PER_CHARACTER = 4
_MOST_SCHEMA_BYTES = 2**20
# Approximate overhead of a Python object in bytes: number, other value, decimal, list and dictionary.
_NUMBER, _VALUE, _DECIMAL, _LIST, _OBJECT = 32, 64, 128, 88, 200


def batches(data: bytes, **settings: Any) -> Iterator[tuple[dict[str, Any], memoryview]]:
    """Yield an empty dictionary and an Arrow stream per batch of rows, after all batches were found within the limits.

    Args:
        data: Content of the file.
        **settings: ``form`` ("Parquet" or "Arrow"), ``name`` and ``got`` for messages, and ``limit``, ``max_rows``,
            ``max_row``, ``most_texts`` and ``untrusted``.

    Raises:
        UsageError: If the file is damaged or of another kind.
        FileLimitError: If the file exceeds a limit.
    """
    form, read = ("an Arrow", _of_stream) if settings["form"] == "Arrow" else ("a Parquet", _of_parquet)
    expected = f"{settings['name']} must be {form} file, got {settings['got']!r}"
    with convert_errors(expected, kept=(FileLimitError, MemoryError)):
        found = list(read(data, settings))
        yield from (({}, arrow_stream(batch)) for batch in found)


def metadata(data: bytes, key: str) -> Iterator[tuple[None, bytes]]:
    """Yield None and the metadata of a Parquet file under a key. They are empty without the key, or if it is damaged.

    Args:
        data: Content of the file.
        key: Key of the metadata.
    """
    try:
        found = pq.read_metadata(pa.BufferReader(data)).metadata or {}
    except MemoryError:
        raise
    except Exception:  # a damaged file can raise nearly any error
        found = {}
    yield None, found.get(key.encode(), b"")


def arrow_stream(batch: pa.RecordBatch) -> memoryview:
    """Return a batch as an Arrow stream."""
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    return stream.getbuffer()


def python_bytes(column: pa.Array) -> int:
    """Return the approximate memory of the Python objects of a column, in bytes.

    Raises:
        UsageError: If the type of the column is not supported.
    """
    n, kind = len(column), column.type
    if isinstance(column, pa.ExtensionArray):
        return python_bytes(column.storage)
    if kinds.is_dictionary(kind):
        return python_bytes(column.dictionary_decode())
    if kinds.is_struct(kind):
        return _OBJECT * n + sum(map(python_bytes, column.flatten()))
    if kinds.is_map(kind):
        return _LIST * n + _OBJECT * len(column.keys) + python_bytes(column.keys) + python_bytes(column.items)
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        return _LIST * n + python_bytes(column.flatten())
    if any(is_one(kind) for is_one in (kinds.is_string, kinds.is_large_string, kinds.is_binary, kinds.is_large_binary)):
        return _VALUE * n + int(column.nbytes)
    if kinds.is_fixed_size_binary(kind):
        return (_VALUE + int(kind.byte_width)) * n
    if kinds.is_decimal(kind):
        return _DECIMAL * n
    if kinds.is_primitive(kind) or kinds.is_null(kind):
        return (_VALUE if kinds.is_temporal(kind) or kinds.is_null(kind) else _NUMBER) * n
    raise UsageError(f"a column of the type {kind}, which is not supported")


def _of_parquet(data: bytes, settings: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    file = pq.ParquetFile(pa.BufferReader(data), arrow_extensions_enabled=False, page_checksum_verification=True)
    _check_titles(file.schema_arrow)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    n_rows, n_bytes = file.metadata.num_rows, sum(group.total_byte_size for group in groups)
    at_a_time = max(1, min(_BATCH_ROWS, n_rows * _BATCH_BYTES // max(1, n_bytes)))
    if settings.get("untrusted"):
        _check_schema(file.schema_arrow, file.metadata.num_columns, settings)
    found = file.iter_batches(at_a_time, use_threads=False)
    if "max_rows" in settings:
        yield from _within(found, settings)
        return
    yield pa.RecordBatch.from_pylist([], file.schema_arrow)  # schema of a table without rows
    left = settings["limit"]
    for batch in found:
        left -= batch.nbytes
        _check_left(left, settings)
        yield batch


def _of_stream(data: bytes, settings: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
        _check_titles(stream.schema)
        if settings["untrusted"]:
            _check_schema(stream.schema, len(stream.schema), settings)
        yield from _within(_small(stream), settings)


def _small(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield slices of each batch with a limited number of rows and bytes."""
    for batch in batches:
        batch.validate(full=True)
        at_a_time = max(1, min(_BATCH_ROWS, len(batch) * _BATCH_BYTES // max(1, batch.nbytes)))
        yield from (batch.slice(start, at_a_time) for start in range(0, len(batch), at_a_time))


def _within(batches: Iterable[pa.RecordBatch], settings: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Yield batches without metadata of their schema, as long as all of them are within the limits."""
    left, n_rows, longest = settings["limit"], 0, _BYTES_PER_CHARACTER * settings["max_row"]
    for batch in batches:
        n_bytes = sum(map(python_bytes, batch.columns))
        left -= n_bytes
        _check_left(left, settings)
        if n_bytes > longest:
            _check_rows(batch, n_rows, longest, settings)
        batch.validate(full=True)  # strings may be invalid UTF-8
        if settings["most_texts"] is not None:
            _check_texts(batch, n_rows, settings["most_texts"])
        n_rows += len(batch)
        if n_rows > settings["max_rows"]:
            refuse(settings["name"], settings["max_rows"], "rows", "max_rows", settings["got"])
        yield batch.replace_schema_metadata(None)


def _check_titles(schema: pa.Schema) -> None:
    if (repeated := first_repeated(schema.names)) is not None:
        raise UsageError(f"the column {repeated!r} twice")


def _check_schema(schema: pa.Schema, n_columns: int, settings: dict[str, Any]) -> None:
    """Check the number of columns and the size of their names and metadata, which the main process also holds."""
    name, got = settings["name"], settings["got"]
    check_n_columns(name, n_columns, got)
    if schema.remove_metadata().serialize().size > _MOST_SCHEMA_BYTES:
        what = "bytes of column names and metadata"
        raise FileLimitError(f"{name} must have at most {_MOST_SCHEMA_BYTES:,} {what}, got more in {got!r}")


def _check_left(left: int, settings: dict[str, Any]) -> None:
    if left < 0:
        limit = settings["limit"]
        refuse(settings["name"], limit, "bytes when it is decompressed", "max_unpacked", settings["got"])


def _check_texts(batch: pa.RecordBatch, n_before: int, most: int) -> None:
    """Check the number of texts of each cell, as for other tables."""
    for title, column in zip(batch.schema.names, batch.columns, strict=True):
        kind = column.type
        is_list = kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)
        if is_list and not kinds.is_primitive(kind.value_type) and title not in MEDIA_COLUMNS:
            import pyarrow.compute as pc  # slow to import

            lengths = pc.list_value_length(column)
            longest = pc.max(lengths).as_py() or 0
            check_n_texts(title, longest, most, f"row {n_before + pc.index(lengths, longest).as_py()}")


def _check_rows(batch: pa.RecordBatch, n_before: int, longest: int, settings: dict[str, Any]) -> None:
    for i in range(len(batch)):
        if sum(map(python_bytes, batch.slice(i, 1).columns)) > longest:
            place = f"{settings['got']}, row {n_before + i}"
            refuse(settings["name"], longest, "bytes in a row", "max_row", place)
