"""Rows of Parquet files: read as they were written, and counted before they are unpacked."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vlgauge import files, parquet


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
    with files.limits(max_unpacked=40_000), pytest.raises(ValueError, match="bytes when it is unpacked"):
        parquet.parquet_rows(data, "FILE", "x")


def test_texts_that_share_their_beginning():
    texts = pa.table({"a": ["a" * 5000 + str(i) for i in range(5000)]})
    data = written(texts, use_dictionary=False, column_encoding={"a": "DELTA_BYTE_ARRAY"})
    assert [row["a"] for row in parquet.parquet_rows(data, "FILE", "x")] == texts["a"].to_pylist()
    with files.limits(max_unpacked=10**6), pytest.raises(ValueError, match="1,000,000 bytes when it is unpacked"):
        parquet.parquet_rows(data, "FILE", "x")


def test_a_reason_without_words_is_named(monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(parquet, "_checked_sizes", full)
    with pytest.raises(ValueError, match=r"must be a Parquet file, got 'x', which fails with: MemoryError$"):
        parquet.parquet_rows(written(pa.table({"a": [1]})), "FILE", "x")


@pytest.mark.parametrize("nested", [False, True])
def test_a_text_that_is_stored_once_counts_each_time(nested):
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["a" * 10_000]))
    column = pa.ListArray.from_arrays(pa.array(range(0, 1001, 100), pa.int32()), texts.cast("string"))
    data = written(pa.table({"a": column if nested else texts}))
    assert len(data) < 20_000
    with files.limits(max_unpacked=5_000_000), pytest.raises(ValueError, match="bytes when it is unpacked"):
        parquet.parquet_rows(data, "FILE", "x")
    assert len(parquet.parquet_rows(data, "FILE", "x")) == (10 if nested else 1000)


NULLS = pa.table({"a": ["same beginning " * 9 + str(i) if i % 3 else None for i in range(5000)]})
LISTS = pa.table({"a": [["same beginning " * 9 + str(i)] * (i % 4) for i in range(5000)]})
COMPRESSIONS = ("none", "snappy", "gzip", "brotli", "zstd", "lz4")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_sizes_of_pages_are_those_that_the_writer_tells(version, dictionary):
    options = {"data_page_version": version, "use_dictionary": dictionary, "data_page_size": 1000}
    data = written(pa.Table.from_pylist(ROWS), row_group_size=4000, compression="zstd", **options)
    metadata = pq.read_metadata(io.BytesIO(data))
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk, found = (
                metadata.row_group(group).column(column),
                parquet.stored(data, metadata, group, column, 2**28),
            )
            # The writer counts the headers of the pages, and a dictionary has values too.
            assert 0.5 * chunk.total_uncompressed_size < found.n_bytes < chunk.total_uncompressed_size
            assert 0 < found.largest <= found.n_bytes
            in_dictionary = found.n_values - chunk.num_values
            assert found.has_dictionary == chunk.has_dictionary_page == (in_dictionary > 0)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("table", [NULLS, LISTS], ids=["nulls", "lists"])
def test_texts_without_their_beginning_count_in_full(table, compression, version):
    name = "a" if table is NULLS else "a.list.element"
    options = {"compression": compression, "data_page_version": version, "data_page_size": 2000}
    encoding = {"use_dictionary": False, "column_encoding": {name: "DELTA_BYTE_ARRAY"}}
    data = written(table, row_group_size=4000, **options, **encoding)
    metadata = pq.read_metadata(io.BytesIO(data))
    n_bytes = sum(parquet.stored(data, metadata, group, 0, 2**28).n_bytes for group in (0, 1))
    texts = table["a"].combine_chunks() if table is NULLS else table["a"].combine_chunks().flatten()
    plain = sum(len(text) for text in texts.to_pylist() if text)
    # Beside the texts there are their lengths and, for texts that may miss, some bits.
    assert plain < n_bytes < 1.2 * plain
    assert [row["a"] for row in parquet.parquet_rows(data, "FILE", "x")] == table["a"].to_pylist()


def test_numbers_stored_by_their_differences():
    # Blocks of 128 numbers in four parts: first number 7, then steps of 3 and more, written by hand.
    steps = np.arange(32) % 8
    part = np.packbits((steps[:, None] >> np.arange(3)) & 1, bitorder="little").tobytes()
    header = bytes([128, 1, 4, 41, 14])
    data = memoryview(header + bytes([6, 3, 0, 0, 0]) + part)
    found = parquet._delta_integers(data, 41)
    assert found.tolist() == np.cumsum([7, *(steps + 3), *[3] * 8]).tolist()
    with pytest.raises(ValueError, match="no blocks of whole numbers"):
        parquet._delta_integers(data, 40)
    with pytest.raises(ValueError, match="buffer"):
        parquet._delta_integers(data[:-1], 41)
    for wrong in (b"\x00\x04", b"\x80\x01\x00", b"\x20\x04", b"\x81\x01\x04"):
        with pytest.raises(ValueError, match="no blocks of whole numbers"):
            parquet._delta_integers(memoryview(wrong + bytes(9)), 41)
    assert parquet._delta_integers(memoryview(bytes([128, 1, 4, 0, 0])), 0).tolist() == []


def test_lengths_that_cannot_be_are_refused(monkeypatch):
    data = written(NULLS, use_dictionary=False, column_encoding={"a": "DELTA_BYTE_ARRAY"})
    monkeypatch.setattr(parquet, "_delta_integers", lambda *_: np.array([3, -1]))
    with pytest.raises(ValueError, match="a page of the column 'a' cannot be found"):
        parquet.parquet_rows(data, "FILE", "x")


def test_pages_that_cannot_be_followed():
    data = written(pa.table({"a": range(100)}))
    metadata = pq.read_metadata(io.BytesIO(data))
    for start in (b"\xff" * 200, b"\x15\x00\x15\x01", b"\x1c" * 200, b"\x15" + b"\x80" * 200, b"PAR1"):
        with pytest.raises(OSError, match="a page of the column 'a' cannot be found"):
            parquet.stored(b"PAR1" + start, metadata, 0, 0, 2**28)


def test_a_page_is_a_part_of_what_a_file_may_hold():
    data = written(pa.table({"a": ["a" * 1000] * 4000}), use_dictionary=False, data_page_size=2**24)
    message = (
        "FILE must have at most 2,500,000 bytes in one page when it is unpacked, got more in 'x'; .*--max-unpacked"
    )
    with files.limits(max_unpacked=10**7), pytest.raises(ValueError, match=message):
        parquet.parquet_rows(data, "FILE", "x")


def test_objects_and_lists_within_lists_count(monkeypatch):
    # 10,000 values of 32 bytes; each in an object, or in a list of its own.
    for value in ({"b": 1}, [1], {"b": {"c": 1}}):
        data = written(pa.table({"a": [[value] * 10_000]}))
        assert parquet.parquet_rows(data, "FILE", "x") == [{"a": [value] * 10_000}]
        with files.limits(max_unpacked=900_000), pytest.raises(ValueError, match="900,000 bytes when it is unpacked"):
            parquet.parquet_rows(data, "FILE", "x")
    with files.limits(max_unpacked=900_000):
        assert parquet.parquet_rows(written(pa.table({"a": [[1] * 10_000]})), "FILE", "x") == [{"a": [1] * 10_000}]


def test_a_long_row_is_refused_by_its_number():
    data = written(pa.table({"a": ["a", "b" * 50_000, "c" * 500]}))
    with (
        files.limits(max_row=1000),
        pytest.raises(
            ValueError, match=r"FILE must have at most 4,000 bytes in a row, got more in 'x, row 1'; .*--max-row"
        ),
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
        with files.limits(max_unpacked=5_000_000), pytest.raises(ValueError, match="bytes when it is unpacked"):
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
    """What a function says, whether it returns or refuses."""
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


def test_a_column_that_stands_twice():
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(
        ValueError, match="FILE must be a Parquet file, got 'x', which fails with: the column 'a' twice"
    ):
        parquet.parquet_rows(written(twice), "FILE", "x")
