"""Files of style tables: saving, loading, and files that are truncated, changed or not style tables."""

import hashlib
import json
import os
import re
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from style_definition import (
    CORPORA,
    FEW,
    GOLDEN,
    table_of,
)

from vlgauge.families.style import StyleTable, table_file

KEY = b"vlgauge.style_table"


def same(table, other):
    assert (table.fingerprint, table.styles, table.captions) == (other.fingerprint, other.styles, other.captions)
    assert (table.tokenizer, table.name, table.source, table.licence) == (
        *(other.tokenizer, other.name, other.source, other.licence),
    )
    texts = ["i love it", "the sun is", "zebra", "hate"]
    for variant in ("paper", "released"):
        assert np.array_equal(table.score_matrix(texts, variant), other.score_matrix(texts, variant))
    split = [text.split() for text in texts]
    assert np.array_equal(table.has_captions(split), other.has_captions(split))
    assert np.array_equal(table.copies(split, np.zeros(4, int)), other.copies(split, np.zeros(4, int)))
    return True


# -- save and load -----------------------------------------------------------------------------------------------------
def test_what_is_saved_is_loaded(toy, saved):
    assert same(StyleTable.load(saved), toy)
    assert same(StyleTable.load(str(saved)), toy)
    assert StyleTable.load(toy) is toy


