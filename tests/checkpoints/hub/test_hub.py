"""Downloads from a Hub on this machine: pinned, checked by digest, resumed, and removed if they are wrong."""

import ast
import hashlib
import json
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import HfApi
from huggingface_hub.utils import get_session
from local_hub import COMMIT, be_online, own_environment

import vlgauge
from vlgauge.api.row_sources import hub as hub_rows
from vlgauge.checkpoints import hub as network
from vlgauge.checkpoints.files import hub_file_at, hub_folder
from vlgauge.core.errors import NetworkError, WeightsNotFoundError
from vlgauge.core.progress import progress_chosen
from vlgauge.families.style.table_sources import download_file

pytestmark = pytest.mark.fetching

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()
NAME = "weights/small.safetensors"
WATCHDOG_SECONDS = 60


class Faulty(BaseHTTPRequestHandler):
    """A Hub with one model, and the fault of its server."""

    def log_message(self, *arguments):
        """Print nothing."""

    def do_HEAD(self):
        """Answer with headers only."""
        self.do_GET()

    def do_POST(self):
        """Read the body of a request."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def do_GET(self):
        """Send an answer, or simulate the fault."""
        hub = self.server
        hub.asked.append((self.command, self.path))
        hub.tokens.append(self.headers.get("Authorization"))
        try:
            if self.path == "/":
                self.content(b"")
            elif "/tree/" in self.path and not hub.whole:
                self.tell(hub.rows)
            elif re.match("/api/models/me/model(/revision/|[?]|$)", self.path) and not hub.whole:
                self.tell({"id": "me/model", "sha": COMMIT})
            else:
                FAULTS[hub.fault](self)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def tell(self, rows):
        """Send rows in the format of the API."""
        self.content(json.dumps(rows).encode(), Content_Type="application/json")

    def content(self, body=CONTENT, status=200, *, sent=None, **more):
        """Send an answer, whose headers may be replaced or, with None, omitted."""
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha256(body).hexdigest()}"'}
        headers |= {"Content-Length": str(len(body))} | {name.replace("_", "-"): value for name, value in more.items()}
        self.send_response(status)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if sent is None else sent)


def status(number, body=b"", **headers):
    return lambda hub: hub.content(body, number, **headers)


def cut_once(hub):
    """Send half of the file first, and the requested part afterwards."""
    span = hub.headers.get("Range")
    if span is None:
        hub.content(sent=CONTENT[: len(CONTENT) // 2])
        return
    start = int(re.fullmatch(r"bytes=(\d+)-", span)[1])
    hub.server.resumed.append(start)
    span = f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}"
    hub.content(CONTENT[start:], 206, ETag=f'"{DIGEST}"', Content_Range=span)


def first_wrong(hub):
    wrong = sum(command == "GET" and "/resolve/" in path for command, path in hub.server.asked) == 1
    hub.content(CONTENT[::-1] if wrong else CONTENT, ETag=f'"{DIGEST}"')


FAULTS = {
    "none": lambda hub: hub.content(),
    "silent": lambda hub: hub.server.over.wait(WATCHDOG_SECONDS),
    "cut": lambda hub: hub.content(sent=CONTENT[:1000] if hub.headers.get("Range") is None else b""),
    "cut once": cut_once,
    "cut at once": lambda hub: hub.connection.close(),
    "401": status(401),
    "401 gated": status(401, X_Error_Code="GatedRepo"),
    "403": status(403),
    "403 gated": status(403, X_Error_Code="GatedRepo"),
    "404": status(404),
    "404 file": status(404, X_Error_Code="EntryNotFound"),
    "404 revision": status(404, X_Error_Code="RevisionNotFound"),
    "429": status(429),
    "500": status(500),
    "first wrong": first_wrong,
    "no commit": status(200, CONTENT, X_Repo_Commit=None),
    "another commit": status(200, CONTENT, X_Repo_Commit="f" * 40),
}
WORDS = {
    "silent": r"closed the connection.*Timeout",
    "cut": "closed the connection",
    "cut at once": "closed the connection",
    "401": r"HF_TOKEN.*status 401",
    "401 gated": r"terms.*status 401",
    "403": r"access.*status 403",
    "403 gated": r"terms.*status 403",
    "404": r"nothing.*status 404",
    "404 file": r"file.*status 404",
    "404 revision": r"such.*revision.*status 404",
    "429": "status 429",
    "500": "status 500",
    "first wrong": rf"SHA-256.*{DIGEST[:16]}",
    "no commit": rf"None.*{COMMIT}",
    "another commit": rf"{'f' * 40}.*{COMMIT}",
}


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A Hub on this machine with a fault, initially none, and with the cache `tmp_path / "cache"`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Faulty)
    server.daemon_threads = True
    server.fault, server.whole, server.asked, server.tokens, server.resumed = "none", False, [], [], []
    server.over = threading.Event()
    server.rows = [
        {"type": "file", "path": NAME, "size": 102400, "oid": "a" * 40, "lfs": {"oid": DIGEST, "size": 102400}},
        {"type": "directory", "path": "weights", "oid": "b" * 40},
    ]
    server.rows[0]["lfs"]["pointerSize"] = 130
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    server.address = f"http://127.0.0.1:{server.server_port}"
    server.cache = tmp_path / "cache"
    be_online(monkeypatch, server.address, server.cache)
    # The client waits between its attempts, and resumes after whole pieces of 10 MB.
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1024)
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()


def kept(cache):
    """Return the blobs and snapshots of the cache."""
    found = sorted(path.relative_to(cache).as_posix() for path in cache.rglob("*") if not path.is_dir())
    return [name for name in found if "/blobs/" in name or "/snapshots/" in name]


def fetch_file(**settings):
    """Fetch one file at its commit."""
    return network.hub_file("me/model", NAME, COMMIT, **settings)


# -- Faults -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fault", list(WORDS))
def test_a_fault_is_one_sentence_and_leaves_nothing(hub, monkeypatch, fault):
    hub.fault = fault
    if fault == "silent":
        monkeypatch.setattr(network, "answer_seconds", lambda: 0.2)
    with pytest.raises(NetworkError, match=WORDS[fault]) as raised:
        fetch_file()
    assert "\n" not in str(raised.value)
    assert kept(hub.cache) == []


@pytest.mark.parametrize("fault", ["cut", "403 gated", "first wrong"])
def test_a_folder_tells_the_fault_with_what_is_wanted_and_what_to_do(hub, fault):
    hub.fault = fault
    message = rf"{COMMIT}.*{WORDS[fault]}.*{COMMIT}"
    with pytest.raises(WeightsNotFoundError, match=message):
        hub_folder("me/model", COMMIT, ["weights/*"], "or give a folder", asked=True)
    assert kept(hub.cache) == []


@pytest.mark.parametrize("fault", ["401", "404", "500", "cut at once"])
def test_a_list_of_files_fails_in_the_same_words(hub, fault):
    hub.fault, hub.whole = fault, True
    for revision in (COMMIT, None):
        with pytest.raises(NetworkError, match=WORDS[fault]):
            network.hub_listing("me/model", revision, ["*"])


def test_a_download_that_is_cut_is_resumed(hub):
    hub.fault = "cut once"
    assert fetch_file().read_bytes() == CONTENT
    assert hub.resumed == [len(CONTENT) // 2]


def test_the_next_try_works(hub):
    hub.fault = "first wrong"
    with pytest.raises(NetworkError, match="discarded"):
        fetch_file()
    assert fetch_file().read_bytes() == CONTENT


def test_a_digest_that_is_known_counts_more_than_the_announced_one(hub):
    with pytest.raises(NetworkError, match=rf"SHA-256.*{DIGEST[:16]}.*{'0' * 16}"):
        fetch_file(sha256="0" * 64)
    assert kept(hub.cache) == []


def test_a_file_is_compared_once(hub, monkeypatch):
    path = fetch_file(sha256=DIGEST)
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("compared again"))
    assert fetch_file(sha256=DIGEST) == path


def test_a_comparison_that_is_interrupted_keeps_nothing(hub, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(hashlib, "file_digest", stop)
    with pytest.raises(KeyboardInterrupt):
        fetch_file()
    assert kept(hub.cache) == []


def test_a_wrong_file_in_a_folder_is_removed_alone(hub):
    hub.rows.append({**hub.rows[0], "path": "weights/z.safetensors", "lfs": {**hub.rows[0]["lfs"], "oid": "0" * 64}})
    with pytest.raises(NetworkError, match=r"weights/z\.safetensors.*SHA-256"):
        network.hub_folder("me/model", COMMIT, ["*"], {"weights/z.safetensors": "0" * 64})
    # They have one blob, because this Hub announces one digest for both.
    assert kept(hub.cache) in ([f"models--me--model/snapshots/{COMMIT}/{NAME}"], [])


def test_many_fetch_one_file_at_once(hub):
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: fetch_file(), range(16)))
    assert len(set(paths)) == 1
    assert paths[0].read_bytes() == CONTENT
    storage = "models--me--model"
    assert kept(hub.cache) == [f"{storage}/blobs/{DIGEST}", f"{storage}/snapshots/{COMMIT}/{NAME}"]


# -- messages ---------------------------------------------------------------------------------------------------------
UNASKED = {
    "file": lambda: hub_file_at("me/model", [NAME], COMMIT, "or give a file"),
    "folder": lambda: hub_folder("me/model", COMMIT, ["weights/*"], "or give a folder"),
}
NAMED = {"file": f"me/model/{NAME}", "folder": "me/model"}


@pytest.mark.parametrize("way", list(UNASKED))
def test_a_fetch_that_nobody_asked_for_is_told_before_its_first_byte(hub, capsys, way):
    told = f"Downloading {NAMED[way]} from {hub.address[7:]} to {hub.cache}, 0.1 MB (HF_HUB_OFFLINE=1 prevents it)"
    hub.fault = "cut"
    with (
        pytest.warns(UserWarning, match=f"^{re.escape(told)}$"),
        pytest.raises(WeightsNotFoundError, match="closed the"),
    ):
        UNASKED[way]()
    capsys.readouterr()
    hub.fault = "none"
    with progress_chosen(True):
        UNASKED[way]()
        assert capsys.readouterr().err.startswith(f"{told} ...\n")
    UNASKED[way]()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("way", list(UNASKED))
def test_offline_nothing_is_asked_and_the_command_is_named(hub, monkeypatch, way):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(WeightsNotFoundError, match="offline mode"):
        UNASKED[way]()
    assert hub.asked == []
    if way == "folder":
        with pytest.raises(
            WeightsNotFoundError,
            match=rf"me/model.*--revision.*{COMMIT}",
        ):
            UNASKED[way]()


def test_offline_no_request_is_sent(hub, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "1")
    for ask in (
        fetch_file,
        lambda: network.download(f"{hub.address}/x", tmp_path / "x", ""),
        lambda: network.hub_listing("me/model", COMMIT, ["*"]),
        lambda: network.hub_content("me/model", NAME, COMMIT, kind="model", most_bytes=9),
    ):
        with pytest.raises(NetworkError, match="offline mode"):
            ask()
    assert hub.asked == []


def test_a_process_that_gave_up_ends_at_once_and_says_no_more(hub, tmp_path):
    hub.fault = "silent"
    code = f"""
