"""What does not come in: routes that nobody needs, bodies without end, calls of other pages, values of no field."""

import asyncio
import http.client
import json
import logging
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from gradio.utils import get_upload_folder
from starlette.formparsers import MultiPartException

from vlgauge.explain.examples import PICTURES
from vlgauge.workbench import doors, sent_uploads
from vlgauge.workbench.hosting import OWN_MACHINE, SPACE
from vlgauge.workbench.sent_calls import MOST_VALUES, Refused, check_call
from vlgauge.workbench.visitors import MOST_WAITING, VISITOR

BLEU = ["bleu", "A dog ran home today.", ["A dog ran home now."], None, None, None, "", "embedded"]


def asked(served, path, method="GET", body=None, **headers):
    """Status and text of an answer."""
    connection = http.client.HTTPConnection(urlsplit(served).netloc, timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    told = answer.status, answer.read().decode()
    connection.close()
    return told


def posted(served, path, call, **headers):
    return asked(served, path, "POST", json.dumps(call), **{"Content_Type": "application/json"}, **headers)


@pytest.mark.parametrize(
    "path",
    [
        "/monitoring",
        "/monitoring/summary",
        "/gradio_api/proxy=https://hf.space/x",
        "/gradio_api/file=http://127.0.0.1:1/x.png",
        "/gradio_api/file/etc/hostname",
        "/gradio_api/token",
        "/gradio_api/queue/status",
        "/gradio_api/custom_component/x/client/component/index.js",
        "/gradio_api/dev/reload",
        "/gradio_api/openapi.json",
        "/gradio_api/vibe-code",
        "/gradio_api/runs",
        "/gradio_api/deep_link",
        "/gradio_api/mcp/sse",
        "/docs",
        "/openapi.json",
        "/login_check",
        "/logout",
        "//config",
        "/gradio_api/../monitoring",
    ],
)
def test_what_nobody_needs_is_not_there(served, path):
    assert asked(served, path) == (404, '{"detail":"there is nothing here"}')


@pytest.mark.parametrize("name", ["upload", "scored", "score", "predict/x"])
@pytest.mark.parametrize("route", ["run", "api"])
def test_no_function_is_called_by_a_direct_post(served, route, name):
    assert posted(served, f"/gradio_api/{route}/{name}", {"data": BLEU})[0] == 404


@pytest.mark.parametrize(
    "path", ["component_server", "stream/x", "stream/x/close", "login", "process_recording", "vibe-edit", "upload/x"]
)
def test_no_other_post_is_taken(served, path):
    assert posted(served, f"/gradio_api/{path}", {"data": []})[0] == 404


def test_what_the_page_needs_is_there(served):
    for path in ("/", "/config", "/theme.css", "/robots.txt", "/manifest.json", "/gradio_api/info", "/favicon.ico"):
        assert asked(served, path)[0] == 200
    assert asked(served, "/", "HEAD") == (200, "")
    assert asked(served, "/", "PUT")[0] == 404


def test_the_direct_call_of_an_event_of_the_queue_opens_no_file(served, tmp_path):
    (tmp_path / "secret.png").write_bytes((PICTURES / "scene.png").read_bytes())
    file = {"image": {"path": str(tmp_path / "secret.png")}, "caption": None}
    data = ["clip_s", None, "embedded", "A dog.", "", "", [file], None, None]
    call = {"data": data, "fn_index": number_of(served, "scored"), "session_hash": "a"}
    for path in ("queue/join", "run/predict"):
        status, told = posted(served, f"/gradio_api/{path}", call)
        assert status in (400, 404)
        assert "event_id" not in told


def number_of(served, name):
    config = json.loads(asked(served, "/config")[1])
    return next(one["id"] for one in config["dependencies"] if one["api_name"] == name)


# -- Origin -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "{served}"}, 200),
        ({"Sec_Fetch_Site": "same-origin", "Origin": "{served}"}, 200),
        ({"Origin": "http://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
    ],
)
@pytest.mark.parametrize("path", ["call/score", "upload", "cancel"])
def test_a_call_of_another_page_is_refused(served, path, headers, status):
    given = {name: value.format(served=served.rstrip("/")) for name, value in headers.items()}
    if path == "upload":
        found = sent_upload(served, b"x", **given)[0]
    else:
        call = {"data": BLEU} if path == "call/score" else {"session_hash": "a", "fn_index": 1, "event_id": "b"}
        found = posted(served, f"/gradio_api/{path}", call, **given)[0]
    assert found == status


# -- Sizes ------------------------------------------------------------------------------------------------------------
def uploaded(content, disposition='form-data; name="files"; filename="a.png"'):
    """Body of an upload."""
    head = f"--end\r\nContent-Disposition: {disposition}\r\n\r\n".encode()
    return head + content + b"\r\n--end--\r\n"


def sent_upload(served, *given, **headers):
    kind = "multipart/form-data; boundary=end"
    return asked(served, "/gradio_api/upload", "POST", uploaded(*given), Content_Type=kind, **headers)


def test_a_body_without_end_is_ended(served):
    """It never says how long it is, and is refused long before it would have been."""
    host, _, port = urlsplit(served).netloc.partition(":")
    head = "POST /gradio_api/queue/join HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n".format(
        f"{host}:{port}"
    )
    chunk, n_sent = b"100000\r\n" + b" " * 2**20 + b"\r\n", 0
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head.encode())
        try:
            for _ in range(300):
                connection.sendall(chunk)
                n_sent += 1
        except OSError:
            pass
        assert n_sent < 100


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"[" + b"[]," * MOST_VALUES + b"[]]", "a call must have at most 100,000 values"),
        (b"[" * 50_000 + b"]" * 50_000, "too many levels"),
        (b"x", "a call must be JSON"),
        (b"[]", "an object of JSON"),
        (b'{"fn_index": 100000, "data": [], "session_hash": "a"}', "`fn_index` must be"),
        (b'{"fn_index": true, "data": [], "session_hash": "a"}', "`fn_index` must be"),
        (b'{"fn_index": "0", "data": [], "session_hash": "a"}', "`fn_index` must be"),
        (b'{"fn_index": 0, "data": [1], "session_hash": "a"}', "`data` must be a list of 0 values"),
        (b'{"fn_index": 0, "data": {}, "session_hash": "a"}', "`data` must be a list of 0 values"),
        (b'{"fn_index": 0, "data": [], "session_hash": {}}', "`session_hash` must be"),
        (b'{"fn_index": 0, "data": []}', "`session_hash` must be"),
    ],
)
def test_what_is_no_call_of_the_page_is_said(page, content, why):
    without = next(number for number, one in page.fns.items() if not one.inputs)
    content = content.replace(b'"fn_index": 0', f'"fn_index": {without}'.encode())
    with pytest.raises(Refused, match=why):
        check_call(page, "/gradio_api/queue/join", content, set())


