"""Small files that exhaust memory or take minutes to read if their headers are trusted.

They are written without torch, so that a process that reads one can be compared with one that only imports.
"""

import gzip
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GIGABYTE = 2**30


def zeros(path, size, packed=zlib.compressobj):
    """Write that many zero bytes, packed."""
    packer, chunk = packed(), bytes(2**20)
    with Path(path).open("wb") as file:
        for _ in range(size // len(chunk)):
            file.write(packer.compress(chunk))
        file.write(packer.flush())


def packed_lines(path, size, first=b""):
    """Write a gzip file with `size` bytes of empty lines."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(first)
        chunk = b"\n" * 2**20
        for _ in range(size // len(chunk)):
            file.write(chunk)


def _text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def tensor_pickle(stored, shape, strides):
    """Return the pickle of a torch file: a tensor "w" of this shape over a storage of `stored` floats."""
    numbers = [b"(" + b"".join(b"J" + struct.pack("<i", n) for n in part) + b"t" for part in (shape, strides)]
    storage = b"(" + _text("storage") + b"ctorch\nFloatStorage\n" + _text("0") + _text("cpu")
    storage += b"J" + struct.pack("<i", stored) + b"tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + b"".join(numbers)
    return b"\x80\x02}" + _text("w") + tensor + b"\x89ccollections\nOrderedDict\n)RtRs."


def torch_file(path, stored, shape, strides, compression=zipfile.ZIP_STORED, repeated=False):
    """Write a file in the format of `torch.save`, with zeros that are compressed or not."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", tensor_pickle(stored, shape, strides))
        archive.writestr("archive/version", "3\n")
        with archive.open("archive/data/0", "w") as member:
            chunk = bytes(min(2**20, 4 * stored))
            for _ in range(4 * stored // len(chunk)):
                member.write(chunk)
        if repeated:
            archive.writestr("archive/data/1", b"")
    if repeated:
        _overlap(Path(path))


def _overlap(path):
    """Let the last entry of the directory, of no bytes, be a second name of the bytes of the one before."""
    data = bytearray(path.read_bytes())
    starts = [i for i in range(len(data)) if data.startswith(b"PK\x01\x02", i)]
    first, second = starts[-2:]
    data[second + 16 : second + 28] = data[first + 16 : first + 28]
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    path.write_bytes(data)


def matlab_file(path, variables, size):
    """Write a MATLAB file with `variables` compressed variables, each of `size` bytes of small numbers."""
    body = struct.pack("<IIII", 6, 8, 9, 0) + struct.pack("<IIII", 5, 8, 1, size)
    body += struct.pack("<HHI", 1, 1, ord("x")) + struct.pack("<II", 2, size) + bytes(size)
    packed = zlib.compress(struct.pack("<II", 14, len(body)) + body, 9)
    member = struct.pack("<II", 15, len(packed)) + packed
    Path(path).write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + member * variables)


def many_rows(path, rows):
    """Write a Parquet file with `rows` equal rows."""
    schema = pa.schema([("id", pa.int32())])
    part = pa.table({"id": np.zeros(10**6, np.int32)})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _ in range(rows // 10**6):
            writer.write_table(part, 10**6)


def long_text_often(path, size, rows):
    """Write a Parquet file with one string of `size` characters in all of the `rows` rows."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a" * size]))
    pq.write_table(pa.table({"predictions": texts}), path, compression="zstd")


def long_list(path, size):
    """Write a Parquet file with one row that contains a list of `size` nulls."""
    lists = pa.ListArray.from_arrays(pa.array([0, size], pa.int32()), pa.nulls(size, pa.int8()))
    pq.write_table(pa.table({"predictions": lists}), path, compression="zstd")


def long_beginning(path, size, rows):
    """Write a Parquet file with a string of `size` characters that all rows after the first share as a prefix."""
    texts = pa.chunked_array([pa.array(["a" * size] * 10)] * (rows // 10))
    encoding = {"use_dictionary": False, "column_encoding": {"predictions": "DELTA_BYTE_ARRAY"}}
    pq.write_table(pa.table({"predictions": texts}), path, compression="zstd", store_schema=False, **encoding)


def deep_objects(path, depth, rows):
    """Write a Parquet file whose rows contain only nested objects."""
    column = pa.nulls(rows, pa.int32())
    for _ in range(depth):
        column = pa.StructArray.from_arrays([column], ["a"])
    pq.write_table(pa.table({"predictions": column}), path, compression="zstd")


def style_table(path, metadata, texts, list_length=1):
    """Write a Parquet file with the metadata and columns of a style table, all lists with the same length."""
    size = len(texts) * list_length
    bounds = pa.array(range(0, size + 1, list_length), pa.int32())
    columns = {"order": pa.array([4], pa.uint8()).take(pa.array([0] * len(texts))), "ngram": texts}
    for name, kind in (("styles", np.uint16), ("df", np.uint32)):
        columns[name] = pa.ListArray.from_arrays(bounds, pa.array(np.zeros(size, kind)))
    content = pa.table(columns)
    # If the Arrow schema is missing, the column is read as strings for any storage type. All values are in one page,
    # because a reader stops after the page with the last value that the footer lists.
    options = {"compression": "zstd", "store_schema": False, "data_page_size": 2**30}
    with pq.ParquetWriter(path, content.schema, **options) as writer:
        writer.write_table(content)
        writer.add_key_value_metadata(metadata)


def one_text(size, rows):
    """Return a column with one string of `size` characters in all of the `rows` rows."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a" * size]))


def understate(path):
    """Replace large uncompressed sizes and value counts in the footer of a Parquet file with 1."""
    data = bytearray(Path(path).read_bytes())
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    group = pq.read_metadata(path).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    many = {n for column in columns for n in (column.total_uncompressed_size, column.num_values) if n > 2**17}
    for n in many:
        told = b"\x16" + _varint(2 * n)
        data[start:] = data[start:].replace(told, b"\x16\x82" + b"\x80" * (len(told) - 3) + b"\x00")
    Path(path).write_bytes(data)
    assert many


def _varint(value):
    digits = []
    while value >= 128:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def many_keys(count):
    """Return a JSON row with `count` keys."""
    return json.dumps({f"k{i}": i for i in range(count)})


def packed_table(rows):
    """Return a gzip-compressed document table with a valid header."""
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb") as packed:
        packed.write(rows)
    return file.getvalue()