from vlgauge.checkpoints.files import hub_folder
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
    assert "; download it on a machine with network: hf download me/model" in done.stdout


# -- success ----------------------------------------------------------------------------------------------------------
def test_a_folder_is_complete_for_the_hubs_client(hub):
    from huggingface_hub import snapshot_download, try_to_load_from_cache

    folder = network.hub_folder("me/model", None, ["weights/*"])
    assert folder == hub.cache / "models--me--model" / "snapshots" / COMMIT
    for revision in (None, COMMIT):
        found = try_to_load_from_cache("me/model", NAME, cache_dir=hub.cache, revision=revision)
        assert found == str(folder / NAME)
        here = snapshot_download("me/model", revision=revision, cache_dir=hub.cache, local_files_only=True)
        assert here == str(folder)


def test_a_name_that_is_no_commit_is_remembered(hub):
    assert network.hub_file("me/model", NAME, "v1").read_bytes() == CONTENT
    assert (hub.cache / "models--me--model" / "refs" / "v1").read_text() == COMMIT


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
        other.shutdown()
        other.server_close()
    assert (path.resolve().name, path.read_bytes()) == (DIGEST, CONTENT)
    assert set(hub.tokens) == {"Bearer hf_secret"}
    assert set(other.tokens) == {None}


@pytest.mark.parametrize(("patterns", "known"), [(["model.*"], {}), (["*"], {"model.safetensors": "0" * 64})])
def test_a_list_that_lacks_what_is_wanted(hub, patterns, known):
    hub.rows[0]["path"] = "other.json"
    with pytest.raises(WeightsNotFoundError, match="files lacks"):
        hub_folder("me/model", COMMIT, patterns, "or give a folder", known)
    assert kept(hub.cache) == []


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a/../../x"])
def test_a_name_in_a_list_never_leads_out(hub, tmp_path, name):
    hub.rows[0]["path"] = name
    with pytest.raises(NetworkError, match="must name files of its own"):
        network.hub_folder("me/model", COMMIT, ["*"])
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and hub.cache not in path.parents]
    assert outside == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda: hub_folder("a--b/c", COMMIT, ["*"], "or give a folder"),
        lambda: hub_file_at("a--b/c", ["x"], COMMIT, "stop"),
        lambda: download_file("a--b/c", "default.parquet", None),
    ],
    ids=["folder", "file", "table"],
)
def test_what_is_no_id_of_the_hub(hub, ask):
    with pytest.raises(FileNotFoundError, match="'a--b/c'"):
        ask()
    assert {path for _, path in hub.asked} <= {"/"}


