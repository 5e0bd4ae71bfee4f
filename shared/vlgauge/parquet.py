"""Parquet and Arrow files that others made: unpacked in a box, and counted before they become objects of Python."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from vlgauge.box import MEGABYTE, Answer, Ask, Box, Garbled, Part, bounds
from vlgauge.errors import UsageError
from vlgauge.files import Limits, TooMuch, current_limits, first_repeated, refuse, unpacked_limit

if TYPE_CHECKING:
    import pyarrow as pa

# What a value takes in memory as an object of Python beside its own bytes, and a list and an object in which it stands.
_BYTES_PER_NUMBER, _BYTES_PER_VALUE, _BYTES_PER_DECIMAL, _BYTES_PER_LIST, _BYTES_PER_OBJECT = 32, 64, 128, 88, 200
_BATCH_ROWS, _BATCH_BYTES = 4096, 16 * MEGABYTE
_BYTES_PER_CHARACTER = 4
_MOST_DEEP = 64
_OVERHEAD = 16 * MEGABYTE  # schemas and padding of all batches
_USUAL_SECONDS, _BYTES_PER_SECOND = 10.0, 10 * MEGABYTE

BOX = Box({"batches": "vlgauge.parquet:unpacked"})


# -- Here -------------------------------------------------------------------------------------------------------------
def parquet_rows(data: bytes, name: str, shown: object, *, form: str = "Parquet") -> list[dict[str, Any]]:
    """The rows of a Parquet file, or of a stream of Arrow as `datasets` saves it.

    Args:
        data: The file.
        name: How messages call it.
        shown: Its path, for messages.
        form: ``"Parquet"`` or ``"Arrow"``.

    Raises:
        ValueError: If it is none, is damaged, or has too many rows, values or bytes when it is unpacked.
    """
    known, limit = current_limits(), unpacked_limit(len(data))
    most = {"limit": limit, "max_rows": known.max_rows, "max_row": known.max_row}
    settings = {"name": name, "shown": str(shown), "form": form, **most}
    # Objects are made when the child has said that all of the file is within the limit.
    batches = _read(data, settings, limit)
    _check_left(limit - sum(_bytes_in_python(one) for batch in batches for one in batch.columns), limit, name, shown)
    rows: list[dict[str, Any]] = []
    for batch in batches:
        rows += _objects(batch, name, shown)
    return rows


def _objects(batch: pa.RecordBatch, name: str, shown: object) -> list[dict[str, Any]]:
    """Return the rows of a batch as objects of Python, which has no times before year 1 and no unknown time zones."""
    import pyarrow as pa

    try:
        return batch.to_pylist()
    except (pa.ArrowException, ArithmeticError, ValueError, LookupError) as error:
        raise UsageError(
            f"{name} must have times that Python can hold, got one in {shown!r} that it cannot ({error}); save such a "
            "column as text"
        ) from error


def parquet_table(data: bytes, name: str, shown: str, limit: int) -> pa.Table:
    """A Parquet file as it is, with the description in its schema.

    Args:
        data: The file.
        name: How messages call it.
        shown: Its path, for messages.
        limit: Bytes that it may have in memory.

    Raises:
        ValueError: If it is none, is damaged, or larger.
    """
    import pyarrow as pa

    settings = {"name": name, "shown": shown, "form": "Parquet", "limit": limit, "whole": True}
    return pa.Table.from_batches(_read(data, settings, limit))


def _read(data: bytes, settings: Mapping[str, Any], limit: int) -> list[pa.RecordBatch]:
    """What a child unpacks, with as much memory and time as the size of the file allows."""
    batches: list[pa.RecordBatch] = []
    added = 512 * MEGABYTE * max(1, -(-limit // Limits.max_unpacked))
    with bounds(added_bytes=added, seconds=max(_USUAL_SECONDS, len(data) / _BYTES_PER_SECOND)):
        BOX.run(
            "batches",
            settings,
            data,
            what=f"{settings['name']}, {settings['shown']!r},",
            most=limit + _OVERHEAD,
            take=lambda part: batches.append(_batch(part)),
        )
    return batches


def _batch(part: Answer) -> pa.RecordBatch:
    """The rows of a part of an answer, which may be anything.

    Raises:
        Garbled: If they are none, or of a kind that no file here has.
    """
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(pa.py_buffer(part.body)) as stream:
            if not all(_is_plain(field.type) for field in stream.schema):
                raise Garbled("rows of another kind")
            batch = stream.read_next_batch()
        batch.validate(full=True)
    except (pa.ArrowException, OSError, MemoryError, StopIteration) as error:
        raise Garbled(f"no rows ({type(error).__name__})") from None
    return batch


def _is_plain(kind: pa.DataType, depth: int = 0) -> bool:
    """Whether a type is one whose bytes in Python are known, and not too deep."""
    import pyarrow.types as kinds

    if depth > _MOST_DEEP or kinds.is_union(kind) or kinds.is_run_end_encoded(kind):
        return False
    if kinds.is_dictionary(kind):
        return not kinds.is_nested(kind.value_type) and not kinds.is_dictionary(kind.value_type)
    if kinds.is_nested(kind):
        return all(_is_plain(kind.field(i).type, depth + 1) for i in range(kind.num_fields))
    return kinds.is_primitive(kind) or kinds.is_null(kind) or kinds.is_decimal(kind) or _is_text(kind)


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow.types as kinds

    texts = (kinds.is_string, kinds.is_large_string, kinds.is_binary, kinds.is_large_binary)
    return kinds.is_fixed_size_binary(kind) or any(is_one(kind) for is_one in texts)


# -- In the box -------------------------------------------------------------------------------------------------------
def unpacked(settings: dict[str, Any], data: bytes | bytearray, ask: Ask) -> Iterator[Part]:
    """Batches of rows, each a stream of Arrow; none that would take more than the limit in Python."""
    import pyarrow as pa

    name, shown = settings["name"], settings["shown"]
    try:
        for batch in _batches(data, settings):
            stream = io.BytesIO()
            with pa.ipc.new_stream(stream, batch.schema) as writer:
                writer.write_batch(batch)
            yield {}, stream.getbuffer()
    except (TooMuch, MemoryError):
        raise
    except Exception as error:
        # The reader trusts the inside of the file: a damaged one raises nearly anything.
        why = " ".join(str(error).split())[:200] or type(error).__name__
        article = "an" if settings["form"] == "Arrow" else "a"
        raise UsageError(
            f"{name} must be {article} {settings['form']} file, got {shown!r}, which fails with: {why}"
        ) from None


def _batches(data: bytes | bytearray, settings: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    if settings["form"] == "Arrow":
        yield from _within(_of_stream(data), settings)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    name, shown, limit = settings["name"], settings["shown"], settings["limit"]
    plain = pq.ParquetFile(pa.BufferReader(data), arrow_extensions_enabled=False, page_checksum_verification=True)
    metadata = plain.metadata
    if (repeated := first_repeated(plain.schema_arrow.names)) is not None:
        raise UsageError(f"the column {repeated!r} twice")
    if "whole" in settings:
        left = limit
        yield pa.RecordBatch.from_pylist([], plain.schema_arrow)  # a table without rows has a schema, too
        for batch in plain.iter_batches(_BATCH_ROWS, use_threads=False):
            left -= batch.nbytes
            _check_left(left, limit, name, shown)
            yield batch
        return
    if metadata.num_rows > settings["max_rows"]:
        refuse(name, settings["max_rows"], "rows", "max_rows", shown)
    # Texts that are stored once and used often are read as such, where the library can.
    once = pq.ParquetFile(pa.BufferReader(data), read_dictionary=_texts(metadata), arrow_extensions_enabled=False)
    groups = range(metadata.num_row_groups)
    yield from _within((batch for group in groups for batch in _of_group(once, plain, group)), settings)


def _within(batches: Iterable[pa.RecordBatch], settings: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Batches, as long as all of them are within the limits."""
    name, shown, limit = settings["name"], settings["shown"], settings["limit"]
    left, n_rows = limit, 0
    for batch in batches:
        sizes = list(map(_bytes_in_python, batch.columns))
        left -= sum(sizes)
        _check_left(left, limit, name, shown)
        _check_rows(batch, sizes, n_rows, settings)
        batch.validate(full=True)  # texts that are no UTF-8
        n_rows += len(batch)
        if n_rows > settings["max_rows"]:
            refuse(name, settings["max_rows"], "rows", "max_rows", shown)
        yield batch


