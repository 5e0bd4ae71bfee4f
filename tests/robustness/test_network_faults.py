"""Whatever a server does: the right words, in the end, and nothing left of what is not right."""

import ast
import gzip
import hashlib
import itertools
import json
import re
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import HfApi, HfFileSystem
from local_hub import COMMIT, be_online, own_environment

import vlgauge
from vlgauge import network
from vlgauge.errors import NetworkError, WeightsNotFoundError
from vlgauge.network import answers, limits
from vlgauge.network.limits import Limits
from vlgauge.progress import progress_chosen
from vlgauge.row_sources import hub as hub_rows
from vlgauge.style.table_sources import fetched
from vlgauge.weights.files import hub_file_at, hub_folder

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()
NAME = "weights/small.safetensors"
SETTINGS = b'{"a": 1}'
WATCHDOG_SECONDS = 60


class Faulty(BaseHTTPRequestHandler):
    """A Hub with one model of two files, and the fault of its server."""

    def log_message(self, *arguments):
        """Say nothing."""

    def do_HEAD(self):
        """The probe."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        """What a client sends up."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def do_GET(self):
        """The answer, or its fault."""
        hub = self.server
        hub.asked.append((self.command, self.path))
        hub.tokens.append(self.headers.get("Authorization"))
        try:
            if "/tree/" in self.path and not hub.whole:
                self.tell(hub.rows)
            elif "/revision/" in self.path and not hub.whole:
                self.tell({"sha": hub.sha})
            else:
                FAULTS[hub.fault](self)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def tell(self, rows):
        """An answer of the API."""
        self.content(json.dumps(rows).encode(), Content_Type="application/json")

    def content(self, body=CONTENT, status=200, *, length=None, **more):
        """A whole answer; headers may be replaced or, with None, left out."""
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha256(body).hexdigest()}"'}
        headers["Content-Length"] = str(len(body) if length is None else length)
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        self.send_response(status)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def wait(self):
        """Until the test is over."""
        self.server.over.wait(WATCHDOG_SECONDS)

    def drip(self, begin=b""):
        """One byte now and then, without end."""
        self.wfile.write(begin)
        while not self.server.over.wait(0.02):
            self.wfile.write(b"x")
            self.wfile.flush()


def silent(hub):
    hub.wait()


def dripping_head(hub):
    hub.drip(b"HTTP/1.1 200 OK\r\nX-Slow: ")


def dripping(hub):
    hub.content(b"", length=len(CONTENT), ETag=f'"{DIGEST}"')
    hub.drip()


def stalled(hub):
    hub.content(CONTENT[:1000], length=len(CONTENT), ETag=f'"{DIGEST}"')
    hub.wfile.flush()
    hub.wait()


def cut(hub):
    hub.content(CONTENT[:1000], length=len(CONTENT), ETag=f'"{DIGEST}"')


def cut_at_once(hub):
    hub.connection.shutdown(socket.SHUT_RDWR)


def no_http(hub):
    hub.wfile.write(b"SSH-2.0-OpenSSH_9\r\n\r\n")


def sent_to(address):
    def send(hub):
        hub.content(b"", 302, Location=address.format(path=hub.path))

    return send


def status(number, body=b"", **headers):
    return lambda hub: hub.content(body, number, **headers)


def first_wrong(hub):
    wrong = sum("/resolve/" in path for _, path in hub.server.asked) == 1
    hub.content(CONTENT[::-1] if wrong else CONTENT, ETag=f'"{DIGEST}"')


def chunked_without_end(hub):
    """More than was announced."""
    hub.protocol_version = "HTTP/1.1"
    hub.content(b"", Content_Length=None, Transfer_Encoding="chunked", X_Linked_Size="1000", ETag=f'"{DIGEST}"')
    while not hub.server.over.is_set():
        hub.wfile.write(b"400\r\n" + b"x" * 1024 + b"\r\n")


