"""Files of style tables, the Hub, and tables that have a name."""

import base64
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from style_definition import CORPORA
from style_definition import GOLDEN
from style_definition import columns_of
from style_definition import table_of

from vlgauge.encoders.weights import sha256_of
from vlgauge.ngrams import StyleTable
from vlgauge.ngrams import columns
from vlgauge.ngrams import files
from vlgauge.ngrams import sources

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


def rewritten(path, change_header=None, change_columns=None, seal=False):
    """The file with a changed header or changed columns; sealed with a right checksum or not."""
    content = pq.read_table(path)
    header = json.loads(content.schema.metadata[KEY])
    if change_columns:
        content = pa.Table.from_pydict(change_columns(content.to_pydict()), schema=content.schema)
    if change_header:
        header = change_header(header)
    if seal:
        rows = files._rows_by_order(content)
        header["sha256"] = columns.digest_of(header["tokenizer"], header["styles"], header["captions"], rows)
    pq.write_table(content.replace_schema_metadata({KEY: json.dumps(header)}), path)
    return path


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
    assert same(files.load(tmp_path / "any.parquet"), table)


def test_tokens_of_any_script_survive(tmp_path):
    captions = [
        ["ÄÖ", "naïve", "😀", "日本", "\ud7ff", "\ue000", "\U0010ffff"],
        ["z", "Z", "~", "\x00", '"', "\\"],
        ["z"],
    ]
    table = StyleTable.fit(captions, ["β", "a", "😀"])
    table.save(tmp_path / "odd.parquet")
    assert same(files.load(tmp_path / "odd.parquet"), table)
    assert files.load(tmp_path / "odd.parquet").tokens == sorted(set().union(*captions))


def test_fingerprint_of_a_loaded_table_is_that_of_its_content(toy, saved):
    table = files.load(saved)
    assert table.fingerprint == columns.digest(table)[:12] == toy.fingerprint
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

    monkeypatch.setattr(files.pq, "write_table", fail)
    with pytest.raises(OSError, match="disk full"):
        toy.save(saved)
    assert saved.read_bytes() == before
    assert len(list(saved.parent.iterdir())) == 1


def test_save_needs_a_folder(toy, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No such folder.*nowhere"):
        toy.save(tmp_path / "nowhere" / "x.parquet")
    with pytest.raises(IsADirectoryError, match="Is a folder"):
        toy.save(tmp_path)


# -- files that are not as they should be -----------------------------------------------------------------------------
def test_every_cut_is_found(saved):
    data = saved.read_bytes()
    for length in range(0, len(data), 13):
        saved.write_bytes(data[:length])
        with pytest.raises(ValueError, match=r"`table` must be a whole Parquet file, got '.*toy.parquet'"):
            files.load(saved)


def test_no_changed_byte_changes_a_count(toy, saved):
    data = saved.read_bytes()
    seen = Counter()
    for i in range(0, len(data), 5):
        changed = bytearray(data)
        changed[i] ^= 1 << (i % 8)
        saved.write_bytes(changed)
        try:
            table = files.load(saved)
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
        (lambda h: h | {"format": 2}, "is not: it has format 2, not 1; another vlgauge wrote it"),
        (lambda h: h | {"format": "1"}, "is not: it has format '1', not 1"),
        (lambda h: h | {"tokenizer": "ptb"}, "is not: its tokenizer is 'ptb'; known are 'words-1', 'whitespace'"),
        (lambda h: h | {"max_order": 5}, "is not: its order is not 4, or its checksum is no text"),
        (lambda h: h | {"sha256": None}, "is not: its order is not 4, or its checksum is no text"),
        (lambda h: h | {"styles": ["B", "A", "C"]}, "is not: its styles are not sorted, or not counted"),
        (lambda h: h | {"captions": [2, 2]}, "is not: its styles are not sorted, or not counted"),
        (lambda h: h | {"captions": [2, 2, 0]}, "is not: its styles are not sorted, or not counted"),
        (lambda h: h | {"styles": 3}, "is not: 'int' object is not iterable"),
        (lambda h: h | {"name": 3}, "is not: its name is no text"),
        (lambda h: {k: v for k, v in h.items() if k != "sha256"}, "is not: .*missing 1 required.*sha256"),
        (lambda h: {k: v for k, v in h.items() if k != "format"}, "is not: 'format'"),
        (lambda h: [h], "is not: list indices must be integers"),
        (lambda h: h | {"styles": ["A", "B", "D"]}, "was altered: its checksum is wrong"),
        (lambda h: h | {"captions": [2, 2, 3]}, "was altered: its checksum is wrong"),
        (lambda h: h | {"tokenizer": "whitespace"}, "was altered: its checksum is wrong"),
        (lambda h: h | {"sha256": "0" * 64}, "was altered: its checksum is wrong"),
    ],
)
def test_changed_header_is_refused(saved, header, message):
    with pytest.raises(ValueError, match=message):
        files.load(rewritten(saved, header))


