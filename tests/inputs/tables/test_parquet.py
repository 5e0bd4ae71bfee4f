"""Rows of Parquet files: read in the sandbox without changes, and counted before they become Python objects."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vlgauge.core import files
from vlgauge.core.errors import UsageError
from vlgauge.inputs.tables import parquet


def written(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


ROWS = [
    {"a": "x", "b": [1, 2], "c": {"d": "e", "f": [b"g", None]}, "h": None},
    {"a": "y" * 50, "b": [], "c": {"d": "e", "f": []}, "h": 2.5},
    {"a": None, "b": None, "c": None, "h": -1.0},
] * 3000


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"row_group_size": 100, "compression": "zstd"}])
def test_parquet_rows_are_those_of_the_table(options):
    assert parquet.parquet_rows(written(pa.Table.from_pylist(ROWS), **options), "FILE", "x") == ROWS


def test_a_column_of_maps():
    kind = pa.map_(pa.string(), pa.list_(pa.float64()))
    table = pa.table({"a": pa.array([[("k", [1.0])], [], None, [("l", None), ("m", [2.0, 3.0])]] * 500, kind)})
    data = written(table)
    assert parquet.parquet_rows(data, "FILE", "x") == table.to_pylist()
    with files.limits(max_unpacked=40_000), pytest.raises(ValueError, match="bytes when"):
        parquet.parquet_rows(data, "FILE", "x")


def test_texts_that_share_their_beginning():
    texts = pa.table({"a": ["a" * 5000 + str(i) for i in range(5000)]})
    data = written(texts, use_dictionary=False, column_encoding={"a": "DELTA_BYTE_ARRAY"})
    assert [row["a"] for row in parquet.parquet_rows(data, "FILE", "x")] == texts["a"].to_pylist()
    with files.limits(max_unpacked=10**6), pytest.raises(ValueError, match="1,000,000 bytes"):
        parquet.parquet_rows(data, "FILE", "x")


@pytest.mark.parametrize("nested", [False, True])
def test_a_text_that_is_stored_once_counts_each_time(nested):
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["a" * 10_000]))
    column = pa.ListArray.from_arrays(pa.array(range(0, 1001, 100), pa.int32()), texts.cast("string"))
    data = written(pa.table({"a": column if nested else texts}))
    assert len(data) < 20_000
    with files.limits(max_unpacked=5_000_000), pytest.raises(ValueError, match="bytes when"):
        parquet.parquet_rows(data, "FILE", "x")
    assert len(parquet.parquet_rows(data, "FILE", "x")) == (10 if nested else 1000)


def test_objects_and_lists_within_lists_count(monkeypatch):
    # 10,000 values of 32 bytes, each in an object or in a separate list.
    for value in ({"b": 1}, [1], {"b": {"c": 1}}):
        data = written(pa.table({"a": [[value] * 10_000]}))
        assert parquet.parquet_rows(data, "FILE", "x") == [{"a": [value] * 10_000}]
        with files.limits(max_unpacked=900_000), pytest.raises(ValueError, match="900,000 bytes"):
            parquet.parquet_rows(data, "FILE", "x")
    with files.limits(max_unpacked=900_000):
        assert parquet.parquet_rows(written(pa.table({"a": [[1] * 10_000]})), "FILE", "x") == [{"a": [1] * 10_000}]


def test_a_long_row_is_refused_by_its_number():
    data = written(pa.table({"a": ["a", "b" * 50_000, "c" * 500]}))
    with (
        files.limits(max_row=1000),
        pytest.raises(ValueError, match=r"at most 4,000 bytes.*row 1.*--max-row"),
    ):
        parquet.parquet_rows(data, "FILE", "x")
    with files.limits(max_row=12_600):
        assert len(parquet.parquet_rows(data, "FILE", "x")) == 3


def test_texts_of_all_kinds_that_are_stored_once_count_each_time():
    often = pa.array([0] * 1000, pa.int32())
    words = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['"' + "a" * 9998 + '"']).take(often))
    fixed = pa.array([b"a" * 10_000], pa.binary(10_000)).take(often)
    for column in (words, fixed):
        data = written(pa.table({"a": column}))
        assert len(data) < 30_000
        assert parquet.parquet_rows(data, "FILE", "x")[-1]["a"] == column[-1].as_py()
        with files.limits(max_unpacked=5_000_000), pytest.raises(ValueError, match="bytes when"):
            parquet.parquet_rows(data, "FILE", "x")


def reads(data):
    parquet.parquet_rows(data, "FILE", "x")
    return "FILE must be read"


def test_damaged_parquet_says_so():
    data = written(pa.Table.from_pylist(ROWS[:30]))
    for place in range(0, len(data), 11):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        assert message_of(reads, bytes(damaged)).startswith("FILE must ")


def message_of(function, *arguments):
    """Return the result of a function, or its error message."""
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


def test_a_column_that_stands_twice():
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(ValueError, match=r"FILE.*got 'x'.*'a'"):
        parquet.parquet_rows(written(twice), "FILE", "x")


def test_rows_of_a_stream_of_arrow():
    table, file = pa.Table.from_pylist(ROWS), io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table, max_chunksize=5000)
    data = file.getvalue()
    assert parquet.parquet_rows(data, "FILE", "x", form="Arrow") == ROWS
    altered = bytearray(data)
    altered[len(data) // 2 :: 7] = b"\xff" * len(altered[len(data) // 2 :: 7])
    for bad in (b"", data[:-3000], bytes(altered), written(table)):
        with pytest.raises(ValueError, match=r"FILE.*Arrow.*got 'x'"):
            parquet.parquet_rows(bad, "FILE", "x", form="Arrow")


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (pa.timestamp("us"), 2**62),
        (pa.timestamp("us", "Nowhere/Bogus"), 5),
        (pa.date64(), 86_400_000 * 10**8),
        (pa.duration("s"), 2**62),
    ],
    ids=str,
)
def test_a_time_that_python_cannot_hold_is_refused(kind, number):
    table = pa.table({"a": pa.array([number], pa.int64()).view(kind)})
    with pytest.raises(UsageError, match=r"^FILE.*times.*'x'"):
        parquet.parquet_rows(written(table), "FILE", "x")


def test_a_text_that_is_no_utf8_is_named():
    offsets = pa.py_buffer(np.array([0, 2], np.int32).tobytes())
    table = pa.table({"a": pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])})
    with pytest.raises(UsageError, match=r"^FILE.*got 'x'.*UTF8"):
        parquet.parquet_rows(written(table), "FILE", "x")


@pytest.mark.parametrize("form", ["Parquet", "Arrow"])
def test_metadata_of_the_schema_stay_in_the_worker(form, monkeypatch):
    table, file, received = pa.table({"a": ["x"]}).replace_schema_metadata({"b": "y" * 10**6}), io.BytesIO(), []
    with pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    batches_of = parquet.batches_of
    monkeypatch.setattr(parquet, "batches_of", lambda content: received.append(len(content)) or batches_of(content))
    data = written(table) if form == "Parquet" else file.getvalue()
    assert parquet.parquet_rows(data, "FILE", "x", form=form) == [{"a": "x"}]
    assert len(received) == 1
    assert received[0] < 2_000
    assert parquet.parquet_table(written(table), "FILE", "x", 10**7).schema.metadata == table.schema.metadata
    assert parquet.parquet_metadata(written(table), "b", "FILE", "x") == b"y" * 10**6