PAGE = b"\n<!DOCTYPE html><title>Log in</title>"
FAULTS = {
    "none": lambda hub: hub.content(),
    "silent": silent,
    "head by the byte": dripping_head,
    "by the byte": dripping,
    "stall": stalled,
    "cut": cut,
    "cut at once": cut_at_once,
    "no http": no_http,
    "circle": sent_to("{path}"),
    "redirect to file": sent_to("file:///etc/passwd"),
    "redirect to nonsense": sent_to("http://[::1"),
    "401": status(401),
    "401 gated": status(401, X_Error_Code="GatedRepo"),
    "403": status(403),
    "403 gated": status(403, X_Error_Code="GatedRepo"),
    "404": status(404),
    "404 file": status(404, X_Error_Code="EntryNotFound"),
    "404 revision": status(404, X_Error_Code="RevisionNotFound", X_Repo_Commit="../../../x"),
    "429": status(429),
    "500": status(500),
    "500 page": status(500, PAGE, Content_Type="text/html"),
    "204": status(204),
    "first wrong": first_wrong,
    "page": status(200, PAGE, Content_Type="text/html; charset=utf-8"),
    "page as file": status(200, PAGE, Content_Type="application/octet-stream"),
    "etag leads out": status(200, ETag='"../../../outside"'),
    "linked etag leads out": status(200, CONTENT, X_Linked_ETag="../../../outside"),
    "absolute etag": status(200, CONTENT, ETag="/tmp/outside"),
    "dotted etag": status(200, CONTENT, ETag='".."'),
    "no etag": status(200, CONTENT, ETag=None),
    "commit leads out": status(200, CONTENT, X_Repo_Commit="../../../outside"),
    "no commit": status(200, CONTENT, X_Repo_Commit=None),
    "another commit": status(200, CONTENT, X_Repo_Commit="f" * 40),
    "too long": status(200, CONTENT, Content_Length="999999"),
    "too short": status(200, CONTENT, Content_Length="1000", ETag=f'"{DIGEST}"'),
    "no number": status(200, CONTENT, Content_Length="many"),
    "without end": chunked_without_end,
    "no gzip": status(200, CONTENT, Content_Encoding="gzip"),
}
WORDS = {
    "silent": r"gave no answer within 0\.25 s",
    "head by the byte": r"gave no answer within 0\.25 s",
    "by the byte": r"gave less than 2000 bytes within 0\.25 s",
    "stall": r"(fell silent|gave less than 2000 bytes within 0\.25 s)",
    "cut": "cut the connection",
    "cut at once": "cut the connection",
    "no http": "cut the connection or does not speak HTTP",
    "circle": "sends from one address to the next without end",
    "redirect to file": "leads to an address that is neither http nor https",
    "redirect to nonsense": "(gave what is no answer|cut the connection)",
    "401": r"wants a token: run hf auth login or set HF_TOKEN, if the name is right \(status 401\)",
    "401 gated": r"wants its terms accepted .* \(status 401\)",
    "403": r"refuses access \(status 403\)",
    "403 gated": r"wants its terms accepted on the page of the repository.* \(status 403\)",
    "404": r"has nothing there \(status 404\)",
    "404 file": r"has no such file \(status 404\)",
    "404 revision": r"has no such revision \(status 404\)",
    "429": r"was asked too often; try again later \(status 429\)",
    "500": r"has a fault of its own; try again later \(status 500\)",
    "500 page": r"has a fault of its own; try again later \(status 500\)",
    "204": r"gave no file \(status 204\)",
    "first wrong": f"with the SHA-256 .* instead of {DIGEST[:16]}, which was not kept",
    "page": "gave a web page instead of a file",
    "page as file": "gave a web page instead of a file",
    "etag leads out": "its ETag names no file, or leads out of the cache",
    "linked etag leads out": "its ETag names no file, or leads out of the cache",
    "absolute etag": "its ETag names no file, or leads out of the cache",
    "dotted etag": "its ETag names no file, or leads out of the cache",
    "no etag": "its ETag names no file, or leads out of the cache",
    "commit leads out": "the server is no Hub: it names no commit",
    "no commit": "the server is no Hub: it names no commit",
    "another commit": f"gave the commit {'f' * 40} instead of {COMMIT}",
    "too long": "cut the connection",
    "too short": f"(with the SHA-256 .* instead of {DIGEST[:16]}|cut the connection)",
    "no number": "cut the connection or does not speak HTTP",
    "without end": "gave more than 1000 bytes of",
    "no gzip": "packs what was asked for as it is",
}


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A Hub on this machine with a fault, at first none; the cache is tmp_path / "place" / "cache"."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Faulty)
    server.daemon_threads = True
    server.fault, server.whole, server.asked, server.tokens = "none", False, [], []
    server.over, server.sha = threading.Event(), COMMIT
    server.rows = [
        {"type": "file", "path": NAME, "size": 130, "oid": "a" * 40, "lfs": {"oid": DIGEST, "size": len(CONTENT)}},
        {"type": "directory", "path": "weights", "oid": "b" * 40},
    ]
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    server.address = f"http://127.0.0.1:{server.server_port}"
    server.cache = tmp_path / "place" / "cache"
    be_online(monkeypatch, server.address, server.cache)
    monkeypatch.setattr(limits, "LIMITS", Limits(WATCHDOG_SECONDS, WATCHDOG_SECONDS, 2000))
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()