def test_content_is_read_within_its_bound_and_not_kept(hub, monkeypatch):
    hub.rows = [{"type": "file", "path": "a.txt", "size": 102400, "oid": "a" * 40}]

    def paths_info(handler):
        if "/paths-info/" in handler.path:
            handler.tell(hub.rows)
        elif "/resolve/" not in handler.path:
            handler.tell({"id": "me/data", "sha": COMMIT})
        else:
            span = re.fullmatch(r"bytes=(\d+)-(\d+)", handler.headers.get("Range", "bytes=0-102399"))
            start, end = int(span[1]), min(int(span[2]), 102399)
            handler.content(CONTENT[start : end + 1], 206, Content_Range=f"bytes {start}-{end}/102400")

    monkeypatch.setitem(FAULTS, "content", paths_info)
    hub.fault = "content"
    settings = {"kind": "dataset", "token": "hf_visitor"}
    assert network.hub_content("me/data", "a.txt", COMMIT, most_bytes=102400, **settings) == CONTENT
    assert set(hub.tokens) == {"Bearer hf_visitor"}
    with pytest.raises(NetworkError, match=r"a\.txt.*than 1000 bytes"):
        network.hub_content("me/data", "a.txt", COMMIT, most_bytes=1000, **settings)
    assert kept(hub.cache) == []


