"""Where style tables come from: files, the Hub, and tables that have a name."""

import base64
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from local_hub import be_online

from vlgauge.checkpoints.files import sha256_of
from vlgauge.families.style import StyleTable, table_sources


# -- sources ----------------------------------------------------------------------------------------------------------
def test_table_that_somebody_holds_is_read_once(saved, monkeypatch):
    table = StyleTable.load(saved)
    monkeypatch.setattr(table_sources, "load", lambda cls, path: pytest.fail("read again"))
    assert StyleTable.load(str(saved)) is table


def test_changed_file_is_read_again(toy, saved):
    table = StyleTable.load(saved)
    os.utime(saved, (1, 1))
    assert StyleTable.load(saved) is table
    for styles in (("x", "y"), ("x", "z")):
        StyleTable.fit(["a b", "c"], styles).save(saved)
        os.utime(saved, (1, 1))
        assert StyleTable.load(saved).styles == styles
    assert table.styles == toy.styles


@pytest.mark.parametrize(
    "source", [None, 3, ["a"], "", "a b", "owner/name/more", "owner/name:", "name", "a/b:c:d", b"x"]
)
def test_what_is_no_source_is_refused(source):
    with pytest.raises(ValueError, match=r"^`table`.*StyleTable.*'owner/name'"):
        StyleTable.load(source)


def test_revision_is_of_a_data_set_only(toy, saved):
    for source in (toy, saved, str(saved)):
        with pytest.raises(ValueError, match=r"^`revision`.*`table`.*got 'main'"):
            StyleTable.load(source, revision="main")


def test_names_of_data_sets():
    assert table_sources.hub_address("owner/name") == ("owner/name", "default.parquet")
    assert table_sources.hub_address("owner/na-me_1:big.v2") == ("owner/na-me_1", "big.v2.parquet")
    with pytest.raises(ValueError, match=r"^`dataset`.*got 'table\.parquet'"):
        table_sources.hub_address("table.parquet")


def test_offline_the_missing_file_is_named(no_sockets):
    expected = (
        "`table` is neither an existing file nor available from the Hub: dataset owner/none, file big.parquet, "
        "revision abc is not in the cache and offline mode is enabled "
        "(HF_HUB_OFFLINE or HF_EVALUATE_OFFLINE); download it on a machine with network: "
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
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.fetching
def test_table_travels_over_the_hub(toy, hub, tmp_path, monkeypatch):
    be_online(monkeypatch, hub, tmp_path / "home")
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    commit = toy.push("owner/name:big", private=True)
    pulled = StyleTable.load("owner/name:big", revision=commit)
    assert (commit, pulled.fingerprint) == (Hub.commit, toy.fingerprint)
    assert StyleTable.load("owner/name:big", revision=commit) is pulled
    with pytest.raises(FileNotFoundError, match=r"default\.parquet.*status 404"):
        StyleTable.load("owner/name")
    created = json.loads(next(body for path, body in Hub.calls if path == "/api/repos/create"))
    assert (created["name"], created["type"]) == ("name", "dataset")
    assert created.get("visibility") == "private" or created.get("private")  # depends on the version of huggingface_hub
    commit = next(body for path, body in Hub.calls if "/api/datasets/owner/name/commit/" in path)
    assert f"Add style table {toy.fingerprint}" in commit
    assert list(Hub.files) == ["big.parquet"]


# -- tables that have a name ------------------------------------------------------------------------------------------
@pytest.fixture
def catalog(tmp_path, monkeypatch):
    """A catalog with a published table, and the file that the Hub returns."""
    StyleTable.fit(["a b", "c"], ["x", "y"]).save(tmp_path / "published.parquet")
    entry = {"dataset": "owner/name", "file": "big.parquet", "revision": "a" * 40, "licence": "cc-by-4.0"}
    entry["sha256"] = sha256_of(tmp_path / "published.parquet")
    entries = {"big": entry, "shipped": {"captions": "shipped.csv", "licence": "Apache-2.0"}}
    (tmp_path / "shipped.csv").write_text("caption,style\nsun,good\nrain,bad\n", "utf-8")
    monkeypatch.setattr(table_sources, "CATALOG", tmp_path / "style_tables.json")

    def write(**changes):
        entries["big"] |= changes
        table_sources.CATALOG.write_text(json.dumps(entries), "utf-8")

    asked = []

    def download(repository, file, revision, *, kind, sha256):
        asked.append((repository, file, revision, kind, sha256))
        return tmp_path / "published.parquet"

    for switch in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"):
        monkeypatch.delenv(switch)
    monkeypatch.setattr("vlgauge.checkpoints.hub.hub_answers", lambda limit: True)
    monkeypatch.setattr("vlgauge.families.style.table_sources.hub_file", download)
    write()
    return write, asked


@pytest.mark.fetching
def test_published_table_is_fetched_at_its_commit(catalog, tmp_path):
    _, asked = catalog
    assert table_sources.load_named_table(StyleTable, "big").styles == ("x", "y")
    assert asked == [("owner/name", "big.parquet", "a" * 40, "dataset", sha256_of(tmp_path / "published.parquet"))]


@pytest.mark.fetching
def test_file_that_is_not_the_published_one_is_refused(catalog):
    write, _ = catalog
    write(sha256="0" * 64)
    with pytest.raises(ValueError, match=r"^`config_name`.*'big'.*published"):
        table_sources.load_named_table(StyleTable, "big")


def test_shipped_captions_are_fitted(catalog):
    table = table_sources.load_named_table(StyleTable, "shipped")
    assert (table.name, table.source, table.licence) == ("shipped", "vlgauge", "Apache-2.0")
    assert table.captions_per_style == {"bad": 1, "good": 1}


def test_unknown_name_is_refused_with_the_known_ones(catalog):
    with pytest.raises(ValueError, match=r"^`config_name`.*got 'small'"):
        table_sources.load_named_table(StyleTable, "small")


def test_the_catalog_in_the_package():
    # `evaluate` uses the name of a configuration as a folder name.
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", name) for name in table_sources.catalog())
    table = table_sources.load_named_table(StyleTable, "demo")
    assert table.captions_per_style == dict.fromkeys(("angry", "humorous", "plain", "romantic"), 25)