@given(CORPORA)
@settings(FEW, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_table_survives(tmp_path, rows):
    table = table_of(rows)
    table.save(tmp_path / "any.parquet")
    assert same(table_file.load(StyleTable, tmp_path / "any.parquet"), table)


def test_tokens_of_any_script_survive(tmp_path):
    captions = [
        ["ÄÖ", "naïve", "😀", "日本", "\ud7ff", "\ue000", "\U0010ffff"],
        ["z", "Z", "~", "\x00", '"', "\\"],
        ["z"],
    ]
    table = StyleTable.fit(captions, ["β", "a", "😀"])
    table.save(tmp_path / "odd.parquet")
    assert same(table_file.load(StyleTable, tmp_path / "odd.parquet"), table)
    assert table_file.load(StyleTable, tmp_path / "odd.parquet").tokens == sorted(set().union(*captions))


def test_fingerprint_of_a_loaded_table_is_that_of_its_content(toy, saved):
    table = table_file.load(StyleTable, saved)
    assert table.fingerprint == table_file.digest(table)[:12] == toy.fingerprint
    assert re.fullmatch("[0-9a-f]{12}", table.fingerprint)


def test_checksum_is_what_another_program_would_compute(saved):
    content = pq.read_table(saved)
    header, cells = json.loads(content.schema.metadata[KEY]), content.to_pydict()
    texts, styles, df = ([*map(str.encode, cells["ngram"])], cells["styles"], cells["df"])
    parts = [json.dumps([1, "words-1", 4, ["A", "B", "C"], [2, 2, 2]], separators=(",", ":")).encode()]
    parts += [bytes(cells["order"]), *(struct.pack("<i", len(text)) for text in texts), *texts]
    parts += [struct.pack("<i", len(row)) for row in styles]
    parts += [struct.pack("<H", style) for row in styles for style in row]
    parts += [struct.pack("<I", count) for row in df for count in row]
    assert header["sha256"] == hashlib.sha256(b"".join(parts)).hexdigest()


def test_file_is_as_specified(saved):
    content = pq.read_table(saved)
    rows = content.to_pylist()
    header = json.loads(content.schema.metadata[KEY])
    assert content.schema.names == ["order", "ngram", "styles", "df"]
    assert [row["order"] for row in rows] == sorted(row["order"] for row in rows)
    assert all(key in [row["ngram"] for row in rows if not row["order"]] for key in ("f6a753987445f894",))
    for order in range(1, 5):
        texts = [row["ngram"].split(" ") for row in rows if row["order"] == order]
        assert texts == sorted(texts)
        assert {len(text) for text in texts} == {order}
    found = {row["ngram"]: dict(zip(row["styles"], row["df"], strict=True)) for row in rows if row["order"]}
    for ngram, facts in GOLDEN["toy"]["cng"].items():
        assert found[ngram] == {"ABC".index(style): df for style, df in facts["df"].items() if df}
    assert len(found) == len(GOLDEN["toy"]["cng"])
    facts = {"format": 1, "tokenizer": "words-1", "max_order": 4, "styles": ["A", "B", "C"], "captions": [2, 2, 2]}
    assert header | facts == header
    assert header.keys() == {*facts, "name", "source", "licence", "written_by", "sha256"}


def test_saving_again_gives_the_same_bytes_and_leaves_nothing_else(toy, saved):
    before = saved.read_bytes()
    toy.save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["toy.parquet"]
    assert saved.stat().st_mode & 0o777 == 0o666 & ~current_umask()


def test_who_reads_the_old_file_is_not_disturbed(saved):
    before = saved.read_bytes()
    with saved.open("rb") as file:
        StyleTable.fit(["a b", "c"], ["x", "y"]).save(saved)
        assert file.read() == before
    assert saved.read_bytes() != before


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_failed_save_leaves_the_old_file(toy, saved, monkeypatch):
    before = saved.read_bytes()

    def fail(content, path, **options):
        Path(path).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(table_file.pq, "write_table", fail)
    with pytest.raises(OSError, match="disk full"):
        toy.save(saved)
    assert saved.read_bytes() == before
    assert len(list(saved.parent.iterdir())) == 1


def test_save_needs_a_folder(toy, tmp_path):
    with pytest.raises(ValueError, match=r"^`path`"):
        toy.save(tmp_path / "nowhere" / "x.parquet")
    with pytest.raises(ValueError, match=r"^`path`"):
        toy.save(tmp_path)


# -- files that are not as they should be ------------------------------------------------------------------------------
def rewritten(path, change_header=None, change_columns=None, seal=False):
    """Write the file with a changed header or changed columns, and with a valid checksum if `seal` is set."""
    content = pq.read_table(path)
    header = json.loads(content.schema.metadata[KEY])
    if change_columns:
        content = pa.Table.from_pydict(change_columns(content.to_pydict()), schema=content.schema)
    if change_header:
        header = change_header(header)
    if seal:
        rows = table_file._rows_by_order(content)
        header["sha256"] = table_file.digest_of(header["tokenizer"], header["styles"], header["captions"], rows)
    pq.write_table(content.replace_schema_metadata({KEY: json.dumps(header)}), path)
    return path


def test_every_cut_is_found(saved):
    data = saved.read_bytes()
    for length in range(0, len(data), 53):
        saved.write_bytes(data[:length])
        with pytest.raises(ValueError, match=r"^`table`.*Parquet.*toy\.parquet"):
            table_file.load(StyleTable, saved)


def test_no_changed_byte_changes_a_count(toy, saved):
    data = saved.read_bytes()
    seen = Counter()
    for i in range(0, len(data), 29):
        changed = bytearray(data)
        changed[i] ^= 1 << (i % 8)
        saved.write_bytes(changed)
        try:
            table = table_file.load(StyleTable, saved)
        except ValueError as error:
            seen[str(error).split(" must be ")[0]] += 1
        else:
            assert (table.fingerprint, table.cng("i love")) == (toy.fingerprint, toy.cng("i love"))
            seen["harmless"] += 1
    assert seen.keys() == {"`table`", "harmless"}
    assert seen["`table`"] > seen["harmless"]


def count_changed(content):
    content["df"][-1] = [2]
    return content


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (lambda h: h | {"format": 2}, "format 2"),
        (lambda h: h | {"format": "1"}, "'1'"),
        (lambda h: h | {"tokenizer": "ptb"}, r"'ptb'.*'words-1'.*'whitespace'"),
        (lambda h: h | {"max_order": 5}, r"4.*checksum"),
        (lambda h: h | {"sha256": None}, r"4.*checksum"),
        (lambda h: h | {"styles": ["B", "A", "C"]}, "no counts"),
        (lambda h: h | {"captions": [2, 2]}, "no counts"),
        (lambda h: h | {"captions": [2, 2, 0]}, "no counts"),
        (lambda h: h | {"styles": 3}, "valid names"),
        (lambda h: h | {"styles": [1, 2, 3]}, "valid names"),
        (lambda h: h | {"styles": "ABC"}, "valid names"),
        (lambda h: h | {"captions": [2, 2, 2**32]}, "no counts"),
        (lambda h: h | {"name": 3}, r"name.*string"),
        (lambda h: {k: v for k, v in h.items() if k != "sha256"}, r"1 required.*sha256"),
        (lambda h: {k: v for k, v in h.items() if k != "format"}, "'format'"),
        (lambda h: [h], "list indices"),
        (lambda h: h | {"styles": ["A", "B", "D"]}, r"^`table`.*wrong"),
        (lambda h: h | {"captions": [2, 2, 3]}, r"^`table`.*wrong"),
        (lambda h: h | {"tokenizer": "whitespace"}, r"^`table`.*wrong"),
        (lambda h: h | {"sha256": "0" * 64}, r"^`table`.*wrong"),
    ],
)
def test_changed_header_is_refused(saved, header, message):
    with pytest.raises(ValueError, match=message):
        table_file.load(StyleTable, rewritten(saved, header))