# -- cached files -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fault", ["cut at once", "500"])
def test_the_table_that_is_here_serves_while_the_hub_breaks_off(hub, fault):
    path = download_file("me/data", "default.parquet", None)
    hub.fault = fault
    assert download_file("me/data", "default.parquet", None) == path


def test_a_table_that_the_hub_has_no_more_is_told(hub):
    download_file("me/data", "default.parquet", None)
    hub.fault = "404 file"
    with pytest.raises(FileNotFoundError, match=r"status 404.*download"):
        download_file("me/data", "default.parquet", None)


# -- requests of other libraries --------------------------------------------------------------------------------------
@pytest.mark.parametrize("fault", ["cut at once", "401", "403", "429", "500"])
def test_errors_of_the_hubs_own_client_become_words(hub, fault):
    hub.fault = fault
    with pytest.raises(NetworkError, match=WORDS[fault]), network.hub_requests():
        HfApi(endpoint=hub.address, token="hf_x").create_repo("me/data", repo_type="dataset")


@pytest.mark.parametrize(
    "answer",
    [b"", b"<html>", b"[]", b"3", b"{}", b'{"id": 3, "siblings": 4}', b'{"id": "me/data", "siblings": [{}]}'],
    ids=["nothing", "page", "list", "number", "empty", "numbers", "file without a name"],
)
def test_an_answer_of_another_shape_is_one_sentence(hub, monkeypatch, answer):
    monkeypatch.setitem(FAULTS, "none", status(200, answer))
    with pytest.raises(NetworkError, match=r"me/data.*huggingface_hub"):
        hub_rows.pin_dataset("me/data")