def test_changed_count_is_refused(saved):
    with pytest.raises(ValueError, match=r"`table` must be as it was written, but .* was altered: its checksum"):
        files.load(rewritten(saved, change_columns=count_changed))
    assert files.load(rewritten(saved, change_columns=count_changed, seal=True)).cng("sun is calm") is not None


def put(column, row, value):
    def change(content):
        content[column][row] = value
        return content

    return change


def cut(content):
    return {name: cells[:-1] + cells[:1] for name, cells in content.items()}


LOVE_IT, FIRST_WORD = 21, 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("styles", 8, []), "a row has not as many counts as styles"),
        (put("styles", 8, None), "a row has not as many counts as styles"),
        (put("ngram", 8, None), "a row has not as many counts as styles"),
        (lambda c: put("styles", 8, [])(put("df", 8, [])(c)), "one of its rows has no count, or not one per style"),
        (put("df", 6, [0]), "one of its rows has no count, or not one per style"),
        (put("styles", 6, [3]), "one of its rows has no count, or not one per style"),
        (lambda c: put("styles", 6, [1, 0])(put("df", 6, [1, 1])(c)), "one of its rows has no count, or not one per"),
        (put("order", 8, 5), "its rows are not sorted by order"),
        (put("order", -1, 9), "its rows are not sorted by order"),
        (put("ngram", 0, "abc"), "one of its caption keys has not 16 digits"),
        (put("ngram", 0, "z" * 16), "non-hexadecimal number found"),
        (put("ngram", 0, "f" * 16), "its rows are not sorted"),
        (put("ngram", 6, "zz"), "one of its n-grams has a token that no row of order 1 has"),
        (put("ngram", 17, "it it it"), "one of its n-grams of order 2 has another number of tokens"),
        (put("ngram", 17, "it"), "one of its n-grams of order 2 has another number of tokens"),
        (put("ngram", 17, " it"), "one of its n-grams has an empty token"),
        (put("ngram", -1, "the rain is calm"), "its rows are not sorted"),
        (put("ngram", -1, "it it it it"), "one of its n-grams begins with one that no row has"),
    ],
)
def test_sealed_nonsense_is_refused(saved, change, message):
    path = saved
    try:
        rewritten(path, change_columns=change, seal=True)
    except ValueError:
        rewritten(path, change_columns=change)  # it cannot even be sealed
    with pytest.raises(ValueError, match=f"was altered: {message}"):
        files.load(path)


def test_other_files_are_refused(tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"caption": ["a"], "style": ["b"]}), other)
    with pytest.raises(
        ValueError, match=r"`table` must be a style table, and '.*other.parquet' is not one; `StyleTable.s"
    ):
        StyleTable.load(other)
    other.write_text("caption,style\na,b\n")
    with pytest.raises(ValueError, match=r"`table` must be a whole Parquet file, got '.*other.parquet': "):
        StyleTable.load(other)
    with pytest.raises(FileNotFoundError, match=r"`table` must be a file, and none is at '.*none.parquet'"):
        StyleTable.load(tmp_path / "none.parquet")
    with pytest.raises(FileNotFoundError, match="`table` must be a file, and none is at"):
        StyleTable.load(tmp_path)


