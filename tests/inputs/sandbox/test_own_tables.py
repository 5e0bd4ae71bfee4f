"""Tables are the same whether the sandbox reads them or not."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.inputs.tables.files import CsvRow, read_rows

ROWS = [{"predictions": f"a \u2028 dog {i}", "n": i / 3, "l": [1, {"a": None}], "t": "\udc80"} for i in range(5000)]
TABLES = {
    "a.jsonl": "".join(json.dumps(row) + "\n\n" for row in ROWS),
    "a.json": json.dumps([*ROWS, {"x": float("inf"), "n": 10**300}]),
    "a.csv": 'caption,refs\n"two\nlines","[""a"", ""b""]"\n\n'.replace("\n\n", "\n") + "x,y\n" * 5000,
    "a.tsv": "caption\trefs\nx\t[1]\n",
    "a.txt": "one\n\nthree\r\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_sandboxed_table_is_the_table(tmp_path, name):
    path = tmp_path / name
    path.write_text(TABLES[name], newline="")
    direct = read_rows(str(path))
    with use_sandbox():
        sandboxed = read_rows(str(path))
    assert repr(sandboxed) == repr(direct)
    assert [type(row) for row in sandboxed] == [type(row) for row in direct]
    if isinstance(direct[0], CsvRow):
        assert [row.line for row in sandboxed] == [row.line for row in direct]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", "[" * 20_000 + "]" * 20_000),
        ("a.jsonl", '{"a": 1}\n{"a": 1, "a": 2}\n'),
        ("a.csv", "a,b\n1\n"),
        ("a.json", '{"a": '),
        ("a.txt", "a\0b"),
    ],
)
def test_a_refusal_is_the_same(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    messages = []
    for sandbox in (False, True):
        with pytest.raises(ValueError, match=r"^FILE must ") as told, use_sandbox(sandbox):
            read_rows(str(path))
        messages.append(str(told.value))
    assert messages[0] == messages[1]


def test_a_parquet_table_is_read_in_the_sandbox_either_way(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist([{"a": "x", "b": [b"y"]}] * 10), path)

    def refuse(*_, **__):
        raise AssertionError("the file was opened here")

    monkeypatch.setattr(pq, "ParquetFile", refuse)
    for sandbox in (False, True):
        with use_sandbox(sandbox):
            assert read_rows(str(path)) == [{"a": "x", "b": [b"y"]}] * 10


def write_table(path, rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        cells = [[json.dumps(cell).replace('"', '""') for cell in row.values()] for row in rows]
        lines = [",".join(rows[0]), *(",".join(f'"{cell}"' for cell in row) for row in cells)]
        path.write_text("\n".join(lines))
    else:
        path.write_text("\n".join(map(json.dumps, rows)) if path.suffix == ".jsonl" else json.dumps(rows))
    return str(path)


@pytest.mark.parametrize(
    ("name", "place"),
    [("a.jsonl", "row 1"), ("a.json", "row 1"), ("a.parquet", "row 1"), ("a.csv", r"row 1 \(line 3\)")],
)
def test_a_cell_of_an_untrusted_table_has_few_texts(tmp_path, name, place):
    path = write_table(tmp_path / name, [{"a": "x", "refs": ["y"] * n} for n in (1_000, 1_001)])
    assert len(read_rows(path)) == 2
    expected = rf"^`refs` must have at most 1,000 texts per row, got 1,001 in {place}$"
    with use_sandbox():
        with pytest.raises(ValueError, match=expected):
            read_rows(path)
        assert len(read_rows(path, most_texts=1_001)[1]["refs"]) == 1_001


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_an_untrusted_table_may_have_long_lists_of_numbers_and_images(tmp_path, name):
    row = {"predictions": "x", "ratings": [0.5] * 1_001, "images": ["0.png"] * 1_001}
    with use_sandbox():
        assert read_rows(write_table(tmp_path / name, [row])) == [row]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.parquet", "nested.parquet"])
def test_an_untrusted_table_has_few_columns(tmp_path, name):
    path = tmp_path / name
    for n_columns in (1_000, 1_001):
        row = {f"c{i}": "x" for i in range(n_columns)}
        if path.suffix in (".csv", ".tsv"):
            separator = "," if name == "a.csv" else "\t"
            path.write_text(f"{separator.join(row)}\n{separator.join(row.values())}\n")
        else:
            write_table(path, [{"nested": row}] if name.startswith("nested") else [row])
        assert len(read_rows(str(path))) == 1
        with use_sandbox():
            if n_columns == 1_000:
                assert len(read_rows(str(path))) == 1
                continue
            with pytest.raises(ValueError, match=rf"^FILE must have at most 1,000 columns, got more in '.*{name}'$"):
                read_rows(str(path))


def test_columns_of_any_row_count(tmp_path):
    path = write_table(tmp_path / "a.jsonl", [{f"c{i}": "x"} for i in range(1_001)])
    with use_sandbox(), pytest.raises(ValueError, match="at most 1,000 columns"):
        read_rows(path)


def test_names_and_metadata_of_untrusted_columns_are_short(tmp_path):
    path = tmp_path / "a.parquet"
    for field in (pa.field("c" * 2**20, pa.string()), pa.field("c", pa.string(), metadata={"a": "x" * 2**20})):
        pq.write_table(pa.table([["x"]], schema=pa.schema([field])), path)
        assert len(read_rows(str(path))) == 1
        with use_sandbox(), pytest.raises(ValueError, match="at most 1,048,576 bytes of column names and metadata"):
            read_rows(str(path))