# Only where the fault is that nothing comes, so that a slow machine spoils nothing else.
IMPATIENT = {
    "silent": Limits(answer_seconds=0.25, window_seconds=WATCHDOG_SECONDS),
    "head by the byte": Limits(answer_seconds=0.25, window_seconds=WATCHDOG_SECONDS),
    "by the byte": Limits(answer_seconds=WATCHDOG_SECONDS, window_seconds=0.25, window_bytes=2000),
    "stall": Limits(answer_seconds=WATCHDOG_SECONDS, window_seconds=0.25, window_bytes=2000),
}


@pytest.fixture
def fail(hub, monkeypatch):
    """`fail(fault)`: from now on the Hub has this fault."""

    def begin(fault):
        hub.fault = fault
        if fault in IMPATIENT:
            monkeypatch.setattr(limits, "LIMITS", IMPATIENT[fault])

    return begin


def outcome(work):
    """What a call gives or raises; it must end."""
    told = []

    def run():
        try:
            told.append(work())
        except Exception as error:
            told.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(WATCHDOG_SECONDS)
    assert told, "it hangs"
    return told[0]


def files_in(folder):
    """Paths of all that is no folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def fetch_file():
    """One file at its commit."""
    return network.hub_file("me/model", NAME, COMMIT)


# -- Faults -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fault", list(WORDS))
def test_a_fault_is_told_in_words_and_leaves_nothing(hub, fail, tmp_path, fault):
    fail(fault)
    error = outcome(fetch_file)
    assert isinstance(error, NetworkError), repr(error)
    with pytest.raises(NetworkError, match=WORDS[fault]):
        raise error
    assert "\n" not in str(error)
    assert files_in(tmp_path) == []
    assert len(hub.asked) == 1 or (fault == "circle" and len(hub.asked) < 100)


@pytest.mark.parametrize("fault", ["silent", "by the byte", "cut", "circle", "403 gated", "500", "page", "first wrong"])
def test_a_folder_tells_the_fault_with_what_is_wanted_and_what_to_do(fail, tmp_path, fault):
    fail(fault)
    error = outcome(lambda: hub_folder("me/model", COMMIT, ["weights/*"], "or give a folder", asked=True))
    assert isinstance(error, WeightsNotFoundError), repr(error)
    with pytest.raises(
        WeightsNotFoundError, match=rf"^me/model \(revision {COMMIT}; .*{WORDS[fault]}.*, or give a folder$"
    ):
        raise error
    assert files_in(tmp_path) == [f"place/cache/models--me--model/trees/{COMMIT}.json"]


@pytest.mark.parametrize("fault", ["silent", "stall", "cut", "circle", "redirect to file", "401", "500", "page"])
def test_a_list_of_files_fails_in_the_same_words(hub, fail, tmp_path, fault):
    fail(fault)
    hub.whole = True
    for revision in (COMMIT, None):
        error = outcome(lambda revision=revision: network.hub_listing("me/model", revision, ["*"]))
        assert isinstance(error, NetworkError), repr(error)
        with pytest.raises(NetworkError, match=WORDS[fault]):
            raise error
    assert files_in(tmp_path) == []


def test_nobody_listens(hub, monkeypatch):
    with socket.socket() as bound:  # but does not listen
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{bound.getsockname()[1]}")
        with pytest.raises(NetworkError, match=r"127\.0\.0\.1:[0-9]+ cannot be reached"):
            fetch_file()


def test_the_next_try_works(hub):
    hub.fault = "first wrong"
    assert isinstance(outcome(fetch_file), NetworkError)
    assert fetch_file().read_bytes() == CONTENT


def test_a_damaged_file_of_the_cache_is_fetched_anew(hub):
    path = fetch_file()
    path.resolve().write_bytes(b"damaged")
    assert fetch_file().read_bytes() == CONTENT


def test_a_digest_that_is_known_counts_more_than_the_announced_one(hub, tmp_path):
    with pytest.raises(NetworkError, match=f"with the SHA-256 {DIGEST[:16]} instead of {'0' * 16}, which was not kept"):
        network.hub_file("me/model", NAME, COMMIT, sha256="0" * 64)
    assert files_in(tmp_path) == []


def received(monkeypatch, parts):
    """What comes of parts for each of which nine seconds were waited."""
    clock = itertools.count(0, 9)
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    return b"".join(limits._parts(parts, "it", None))


def test_a_slow_file_that_keeps_coming_has_no_limit_on_the_whole(monkeypatch):
    assert len(received(monkeypatch, [b"x" * 10_000] * 300)) == 3_000_000


def test_a_file_that_comes_too_slowly_is_given_up(monkeypatch):
    with pytest.raises(NetworkError, match=r"^it gave less than 30000 bytes within 30 s$"):
        received(monkeypatch, [b"x" * 7000] * 4)


def test_a_file_that_is_left_lets_the_thread_end(hub, fail):
    fail("by the byte")
    before = set(threading.enumerate())
    assert isinstance(outcome(fetch_file), NetworkError)
    hub.over.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(WATCHDOG_SECONDS)
        assert not thread.is_alive()


def test_a_process_that_gave_up_ends_at_once_and_says_no_more(hub, tmp_path):
    hub.fault = "silent"
    code = f"""