def test_other_columns_are_refused(saved):
    content = pq.read_table(saved)
    pq.write_table(content.drop_columns(["df"]), saved)
    with pytest.raises(ValueError, match="is not: it has other columns"):
        files.load(saved)


# -- sources ----------------------------------------------------------------------------------------------------------
def test_table_that_somebody_holds_is_read_once(saved, monkeypatch):
    table = StyleTable.load(saved)
    monkeypatch.setattr(sources, "load", lambda path: pytest.fail("read again"))
    assert StyleTable.load(str(saved)) is table


def test_changed_file_is_read_again(toy, saved):
    table = StyleTable.load(saved)
    os.utime(saved, (1, 1))
    assert StyleTable.load(saved) is not table
    StyleTable.fit(["a b", "c"], ["x", "y"]).save(saved)
    assert StyleTable.load(saved).styles == ("x", "y")
    assert table.styles == toy.styles


@pytest.mark.parametrize(
    "source", [None, 3, ["a"], "", "a b", "owner/name/more", "owner/name:", "name", "a/b:c:d", b"x"]
)
def test_what_is_no_source_is_refused(source):
    with pytest.raises(
        ValueError, match="`table` must be a StyleTable, a Parquet file, or a Hub data set as 'owner/name'"
    ):
        StyleTable.load(source)


def test_revision_is_of_a_data_set_only(toy, saved):
    for source in (toy, saved, str(saved)):
        with pytest.raises(
            ValueError, match="`revision` must be left out unless `table` is a Hub data set, got 'main'"
        ):
            StyleTable.load(source, revision="main")


def test_names_of_data_sets():
    assert sources.hub_address("owner/name") == ("owner/name", "default.parquet")
    assert sources.hub_address("owner/na-me_1:big.v2") == ("owner/na-me_1", "big.v2.parquet")
    with pytest.raises(ValueError, match=r"`dataset` must be 'owner/name' or 'owner/name:config', got 'table.parquet'"):
        sources.hub_address("table.parquet")


def test_offline_the_missing_file_is_named(no_sockets):
    expected = (
        "`table` is neither a file that exists nor to be had from the Hub: data set owner/none, file big.parquet, "
        "revision abc is not in the cache and an offline switch is set; fetch it on a machine with network: "
        "hf download owner/none big.parquet --repo-type dataset --revision abc"
    )
    with pytest.raises(FileNotFoundError, match=re.escape(expected)):
        StyleTable.load("owner/none:big", revision="abc")


class Hub(BaseHTTPRequestHandler):
    """As much of the Hub as an upload and a download of one file need."""

    files: ClassVar[dict] = {}
    calls: ClassVar[list] = []
    commit = "c" * 40

    def answer(self, content, **headers):
        self.send_response(200)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.calls.append((self.path, body))
        home = f"http://{self.headers['Host']}/datasets/owner/name"
        if "/preupload/" in self.path:
            modes = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in json.loads(body)["files"]
            ]
            answer = {"files": modes}
        elif "/commit/" in self.path:
            lines = [json.loads(line) for line in body.splitlines()]
            self.files.update({line["value"]["path"]: line["value"] for line in lines if line["key"] == "file"})
            answer = {"commitOid": self.commit, "commitUrl": f"{home}/commit/{self.commit}"}
        else:
            answer = {"url": home, "name": "owner/name"}
        self.answer(json.dumps(answer).encode(), Content_Type="application/json")

    def do_GET(self):
        self.calls.append((self.path, None))
        name = self.path.rsplit("/", 1)[1]
        if "/resolve/" not in self.path or name not in self.files:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.answer(base64.b64decode(self.files[name]["content"]), ETag='"e"', X_Repo_Commit=self.commit)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    Hub.files, Hub.calls = {}, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


