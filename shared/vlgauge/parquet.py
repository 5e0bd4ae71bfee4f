"""Rows of Parquet files that others made: what a file unpacks to is known before anything is unpacked."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vlgauge.files import TooMuch, current_limits, first_repeated, refuse, unpacked_limit

if TYPE_CHECKING:
    import pyarrow as pa

# What a value takes in memory beside its own bytes, so that few bytes of a file do not become very many;
# and what each list and each object takes in which it stands.
_BYTES_PER_NUMBER, _BYTES_PER_VALUE, _BYTES_PER_DECIMAL, _BYTES_PER_LIST, _BYTES_PER_OBJECT = 32, 64, 128, 88, 200
# Of what a file may unpack to, a page may be one part, and what is read at a time another.
_PAGES, _BATCHES = 4, 8
_BATCH = 4096
_BYTES_PER_CHARACTER = 4

# Of the header of a page: its sizes, the kinds of pages, and what they say of the page.
_UNPACKED, _PACKED, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8
_VALUES, _ENCODING, _ENCODING_2, _LEVELS_2, _IS_PACKED_2 = 1, 2, 4, (5, 6), 7
_DELTA_BYTE_ARRAY = 7
_THRIFT_TRUE, _THRIFT_FALSE, _THRIFT_INTEGERS, _THRIFT_TEXT, _THRIFT_STRUCTURE = 1, 2, (4, 5, 6), 8, 12


def parquet_rows(data: bytes, name: str, shown: object) -> list[dict[str, Any]]:
    """The rows of a Parquet file.

    Raises:
        ValueError: If it is none, is damaged, or has too many rows, values or bytes when it is unpacked.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = []
    try:
        metadata = pq.read_metadata(pa.BufferReader(data))
        known, limit = current_limits(), unpacked_limit(len(data))
        if metadata.num_rows > known.max_rows:
            refuse(name, known.max_rows, "rows", "max_rows", shown)
        plain = pq.ParquetFile(pa.BufferReader(data), arrow_extensions_enabled=False)
        if (repeated := first_repeated(plain.schema_arrow.names)) is not None:
            raise ValueError(f"the column {repeated!r} twice")
        sizes = _checked_sizes(metadata, plain.schema_arrow, data, name, shown)
        # Texts that are stored once and used often are read as such, where the library can.
        once = pq.ParquetFile(pa.BufferReader(data), read_dictionary=_texts(metadata), arrow_extensions_enabled=False)
        left = limit
        for group, stored in enumerate(sizes):
            before = left, len(rows)
            n_rows = _rows_at_a_time(metadata.row_group(group).num_rows, stored, limit // _BATCHES)
            try:
                left = _read_group(once, group, n_rows, rows, left, name, shown)
            except (pa.ArrowNotImplementedError, OSError):
                left = before[0]
                del rows[before[1] :]
                left = _read_group(plain, group, n_rows, rows, left, name, shown)
            if left < 0:
                refuse(name, limit, "bytes when it is unpacked", "max_unpacked", shown)
    except TooMuch:
        raise
    except Exception as error:
        # The reader trusts the inside of the file: a damaged one raises nearly anything.
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise ValueError(f"{name} must be a Parquet file, got {str(shown)!r}, which fails with: {why}") from None
    return rows


def _checked_sizes(metadata: Any, schema: pa.Schema, data: bytes, name: str, shown: object) -> list[int]:
    """What the columns of each group hold together; a file that holds too much is refused before it is unpacked."""
    limit, n_columns = unpacked_limit(len(data)), metadata.num_columns
    costs = [cost for field in schema for cost in _costs(field.type)]
    if len(costs) != n_columns:
        raise ValueError(f"{n_columns} columns in the place of {len(costs)}")
    sizes, needed = [], 0
    for group in range(metadata.num_row_groups):
        told = [stored(data, metadata, group, column, limit) for column in range(n_columns)]
        if max((one.largest for one in told), default=0) > limit // _PAGES:
            refuse(name, limit // _PAGES, "bytes in one page when it is unpacked", "max_unpacked", shown)
        sizes.append(sum(one.n_bytes for one in told))
        needed += sum(max(one.n_bytes, one.n_values * cost) for one, cost in zip(told, costs, strict=True))
        if needed > limit:
            refuse(name, limit, "bytes when it is unpacked", "max_unpacked", shown)
    return sizes


def _costs(kind: pa.DataType, in_list: bool = False) -> list[int]:
    """Bytes that a value of each column takes as an object of Python, with the lists and objects in which it stands.

    Lists and objects count with the first column in them, as each has a value there. The lists of whole rows do not
    count: there is a limit of rows.
    """
    import pyarrow.types as kinds

    if kinds.is_struct(kind):
        costs, around = [cost for field in kind for cost in _costs(field.type, in_list)], _BYTES_PER_OBJECT
    elif kinds.is_map(kind):
        costs, around = [*_costs(kind.key_type, True), *_costs(kind.item_type, True)], _BYTES_PER_OBJECT
    elif kinds.is_nested(kind):
        costs, around = _costs(kind.value_type, True), _BYTES_PER_LIST if in_list else 0
    elif kinds.is_decimal(kind):
        return [_BYTES_PER_DECIMAL]
    else:
        return [_BYTES_PER_NUMBER if kinds.is_primitive(kind) and not kinds.is_temporal(kind) else _BYTES_PER_VALUE]
    return [costs[0] + around, *costs[1:]]


def _texts(metadata: Any) -> list[str]:
    """The columns of texts and bytes."""
    columns = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    return [one.path for one in columns if one.physical_type == "BYTE_ARRAY" and one.logical_type.type != "DECIMAL"]


def _rows_at_a_time(n_rows: int, n_bytes: int, most: int) -> int:
    """How many rows of a group to read at a time."""
    return max(1, min(_BATCH, n_rows * most // max(1, n_bytes)))


def _read_group(
    file: Any, group: int, batch_size: int, rows: list[dict[str, Any]], left: int, name: str, shown: object
) -> int:
    """Add the rows of a group as long as bytes are left; how many are left then."""
    longest = _BYTES_PER_CHARACTER * current_limits().max_row
    for batch in file.iter_batches(batch_size, row_groups=[group], use_threads=False):
        n_bytes = sum(map(_plain_bytes, batch.columns))
        left -= n_bytes
        if left < 0:
            break
        if n_bytes > longest:
            for i in range(len(batch)):
                if sum(map(_plain_bytes, batch.slice(i, 1).columns)) > longest:
                    refuse(name, longest, "bytes in a row", "max_row", f"{shown}, row {len(rows) + i}")
        rows += batch.to_pylist()
    return left


def _plain_bytes(column: pa.Array) -> int:
    """Bytes of a column when every text that is stored once and used often is written out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.DictionaryArray):
        lengths = pc.binary_length(column.dictionary)
        return int(column.indices.nbytes) + int(pc.sum(pc.cast(lengths, pa.int64()).take(column.indices)).as_py() or 0)
    if isinstance(column, pa.StructArray):
        return sum(map(_plain_bytes, column.flatten()))
    if isinstance(column, pa.MapArray):
        keyed = column.type
        column = column.cast(pa.list_(pa.struct([("key", keyed.key_type), ("value", keyed.item_type)])))
    if isinstance(column, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return 8 * len(column) + _plain_bytes(column.flatten())
    return int(column.nbytes)


# -- What pages hold --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Stored:
    """What a column unpacks to in a group of rows, as its pages say: what the end of the file says may be false.

    Attributes:
        n_bytes: Bytes, with every text that leaves out the beginning of the one before written out.
        n_values: Number of values, those in a dictionary too.
        largest: Bytes of the largest page.
        has_dictionary: Whether values are stored once and used often, so that `n_bytes` does not bound them.
    """

    n_bytes: int
    n_values: int
    largest: int
    has_dictionary: bool


@dataclass(frozen=True)
class _Page:
    """A page, and where what it holds begins; the reader of Parquet allocates what its header says."""

    at: int
    unpacked: int
    packed: int
    n_values: int
    about: dict[int, Any]
    kind: int

    @property
    def shortens(self) -> bool:
        """Whether each text leaves out the beginning that it shares with the one before."""
        return bool(self.about[_ENCODING_2 if self.kind == _DATA_2 else _ENCODING] == _DELTA_BYTE_ARRAY)


def stored(data: bytes | mmap.mmap, metadata: Any, group: int, column: int, limit: int) -> Stored:
    """What a column holds in a group of rows.

    Args:
        data: The file.
        metadata: Of the file, by pyarrow.
        group: Number of the group.
        column: Number of the column.
        limit: Bytes from which on it is not looked at closely, as they are too many anyway.

    Raises:
        OSError: If its pages cannot be followed.
    """
    chunk, about = metadata.row_group(group).column(column), metadata.schema.column(column)
    try:
        pages = list(_pages(data, chunk))
        n_bytes, n_values = sum(page.unpacked for page in pages), sum(page.n_values for page in pages)
        if about.physical_type == "FIXED_LEN_BYTE_ARRAY":
            n_bytes = max(n_bytes, n_values * about.length)
        largest = max((page.unpacked for page in pages), default=0)
        for page in pages:
            if page.shortens and n_bytes <= limit and largest <= limit // _PAGES:
                n_bytes += _left_out(data, page, chunk.compression, about)
    except (LookupError, TypeError, ValueError, OSError):
        raise OSError(f"a page of the column {chunk.path_in_schema!r} cannot be found") from None
    return Stored(n_bytes, n_values, largest, any(page.kind == _DICTIONARY for page in pages))


def _pages(data: bytes | mmap.mmap, chunk: Any) -> Iterator[_Page]:
    if not chunk.num_values:
        return  # the reader looks for no page then
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        at = min(at, chunk.dictionary_page_offset)
    end = at + chunk.total_compressed_size
    while at < end:
        header, at = _thrift_fields(data, at)
        kind = next((kind for kind in (_DATA, _DICTIONARY, _DATA_2) if kind in header), None)
        unpacked, packed = header[_UNPACKED], header[_PACKED]
        about = header[kind] if kind is not None else {}
        n_values = about[_VALUES] if kind is not None else 0
        if min(unpacked, packed, n_values) < 0:
            raise ValueError
        if kind is not None:
            yield _Page(at, unpacked, packed, n_values, about, kind)
        at += packed


def _left_out(data: bytes | mmap.mmap, page: _Page, compression: str, about: Any) -> int:
    """Bytes that the texts of a page share with those before them and leave out."""
    content, start = memoryview(data[page.at : page.at + page.packed]), 0
    n_levels = (about.max_repetition_level > 0) + (about.max_definition_level > 0)
    if page.kind == _DATA_2:  # the levels are not packed
        start = sum(page.about[field] for field in _LEVELS_2)
        is_packed = page.about.get(_IS_PACKED_2, True)
        values = _unpacked(content[start:], page.unpacked - start, compression if is_packed else "UNCOMPRESSED")
    else:
        values = _unpacked(content, page.unpacked, compression)
        for _ in range(n_levels):
            start += 4 + int.from_bytes(values[start : start + 4], "little")
        values = values[start:]
    lengths = _delta_integers(values, page.n_values)
    if len(lengths) and lengths.min() < 0:
        raise ValueError
    return int(lengths.sum())


def _unpacked(content: memoryview, size: int, compression: str) -> memoryview:
    import pyarrow as pa

    if compression == "UNCOMPRESSED":
        return content
    codec = "lz4_raw" if compression == "LZ4" else compression.lower()
    return memoryview(pa.decompress(content, size, codec)).cast("B")


def _delta_integers(data: memoryview, most: int) -> npt.NDArray[np.int64]:
    """Whole numbers that are stored by the differences from one to the next, in blocks of parts of one width each.

    Raises:
        ValueError: If there are more than `most`, or they are cut short.
    """
    per_block, at = _varint(data, 0)
    n_parts, at = _varint(data, at)
    n_values, at = _varint(data, at)
    first, at = _thrift_integer(data, at)
    if not (n_parts and per_block) or per_block % (32 * n_parts) or n_values > most:
        raise ValueError("no blocks of whole numbers")
    per_part, steps, left = per_block // n_parts, [np.array([first] * min(1, n_values), np.int64)], n_values - 1
    while left > 0:
        lowest, at = _thrift_integer(data, at)
        widths, at = bytes(data[at : at + n_parts]), at + n_parts
        for width in widths[: -(-left // per_part)]:
            size = per_part * width // 8
            # shape (per_part, width), the lowest bit first
            bits = np.unpackbits(np.frombuffer(data, np.uint8, size, at), bitorder="little").reshape(-1, width or 1)
            part = bits @ (1 << np.arange(width)) if width else np.zeros(min(left, per_part), np.int64)
            steps.append(part[:left] + lowest)
            left, at = left - len(steps[-1]), at + size
    return np.cumsum(np.concatenate(steps))


def _thrift_fields(data: bytes | mmap.mmap, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a structure in Thrift's compact protocol by their number, and where it ends; texts are skipped."""
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at, step, kind = at + 1, head >> 4, head & 15
        if step:
            number += step
        else:
            number, at = _thrift_integer(data, at)
        value: Any = None
        if kind in _THRIFT_INTEGERS:
            value, at = _thrift_integer(data, at)
        elif kind in (_THRIFT_TRUE, _THRIFT_FALSE):
            value = kind == _THRIFT_TRUE
        elif kind == _THRIFT_TEXT:
            size, at = _varint(data, at)
            at += size
        elif kind == _THRIFT_STRUCTURE and depth < 4:
            value, at = _thrift_fields(data, at, depth + 1)
        else:
            raise ValueError(kind)
        fields[number] = value
    return fields, at + 1


def _thrift_integer(data: bytes | mmap.mmap | memoryview, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return value >> 1 ^ -(value & 1), at


def _varint(data: bytes | mmap.mmap | memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at + shift // 7]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at + shift // 7 + 1
    raise ValueError("no integer")