from vlgauge.weights.files import hub_file_at
from vlgauge.weights.files import hub_folder
try:
    hub_folder("me/model", "{COMMIT}", ["*"], "or give a folder", asked=True)
except FileNotFoundError as error:
    print(error)
"""
    own = own_environment(hub.address, tmp_path, HF_HUB_ETAG_TIMEOUT="1")
    done = subprocess.run(
        [sys.executable, "-c", code], env=own, capture_output=True, text=True, check=False, timeout=WATCHDOG_SECONDS
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "gave no answer within 1 s; fetch it on a machine with network" in done.stdout


def test_many_fetch_one_file_at_once(hub):
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: fetch_file(), range(16)))
    assert len(set(paths)) == 1
    assert paths[0].read_bytes() == CONTENT
    assert files_in(hub.cache / "models--me--model") == [f"blobs/{DIGEST}", f"snapshots/{COMMIT}/{NAME}"]


# -- What is told -----------------------------------------------------------------------------------------------------
UNASKED = {
    "file": lambda: hub_file_at("me/model", [NAME], COMMIT, lambda folder, why: why),
    "folder": lambda: hub_folder("me/model", COMMIT, ["weights/*"], "or give a folder"),
}
NAMED = {"file": f"me/model/{NAME}", "folder": "me/model"}


@pytest.mark.parametrize("way", list(UNASKED))
def test_a_fetch_that_nobody_asked_for_is_told_before_its_first_byte(hub, capsys, way):
    told = f"Fetching {NAMED[way]} from {hub.address[7:]} to {hub.cache}, 0.1 MB (HF_HUB_OFFLINE=1 forbids it)"
    hub.fault = "cut"
    with pytest.warns(UserWarning, match=f"^{re.escape(told)}$"), pytest.raises(WeightsNotFoundError, match="cut the"):
        UNASKED[way]()
    hub.fault = "none"
    with progress_chosen(True):
        UNASKED[way]()
        assert capsys.readouterr().err.startswith(f"{told} ...\n")
    UNASKED[way]()
    assert capsys.readouterr().err == ""


# -- What goes well ---------------------------------------------------------------------------------------------------
def test_the_cache_has_the_layout_of_the_hubs_client(hub):
    from huggingface_hub import snapshot_download, try_to_load_from_cache

    folder = network.hub_folder("me/model", None, ["weights/*"])
    storage = hub.cache / "models--me--model"
    assert folder == storage / "snapshots" / COMMIT
    assert files_in(storage) == sorted(
        [f"blobs/{DIGEST}", "refs/main", f"snapshots/{COMMIT}/{NAME}", f"trees/{COMMIT}.json"]
    )
    assert (folder / NAME).resolve() == storage / "blobs" / DIGEST
    for revision in (None, COMMIT):
        found = try_to_load_from_cache("me/model", NAME, cache_dir=hub.cache, revision=revision)
        assert found == str(folder / NAME)
        kept = snapshot_download("me/model", revision=revision, cache_dir=hub.cache, local_files_only=True)
        assert kept == str(folder)


def test_a_name_that_is_no_commit_is_remembered(hub):
    assert network.hub_file("me/model", NAME, "v1").read_bytes() == CONTENT
    assert (hub.cache / "models--me--model" / "refs" / "v1").read_text() == COMMIT


def test_where_there_are_no_links_the_file_itself_stands_in_the_snapshot(hub, monkeypatch):
    def refuse(*arguments, **named):
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    path = fetch_file()
    assert not path.is_symlink()
    assert path.read_bytes() == CONTENT


def test_a_file_on_another_server_is_found_and_told_no_token(hub, monkeypatch):
    other = ThreadingHTTPServer(("127.0.0.1", 0), Faulty)
    other.fault, other.whole, other.asked, other.tokens, other.over = "elsewhere", False, [], [], threading.Event()
    threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
    there = f"http://localhost:{other.server_port}/signed"
    monkeypatch.setitem(FAULTS, "elsewhere", status(200, CONTENT, ETag='"no digest"', X_Repo_Commit=None))
    monkeypatch.setitem(
        FAULTS, "none", status(302, Location=there, X_Linked_ETag=f'"{DIGEST}"', X_Linked_Size=str(len(CONTENT)))
    )
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    try:
        path = fetch_file()
    finally:
        other.over.set()
        other.shutdown()
        other.server_close()
    assert (path.resolve().name, path.read_bytes()) == (DIGEST, CONTENT)
    assert (hub.tokens, other.tokens) == (["Bearer hf_secret"], [None])
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    monkeypatch.setitem(FAULTS, "none", status(404))
    with pytest.raises(NetworkError, match="status 404"):
        fetch_file()
    assert hub.tokens[1:] == [None]


# -- Names ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a/../../x", "a//x", "./x", "a\\x", "c:x", "a\nx", ".."])
def test_a_name_in_a_list_never_leads_out(hub, tmp_path, name):
    hub.rows[0]["path"] = name
    with pytest.raises(NetworkError, match="is no path inside a repository"):
        network.hub_folder("me/model", COMMIT, ["*"])
    with pytest.raises(NetworkError, match="is no path inside a repository"):
        network.hub_file("me/model", name, COMMIT)
    with pytest.raises(NetworkError, match="is no path inside a repository"):
        network.hub_file("me/model", NAME, name)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("sha", ["../../x", None, 5, "f" * 39])
def test_a_commit_of_the_api_never_leads_out(hub, tmp_path, sha):
    hub.sha = sha
    with pytest.raises(NetworkError, match="the server is no Hub: it names no commit"):
        network.hub_folder("me/model", None, ["*"])
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("rows", ["text", [1], {"error": 1}])
def test_a_list_that_is_none(hub, rows):
    hub.rows = rows
    with pytest.raises(NetworkError, match="its list of files is none"):
        network.hub_folder("me/model", COMMIT, ["*"])


@pytest.mark.parametrize("entry", [{"size": "big"}, {}, {"lfs": {"oid": "../x", "size": 3}}, {"lfs": {"oid": DIGEST}}])
def test_a_list_without_size_or_digest(hub, entry):
    hub.rows = [{"type": "file", "path": NAME, **entry}]
    with pytest.raises(NetworkError, match="its list has no size or no digest of a file"):
        network.hub_folder("me/model", COMMIT, ["*"])


def test_a_list_that_is_no_json_or_too_long(hub, monkeypatch):
    hub.whole = True
    with pytest.raises(NetworkError, match="gave no JSON where a list was asked for"):
        network.hub_listing("me/model", COMMIT, ["*"])
    monkeypatch.setattr(answers, "_LIST_BYTES", 1000)
    with pytest.raises(NetworkError, match="gave a list of more than 1000 bytes"):
        network.hub_listing("me/model", COMMIT, ["*"])


@pytest.mark.parametrize(("patterns", "known"), [(["model.*"], {}), (["*"], {"model.safetensors": "0" * 64})])
def test_a_list_that_lacks_what_is_wanted_is_not_kept(hub, tmp_path, patterns, known):
    hub.rows[0]["path"] = "other.json"
    with pytest.raises(
        WeightsNotFoundError, match=r"and the Hub's list of its files lacks model\.\S+; fetch it on a machine"
    ):
        hub_folder("me/model", COMMIT, patterns, "or give a folder", known)
    assert files_in(tmp_path) == []
    hub.whole, hub.fault = True, "404"
    with pytest.raises(WeightsNotFoundError, match=r"has nothing there \(status 404\)"):
        hub_folder("me/model", COMMIT, patterns, "or give a folder", known)


def test_pages_of_a_list(hub, monkeypatch):
    def page(handler):
        is_second = handler.path.endswith("&cursor=2")
        rows = [{"type": "file", "path": "b.json" if is_second else "a.json", "size": 8, "oid": "a" * 40}]
        # The second page names itself again.
        handler.content(json.dumps(rows).encode(), Link=f'<{hub.next_page}>; rel="next"')

    monkeypatch.setitem(FAULTS, "none", page)
    hub.whole, hub.next_page = True, f"{hub.address}/api/models/me/model/tree/{COMMIT}?recursive=true&cursor=2"
    assert list(network.hub_listing("me/model", COMMIT, ["*.json"])[1]) == ["a.json", "b.json"]
    hub.next_page = "http://192.0.2.1/steal"
    with pytest.raises(NetworkError, match="has the next page of its list on another server"):
        network.hub_listing("me/model", COMMIT, ["*.json"])


@pytest.mark.parametrize(
    "ask",
    [
        lambda: hub_folder("a--b/c", COMMIT, ["*"], "or give a folder"),
        lambda: hub_file_at("a--b/c", ["x"], COMMIT, lambda folder, why: f"not in {folder} and {why}; stop"),
        lambda: fetched("a--b/c", "default.parquet", None),
    ],
    ids=["folder", "file", "table"],
)
def test_what_is_no_id_of_the_hub(hub, ask):
    with pytest.raises(FileNotFoundError, match=r"and that is no id of the Hub \(.*'a--b/c'.*\); "):
        ask()
    assert [path for _, path in hub.asked] == []


# -- What is here already ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fault", ["cut at once", "500"])
def test_the_table_that_is_here_serves_while_the_hub_breaks_off(hub, fault):
    path = fetched("me/data", "default.parquet", None)
    hub.fault = fault
    assert fetched("me/data", "default.parquet", None) == path


def test_a_table_that_the_hub_has_no_more_is_told(hub):
    fetched("me/data", "default.parquet", None)
    hub.fault = "404 file"
    with pytest.raises(FileNotFoundError, match=r"has no such file \(status 404\); fetch it"):
        fetched("me/data", "default.parquet", None)


# -- What others ask --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fault", ["silent", "cut at once", "401", "403", "429", "500"])
def test_requests_of_the_hubs_own_client_get_limits_and_words(hub, fail, fault):
    fail(fault)

    def create():
        with network.hub_requests():
            HfApi(endpoint=hub.address, token="hf_x").create_repo("me/data", repo_type="dataset")

    error = outcome(create)
    assert isinstance(error, NetworkError), repr(error)
    with pytest.raises(NetworkError, match=WORDS[fault]):
        raise error


@pytest.mark.parametrize("header", [{"Retry_After": "3600"}, {"RateLimit": '"api";r=0;t=3600'}], ids=["after", "limit"])
@pytest.mark.parametrize("number", [429, 503])
def test_a_server_that_wants_an_hour_to_pass_is_not_waited_for(hub, fail, monkeypatch, number, header):
    slept = []
    monkeypatch.setitem(FAULTS, "busy", status(number, **header))
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", slept.append)
    fail("busy")

    def ask():
        with network.hub_requests():
            HfFileSystem(endpoint=hub.address, skip_instance_cache=True).open(
                "datasets/me/data/a.csv", block_size=1000
            )._fetch_range(0, 10)

    error = outcome(ask)
    assert isinstance(error, NetworkError), repr(error)
    assert error.status == number
    words = rf"was asked too often and wants 3600 s to pass \(status {number}\); try again later"
    with pytest.raises(NetworkError, match=words):
        raise error
    assert not slept


# What the client asks about a data set, and a part of a file, which it takes into memory.
CLIENTS_OWN = {
    "about": lambda hub: HfApi(endpoint=hub.address).dataset_info("me/data"),
    "part": lambda hub: (
        HfFileSystem(endpoint=hub.address, skip_instance_cache=True)
        .open("datasets/me/data/a.csv", block_size=1000)
        ._fetch_range(0, 10)
    ),
}
BOUNDED = {
    "head by the byte": WORDS["head by the byte"],
    "by the byte": WORDS["by the byte"],
    "stall": WORDS["stall"],
    "endless": "gave more than 500000 bytes where a short answer was asked for",
    "endless fault": "gave more than 500000 bytes where a short answer was asked for",
    "endless on the way": "gave more than 500000 bytes where a short answer was asked for",
    "packed": "packs what was asked for as it is",
}


def endless(status, **headers):
    def send(hub):
        hub.content(b"", status, Content_Length=None, **headers)
        while not hub.server.over.is_set():
            hub.wfile.write(b"x" * 50_000)

    return send


ENDLESS = {
    "endless": endless(200),
    "endless fault": endless(404),
    "endless on the way": endless(302, Location="/elsewhere"),
    "packed": status(200, gzip.compress(bytes(10_000_000)), Content_Encoding="gzip"),
}


@pytest.mark.parametrize("question", list(CLIENTS_OWN))
@pytest.mark.parametrize("fault", list(BOUNDED))
def test_an_answer_to_the_hubs_own_client_has_an_end(hub, fail, monkeypatch, question, fault):
    monkeypatch.setattr(sys.modules[__name__], "FAULTS", FAULTS | ENDLESS)
    fail(fault)
    if fault in ENDLESS:
        monkeypatch.setattr(limits, "LIMITS", Limits(WATCHDOG_SECONDS, WATCHDOG_SECONDS, 2000, 500_000))
    hub.whole = True

    def ask():
        with network.hub_requests():
            CLIENTS_OWN[question](hub)

    error = outcome(ask)
    assert isinstance(error, NetworkError), repr(error)
    with pytest.raises(NetworkError, match=BOUNDED[fault]):
        raise error
    assert "/api/agent-harnesses" not in [path for _, path in hub.asked]


def test_a_whole_file_may_be_larger_than_an_answer_in_memory(hub, monkeypatch):
    monkeypatch.setattr(limits, "LIMITS", Limits(WATCHDOG_SECONDS, WATCHDOG_SECONDS, 2000, 1000))
    assert fetch_file().read_bytes() == CONTENT
    with limits.session().stream("GET", f"{hub.address}/x") as response:
        assert len(response.read()) == len(CONTENT)
    with pytest.raises(NetworkError, match="gave more than 1000 bytes"):
        limits.session().get(f"{hub.address}/x")
    part = {"Range": f"bytes=0-{len(CONTENT) - 1}"}
    assert limits.session().get(f"{hub.address}/x", headers=part).content == CONTENT


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"[]",
        b"3",
        b"{}",
        b'{"id": 3, "siblings": 4}',
        b'{"id": "me/data", "siblings": [{}]}',
        b"[" * 100_000,
    ],
    ids=["nothing", "page", "list", "number", "empty", "numbers", "file without a name", "deep"],
)
def test_an_answer_of_another_shape_is_one_sentence(hub, monkeypatch, answer):
    monkeypatch.setitem(FAULTS, "none", status(200, answer))
    with pytest.raises(NetworkError, match=r"^the Hub's answer about me/data is not what its client can read$"):
        hub_rows.pinned("me/data")
    with (
        pytest.raises(NetworkError, match=r"^the Hub's answer is not what its client can read$"),
        network.hub_requests(),
    ):
        HfApi(endpoint=hub.address).dataset_info("me/data")


def test_other_errors_and_the_session_stay_as_they_are(hub):
    from huggingface_hub.utils import get_session

    before = get_session().timeout
    with pytest.raises(ZeroDivisionError), network.hub_requests():
        raise ZeroDivisionError
    assert get_session().timeout == before


@pytest.mark.parametrize("fault", ["stall", "cut", "circle", "404", "page", "none"])
def test_a_file_of_any_server(hub, fail, tmp_path, fault):
    fail(fault)
    target = tmp_path / "x.pth"
    target.write_bytes(b"old")
    prefix = "0123" if fault == "none" else DIGEST[:8]
    error = outcome(lambda: network.download(f"{hub.address}/x.pth", target, prefix))
    assert isinstance(error, NetworkError), repr(error)
    assert files_in(tmp_path) == ["x.pth"]
    assert target.read_bytes() == b"old"
    hub.fault = "none"
    network.download(f"{hub.address}/x.pth", target, DIGEST[:8])
    assert target.read_bytes() == CONTENT
    assert hub.tokens == [None, *hub.tokens[1:]]


def test_an_offline_switch_closes_the_door(hub, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "1")
    with pytest.raises(NetworkError, match="an offline switch is set"):
        fetch_file()
    with pytest.raises(NetworkError, match="an offline switch is set"):
        network.download(f"{hub.address}/x", tmp_path / "x", "")
    assert hub.asked == []


def test_the_limits_are_those_of_the_task():
    assert Limits() == Limits(answer_seconds=10, window_seconds=30, window_bytes=30_000)


@pytest.mark.parametrize(("told", "seconds"), [("3", 3), ("x", 10), ("0", 10), ("-1", 10), ("inf", 10), ("", 10)])
def test_a_variable_sets_how_long_an_answer_may_take(monkeypatch, told, seconds):
    monkeypatch.setenv("HF_HUB_ETAG_TIMEOUT", told)
    assert network.answer_seconds() == seconds


# -- One door ---------------------------------------------------------------------------------------------------------
CLIENTS = {"aiohttp", "ftplib", "http", "httpx", "httpx2", "requests", "socket", "ssl", "urllib3", "hf_xet"}
FETCHING = {
    *("hf_hub_download", "snapshot_download", "cached_download", "get_hf_file_metadata", "get_session", "http_get"),
    *("download_url_to_file", "load_state_dict_from_url", "urlopen", "urlretrieve", "load_dataset", "push_to_hub"),
}
# May be imported from the Hub's client: what asks nobody; what asks only where `hub_requests` is.
QUIET = {"constants", "errors", "try_to_load_from_cache", "get_cached_repo_tree"}
QUIET |= {"CommitOperationAdd", "CommitOperationDelete"}
OF_THE_DOOR = {"HfApi", "HfFileSystem", "load_dataset"}
# What makes cards and entries of text. A card can also ask the Hub, by `load`, `validate` and `push_to_hub`.
QUIET |= {"EvalResult", "EvalResultEntry", "ModelCard", "ModelCardData", "eval_result_entries_to_yaml"}
ASKING = {"load", "validate"}
# A file without any of these words need not be parsed.
TELLING = re.compile(rf"\b(?:{'|'.join([*CLIENTS, *FETCHING, 'urllib', 'huggingface_hub', 'ModelCard'])})\b")


def test_nothing_else_opens_a_door():
    root = Path(vlgauge.__file__).parent
    checkout = root.parents[1]
    sources = [*root.rglob("*.py"), *checkout.glob("metrics/**/*.py"), *checkout.glob("scripts/**/*.py")]
    # What reads the data sets of strangers runs in a child process without a network, which asks its parent.
    data_set_jobs = root / "data_sets" / "jobs.py"
    # It asks a server that it starts.
    own = checkout / "scripts/bench/hub.py"
    found = []
    for path in sources:
        if path.parent == Path(network.__file__).parent or path in (data_set_jobs, own):
            continue
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if TELLING.search(text) else ():
            modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names = []
            if isinstance(node, ast.ImportFrom):
                modules, names = [node.module or ""], [name.name for name in node.names]
            elif isinstance(node, ast.Attribute):
                names = [node.attr]
            bad = {module for module in modules if module.partition(".")[0] in CLIENTS or module == "urllib.request"}
            behind_the_door = OF_THE_DOOR if "hub_requests()" in text else set()
            bad |= (FETCHING & set(names)) - behind_the_door
            if "ModelCard" in text:
                bad |= ASKING & set(names)
            if modules[:1] == ["huggingface_hub"] and names:
                bad |= set(names) - QUIET - behind_the_door
            found += [(path.name, name) for name in sorted(bad)]
    assert found == []