def test_changed_count_is_refused(saved):
    with pytest.raises(ValueError, match=r"^`table`.*unmodified.*checksum"):
        table_file.load(StyleTable, rewritten(saved, change_columns=count_changed))
    assert (
        table_file.load(StyleTable, rewritten(saved, change_columns=count_changed, seal=True)).cng("sun is calm")
        is not None
    )


def put(column, row, value):
    def change(content):
        content[column][row] = value
        return content

    return change


def cut(content):
    return {name: cells[:-1] + cells[:1] for name, cells in content.items()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("styles", 8, []), r".*counts and styles"),
        (put("styles", 8, None), r".*counts and styles"),
        (put("ngram", 8, None), r".*counts and styles"),
        (lambda c: put("styles", 8, [])(put("df", 8, [])(c)), r".*per style"),
        (put("df", 6, [0]), r".*per style"),
        (put("styles", 6, [3]), r".*per style"),
        (lambda c: put("styles", 6, [1, 0])(put("df", 6, [1, 1])(c)), r".*no count"),
        (put("df", -1, [3]), r".*counts is larger"),
        (put("df", -1, [2**32 - 1]), r".*counts is larger"),
        (put("order", -1, None), r".*no order"),
        (put("ngram", 0, " " * 16), r".*contains whitespace"),
        (put("order", 8, 5), r".*sorted by order"),
        (put("order", -1, 9), r".*sorted by order"),
        (put("ngram", 0, "abc"), r".*16 digits"),
        (put("ngram", 0, "z" * 16), "non-hexadecimal"),
        (put("ngram", 0, "f" * 16), r".*sorted"),
        (put("ngram", 6, "zz"), r".*order 1"),
        (put("ngram", 17, "it it it"), r".*order 2"),
        (put("ngram", 17, "it"), r".*order 2"),
        (put("ngram", 17, " it"), r".*empty token"),
        (put("ngram", -1, "the rain is calm"), r".*sorted"),
        (put("ngram", -1, "it it it it"), r".*n-grams begins"),
    ],
)
def test_sealed_nonsense_is_refused(saved, change, message):
    path = saved
    try:
        rewritten(path, change_columns=change, seal=True)
    except ValueError:
        rewritten(path, change_columns=change)  # it cannot even be sealed
    with pytest.raises(ValueError, match=f"was altered: {message}"):
        table_file.load(StyleTable, path)


def test_other_files_are_refused(tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"caption": ["a"], "style": ["b"]}), other)
    with pytest.raises(ValueError, match=r"^`table`.*other\.parquet.*StyleTable\.s"):
        StyleTable.load(other)
    other.write_text("caption,style\na,b\n")
    with pytest.raises(ValueError, match=r"^`table`.*Parquet.*other\.parquet"):
        StyleTable.load(other)
    with pytest.raises(FileNotFoundError, match=r"^`table`.*none\.parquet"):
        StyleTable.load(tmp_path / "none.parquet")
    for no_file in (tmp_path, "/dev/zero"):  # which has no end
        with pytest.raises(FileNotFoundError, match=r"^`table`.*existing"):
            StyleTable.load(no_file)


def test_header_that_is_nested_too_deeply_is_refused(saved):
    pq.write_table(pq.read_table(saved).replace_schema_metadata({KEY: "[" * 200_000}), saved)
    with pytest.raises(ValueError, match="maximum recursion"):
        table_file.load(StyleTable, saved)


@pytest.mark.parametrize("column", ["ngram", "styles"])
def test_small_file_that_would_fill_the_memory_is_refused(saved, column, monkeypatch):
    monkeypatch.setattr(table_file, "_FREE_BYTES", 2**20)
    cells = pq.read_table(saved).to_pydict()
    # Both are a few kilobytes in the file.
    many = {"ngram": ("a" * 10_000, [0], [1]), "styles": ("a", [0] * 10_000, [1] * 10_000)}[column]
    for name, cell in zip(("order", "ngram", "styles", "df"), (4, *many), strict=True):
        cells[name] += [cell] * 200
    content = pq.read_table(saved)
    pq.write_table(pa.Table.from_pydict(cells, schema=content.schema), saved, compression="zstd")
    assert saved.stat().st_size < 10_000
    with pytest.raises(ValueError, match=r"toy\.parquet.*decompresses"):
        table_file.load(StyleTable, saved)


def test_more_captions_than_a_file_can_hold_are_refused(saved):
    with pytest.raises(ValueError, match="decompresses to far"):
        table_file.load(StyleTable, rewritten(saved, lambda h: h | {"captions": [2, 2, 2**32 - 1]}))


def test_other_columns_are_refused(saved):
    content = pq.read_table(saved)
    pq.write_table(content.drop_columns(["df"]), saved)
    with pytest.raises(ValueError, match="unexpected columns"):
        table_file.load(StyleTable, saved)