PUSH_AND_PULL = """
from vlgauge.ngrams import StyleTable

table = StyleTable.load("toy.parquet")
commit = table.push("owner/name:big", private=True)
print(commit)
pulled = StyleTable.load("owner/name:big", revision=commit)
print(pulled.fingerprint == table.fingerprint, StyleTable.load("owner/name:big", revision=commit) is pulled)
try:
    StyleTable.load("owner/name")
except FileNotFoundError as error:
    print(error)
"""


def test_table_travels_over_the_hub(toy, saved, hub, tmp_path):
    switches = {"HF_HUB_OFFLINE": "0", "HF_EVALUATE_OFFLINE": "0", "HF_ENDPOINT": hub, "HF_TOKEN": "hf_x"}
    package = {"PYTHONPATH": str(Path(sources.__file__).parents[2]), "HF_HOME": str(tmp_path / "home")}
    finished = subprocess.run(
        [sys.executable, "-c", PUSH_AND_PULL],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **switches, **package, "NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_XET": "1"},
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    assert lines[:2] == [Hub.commit, "True True"]
    assert "data set owner/name, file default.parquet, revision newest is not in the cache" in lines[2]
    assert "the Hub said" in lines[2]
    created = json.loads(next(body for path, body in Hub.calls if path == "/api/repos/create"))
    assert (created["name"], created["type"]) == ("name", "dataset")
    assert created.get("visibility") == "private" or created.get("private")  # by version of huggingface_hub
    commit = next(body for path, body in Hub.calls if "/api/datasets/owner/name/commit/" in path)
    assert f"Add style table {toy.fingerprint}" in commit
    assert list(Hub.files) == ["big.parquet"]


# -- tables that have a name ------------------------------------------------------------------------------------------
@pytest.fixture
def catalog(tmp_path, monkeypatch):
    """A catalog with a published table, and the file that the Hub would give."""
    StyleTable.fit(["a b", "c"], ["x", "y"]).save(tmp_path / "published.parquet")
    entry = {"dataset": "owner/name", "file": "big.parquet", "revision": "a" * 40, "licence": "cc-by-4.0"}
    entry["sha256"] = sha256_of(tmp_path / "published.parquet")
    entries = {"big": entry, "shipped": {"captions": "shipped.csv", "licence": "Apache-2.0"}}
    (tmp_path / "shipped.csv").write_text("caption,style\nsun,good\nrain,bad\n", "utf-8")
    monkeypatch.setattr(sources, "CATALOG", tmp_path / "style_tables.json")

    def write(**changes):
        entries["big"] |= changes
        sources.CATALOG.write_text(json.dumps(entries), "utf-8")

    asked = []

    def download(repository, file, **options):
        asked.append((repository, file, options["revision"], options["repo_type"]))
        return str(tmp_path / "published.parquet")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    write()
    return write, asked


def test_published_table_is_fetched_at_its_commit(catalog):
    _, asked = catalog
    assert sources.named_table("big").styles == ("x", "y")
    assert asked == [("owner/name", "big.parquet", "a" * 40, "dataset")]


def test_file_that_is_not_the_published_one_is_refused(catalog):
    write, _ = catalog
    write(sha256="0" * 64)
    with pytest.raises(ValueError, match=r"`config_name` 'big' must be the table that was published, but .* another"):
        sources.named_table("big")


def test_shipped_captions_are_fitted(catalog):
    table = sources.named_table("shipped")
    assert (table.name, table.source, table.licence) == ("shipped", "vlgauge", "Apache-2.0")
    assert table.captions_per_style == {"bad": 1, "good": 1}


def test_unknown_name_is_refused_with_the_known_ones(catalog):
    with pytest.raises(ValueError, match="`config_name` must be one of 'big', 'shipped', got 'small'"):
        sources.named_table("small")


def test_the_catalog_in_the_package():
    # The host uses the name of a configuration as a folder.
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", name) for name in sources.catalog())
    table = sources.named_table("demo")
    assert table.captions_per_style == dict.fromkeys(("angry", "humorous", "plain", "romantic"), 25)