def _of_stream(data: bytes | bytearray) -> Iterator[pa.RecordBatch]:
    """Batches of a stream of Arrow, some rows at a time."""
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
        if (repeated := first_repeated(stream.schema.names)) is not None:
            raise UsageError(f"the column {repeated!r} twice")
        for batch in stream:
            batch.validate(full=True)
            at_a_time = max(1, min(_BATCH_ROWS, len(batch) * _BATCH_BYTES // max(1, batch.nbytes)))
            yield from (batch.slice(start, at_a_time) for start in range(0, len(batch), at_a_time))


def _of_group(once: Any, plain: Any, group: int) -> Iterable[pa.RecordBatch]:
    import pyarrow as pa

    known = plain.metadata.row_group(group)
    at_a_time = max(1, min(_BATCH_ROWS, known.num_rows * _BATCH_BYTES // max(1, known.total_byte_size)))
    try:
        # To a list, as a reader that cannot says so late.
        return list(once.iter_batches(at_a_time, row_groups=[group], use_threads=False))
    except (pa.ArrowNotImplementedError, OSError):
        return plain.iter_batches(at_a_time, row_groups=[group], use_threads=False)


def _texts(metadata: Any) -> list[str]:
    """The columns of texts and bytes."""
    columns = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    return [one.path for one in columns if one.physical_type == "BYTE_ARRAY" and one.logical_type.type != "DECIMAL"]


def _check_left(left: int, limit: int, name: str, shown: object) -> None:
    if left < 0:
        refuse(name, limit, "bytes when it is unpacked", "max_unpacked", shown)


def _check_rows(batch: pa.RecordBatch, sizes: list[int], n_before: int, settings: dict[str, Any]) -> None:
    """Refuse a row that is too long; looked for where all rows together are."""
    longest = _BYTES_PER_CHARACTER * settings["max_row"]
    if sum(sizes) > longest:
        for i in range(len(batch)):
            if sum(map(_bytes_in_python, batch.slice(i, 1).columns)) > longest:
                place = f"{settings['shown']}, row {n_before + i}"
                refuse(settings["name"], longest, "bytes in a row", "max_row", place)


def _bytes_in_python(column: pa.Array) -> int:
    """About what a column takes as objects of Python, every text that is stored once and used often written out."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    n, kind = len(column), column.type
    if isinstance(column, pa.ExtensionArray):
        return _bytes_in_python(column.storage)
    if kinds.is_dictionary(kind):
        if not _is_text(kind.value_type):
            return _BYTES_PER_VALUE * n
        lengths = pc.cast(pc.binary_length(column.dictionary), pa.int64())
        return _BYTES_PER_VALUE * n + int(pc.sum(lengths.take(column.indices)).as_py() or 0)
    if kinds.is_struct(kind):
        return _BYTES_PER_OBJECT * n + sum(map(_bytes_in_python, column.flatten()))
    if kinds.is_map(kind):
        pairs = column.keys, column.items
        return _BYTES_PER_LIST * n + _BYTES_PER_OBJECT * len(pairs[0]) + sum(map(_bytes_in_python, pairs))
    if kinds.is_nested(kind):
        return _BYTES_PER_LIST * n + _bytes_in_python(column.flatten())
    if _is_text(kind):
        return _BYTES_PER_VALUE * n + int(column.nbytes)
    if kinds.is_decimal(kind):
        return _BYTES_PER_DECIMAL * n
    return (_BYTES_PER_NUMBER if kinds.is_primitive(kind) and not kinds.is_temporal(kind) else _BYTES_PER_VALUE) * n