def test_only_public_functions_have_names(page):
    with pytest.raises(Refused, match="there is no call of this name"):
        check_call(page, "/gradio_api/call/scored", b'{"data": []}', set())
    with pytest.raises(Refused, match="`data` must be a list of 8 values"):
        check_call(page, "/gradio_api/call/score", b'{"data": []}', set())
    check_call(page, "/gradio_api/call/score", json.dumps({"data": BLEU}).encode(), set())


def test_an_upload_holds_files_alone(served):
    assert sent_upload(served, b"x")[0] == 200
    for disposition in ('form-data; name="files"', 'form-data; name="other"; filename="a"', "form-data"):
        assert sent_upload(served, b"x" * 10, disposition) == (400, "An upload must hold files alone.")


def there(folder):
    return {path for path in Path(folder).rglob("*") if path.is_file()}


def test_an_upload_that_is_cut_leaves_no_file(served, wait_until):
    host, _, port = urlsplit(served).netloc.partition(":")
    before = there(get_upload_folder())
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        head = "POST /gradio_api/upload HTTP/1.1\r\nHost: {}\r\nContent-Length: 9000000\r\n".format(f"{host}:{port}")
        head += "Content-Type: multipart/form-data; boundary=end\r\n\r\n"
        connection.sendall(head.encode() + uploaded(b"x" * 100_000)[:90_000])
        wait_until(lambda: there(get_upload_folder()) != before)
    wait_until(lambda: there(get_upload_folder()) == before)