def test_a_request_without_a_timeout_gets_one(hub, monkeypatch):
    before = get_session().timeout
    with network.hub_requests():
        assert get_session().timeout.read == 10
    assert get_session().timeout == before
    monkeypatch.setattr(network, "answer_seconds", lambda: 0.2)
    hub.fault, hub.whole = "silent", True
    with pytest.raises(NetworkError, match=WORDS["silent"]), network.hub_requests():
        HfApi(endpoint=hub.address).create_repo("me/data", repo_type="dataset")


def test_other_errors_stay_as_they_are(hub):
    for error in (ZeroDivisionError(), KeyError("x"), OSError(28, "No space left on device")):
        with pytest.raises(type(error)) as raised, network.hub_requests():
            raise error
        assert raised.value is error


@pytest.mark.parametrize("fault", ["cut", "404", "none"])
def test_a_file_of_any_server(hub, monkeypatch, tmp_path, fault):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.fault = fault
    target = tmp_path / "x.pth"
    target.write_bytes(b"old")
    prefix = "0123" if fault == "none" else DIGEST[:8]
    with pytest.raises(NetworkError):
        network.download(f"{hub.address}/x.pth", target, prefix)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["x.pth"]
    assert target.read_bytes() == b"old"
    hub.fault = "cut once"
    network.download(f"{hub.address}/x.pth", target, DIGEST[:8])
    assert target.read_bytes() == CONTENT
    assert set(hub.tokens) == {None}


@pytest.mark.parametrize(("told", "seconds"), [("3", 3), ("x", 10), ("0", 10), ("-1", 10), ("inf", 10), ("", 10)])
def test_a_variable_sets_how_long_an_answer_may_take(monkeypatch, told, seconds):
    monkeypatch.setenv("HF_HUB_ETAG_TIMEOUT", told)
    assert network.answer_seconds() == seconds


# -- No other code uses the network -----------------------------------------------------------------------------------
CLIENTS = {"aiohttp", "ftplib", "http", "httpx", "httpx2", "requests", "socket", "ssl", "urllib3", "hf_xet"}
FETCHING = {
    *("hf_hub_download", "snapshot_download", "cached_download", "get_hf_file_metadata", "get_session", "http_get"),
    *("download_url_to_file", "load_state_dict_from_url", "urlopen", "urlretrieve", "load_dataset", "push_to_hub"),
}
# Allowed imports from the Hub's client: names without requests, and names with requests only in `hub_requests`.
QUIET = {"constants", "errors", "get_token", "try_to_load_from_cache", "get_cached_repo_tree"}
QUIET |= {"CommitOperationAdd", "CommitOperationDelete"}
OF_THE_DOOR = {"HfApi", "HfFileSystem", "load_dataset"}
# Names that build cards and entries of text. A card can also send requests, by `load`, `validate` and `push_to_hub`.
QUIET |= {"EvalResult", "EvalResultEntry", "ModelCard", "ModelCardData", "eval_result_entries_to_yaml"}
ASKING = {"load", "validate"}
# A file without any of these words need not be parsed.
TELLING = re.compile(rf"\b(?:{'|'.join([*CLIENTS, *FETCHING, 'urllib', 'huggingface_hub', 'ModelCard'])})\b")


def test_nothing_else_opens_a_door():
    root = Path(vlgauge.__file__).parent
    checkout = root.parents[1]
    sources = [*root.rglob("*.py"), *checkout.glob("metrics/**/*.py"), *checkout.glob("scripts/**/*.py")]
    # Hub datasets are read by `datasets` in a worker process, whose requests have its time limit.
    sandbox_tasks = root / "inputs" / "datasets" / "sandbox_tasks.py"
    found = []
    for path in sources:
        if path.parent == Path(network.__file__).parent or path == sandbox_tasks:
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
