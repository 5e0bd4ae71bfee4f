"""Files of style tables: saved and loaded."""

import hashlib
import json
import os
import re
import struct
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from style_definition import CORPORA, GOLDEN, columns_of, table_of

from vlgauge.style import StyleTable, table_file

KEY = b"vlgauge.style_table"


@pytest.fixture(scope="module")
def toy():
    about = {"name": "toy", "source": "ours", "licence": "Apache-2.0"}
    return StyleTable.fit(*columns_of(GOLDEN["toy"]["corpus"]), **about)


@pytest.fixture
def saved(toy, tmp_path):
    path = tmp_path / "toy.parquet"
    toy.save(path)
    return path


def same(table, other):
    assert (table.fingerprint, table.styles, table.captions) == (other.fingerprint, other.styles, other.captions)
    assert (table.tokenizer, table.name, table.source, table.licence) == (
        *(other.tokenizer, other.name, other.source, other.licence),
    )
    texts = ["i love it", "the sun is", "zebra", "hate"]
    for variant in ("paper", "authors"):
        assert np.array_equal(table.score_matrix(texts, variant), other.score_matrix(texts, variant))
    split = [text.split() for text in texts]
    assert np.array_equal(table.has_captions(split), other.has_captions(split))
    assert np.array_equal(table.copies(split, np.zeros(4, int)), other.copies(split, np.zeros(4, int)))
    return True


# -- save and load ----------------------------------------------------------------------------------------------------
def test_what_is_saved_is_loaded(toy, saved):
    assert same(StyleTable.load(saved), toy)
    assert same(StyleTable.load(str(saved)), toy)
    assert StyleTable.load(toy) is toy


@given(CORPORA)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    with pytest.raises(ValueError, match=r"`path` must be a file in an existing folder, got '.*nowhere"):
        toy.save(tmp_path / "nowhere" / "x.parquet")
    with pytest.raises(ValueError, match="`path` must be a file in an existing folder"):
        toy.save(tmp_path)