# -- The wall by itself -----------------------------------------------------------------------------------------------
def walled(page, scope, body=(), hosting=OWN_MACHINE, app=None):
    """What the wall lets through, and what it answers."""
    passed, answers = [], []
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in body]
    messages.append({"type": "http.request", "body": b"", "more_body": False})
    left = iter(messages)

    async def receive():
        return next(left, {"type": "http.disconnect"})

    async def send(message):
        answers.append(message)

    async def inner(scope, receive, send):
        passed.append(scope)
        while (await receive()).get("more_body"):
            pass

    scope = {"type": "http", "method": "POST", "query_string": b"", "client": ("9.9.9.9", 1), "headers": [], **scope}
    asyncio.run(doors.Doors(app or inner, page, hosting)(scope, receive, send))
    return bool(passed), [one["status"] for one in answers if "status" in one], len(list(left))


def test_a_large_body_is_read_no_further(page):
    part = b" " * 2**20
    through, status, n_left = walled(page, {"path": "/gradio_api/queue/join"}, [part] * 300)
    assert (through, status) == (False, [413])
    assert n_left > 260


def test_a_visitor_has_so_many_calls_at_once(page, monkeypatch):
    body = [json.dumps({"data": BLEU}).encode()]

    class Event:
        def __init__(self, visitor):
            self.request = type("Request", (), {"scope": {VISITOR: visitor}})

    events = {number: Event("9.9.9.9") for number in range(MOST_WAITING)}
    monkeypatch.setattr(page._queue, "event_ids_to_events", events)
    scope = {"path": "/gradio_api/call/score"}
    assert walled(page, scope, body)[:2] == (False, [429])
    assert walled(page, {**scope, "client": ("9.9.9.8", 1)}, body)[0]
    assert walled(page, {"path": "/gradio_api/cancel"}, [b"{}"])[0]
    del events[0]
    assert walled(page, scope, body)[0]


def test_uploads_are_bounded_together(built):
    async def read(n_parts, most):
        parts = [uploaded(b"x" * 1000)[:-9]] * n_parts

        async def receive():
            return {"type": "http.request", "body": parts.pop(), "more_body": bool(parts)}

        headers = [(b"content-type", b"multipart/form-data; boundary=end")]
        received = sent_uploads.bounded_upload({"type": "http", "headers": headers}, receive, most)
        while (await received())["more_body"]:
            pass

    asyncio.run(read(3, 4000))
    with pytest.raises(MultiPartException, match="maximum allowed size of 2000 bytes"):
        asyncio.run(read(3, 2000))
    assert SPACE.upload_bytes < OWN_MACHINE.upload_bytes


# -- The log ----------------------------------------------------------------------------------------------------------
FORGED = [-1, 10**400, [], {}, ["x", {"y": []}], None, True, "hf_" + "a" * 34]


def test_forged_values_are_a_line_each(served, capfd, monkeypatch):
    lines = []
    taken = logging.Handler()
    taken.emit = lambda record: lines.append(record.getMessage())
    monkeypatch.setattr(logging.getLogger("vlgauge.workbench"), "handlers", [taken])
    config = json.loads(asked(served, "/config")[1])
    kinds = {one["id"]: one["type"] for one in config["components"]}
    capfd.readouterr()
    n_asked = 0
    for number, one in enumerate(config["dependencies"]):
        chosen = [place for place, input in enumerate(one["inputs"]) if kinds[input] in ("dropdown", "radio", "number")]
        if not one["backend_fn"] or not chosen:
            continue
        for value in ("nope", FORGED[number % len(FORGED)]):
            data = [value if place in chosen else None for place in range(len(one["inputs"]))]
            call = {"data": data, "fn_index": one["id"], "session_hash": f"forged{n_asked % 7}"}
            status, _ = posted(served, f"/gradio_api/{'queue/join' if one['queue'] else 'run/predict'}", call)
            if one["queue"] and status == 200:
                asked(served, f"/gradio_api/queue/data?session_hash=forged{n_asked % 7}")  # until it has ended
            n_asked += 1
    told = capfd.readouterr().err
    assert n_asked > 60
    assert told == ""
    assert 40 < len(lines) <= n_asked
    assert all(line.startswith("refused: a field must hold what the page offers") for line in lines)
    assert not any("\n" in line or "hf_aaa" in line for line in lines)
