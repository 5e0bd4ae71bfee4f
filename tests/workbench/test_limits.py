"""Limits of clients: too much work at once, files and URLs of the server, and numbers of other clients."""

import base64
import json
import os
import re
import socket
import struct
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from types import MappingProxyType

import gradio as gr
import pytest
from gradio.route_utils import delete_files_created_by_app
from gradio_client.exceptions import AppError
from gradio_loops import close_at_once, loops_of_gradio_left_open

import vlgauge
import vlgauge_workbench
from vlgauge.explain.examples import IMAGES
from vlgauge_workbench import downloads, scoring


def bomb(width, height):
    """Return a small PNG that would decompress to a very large number of pixels."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(bytes(10**6))), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize(
    ("name", "cells", "message"),
    [
        (
            "bleu",
            {"predictions": "x" * 10**7, "references": ["y"]},
            r"^`predictions`.*at most 20,000 characters",
        ),
        ("rovist_nr", {"predictions": ["It ran."] * 101}, r"^`predictions`.*at most 100 texts.*got 101"),
        (
            "trm",
            {"predictions": ["a"] * 9, "references": ["b" * 900] * 99},
            r"^`references`.*at most 20,000 char",
        ),
        ("groovist", {"predictions": ["a"], "images": [b"x"] * 51}, r"^`images`.*at most 50 images.*got 51"),
        ("clip_s", {"predictions": "a", "images": [bytes(20_000_001)]}, r"^`images`.*at most 20.*got 20\.0"),
        (
            "clip_s",
            {"predictions": "a", "images": [bomb(30_000, 30_000)]},
            r"^`images\[0\]`.*900000000 pixels",
        ),
        (
            "clip_s",
            {"predictions": "a", "images": [bomb(1, 10**9)]},
            r"^`images\[0\]`.*1000000000 pixels",
        ),
    ],
)
def test_a_limit_is_named_where_it_is_passed(name, cells, message):
    with pytest.raises(ValueError, match=message) as caught:
        scoring.score_example(name, "embedded", "", cells, "example")
    assert len(str(caught.value)) < 300


def test_api_refuses_what_the_form_refuses(client):
    sent = base64.b64encode(bomb(30_000, 30_000)).decode()
    with pytest.raises(AppError, match="900000000 pixels"):
        client.predict(metric="clip_s", predictions="A dog.", images=[sent], api_name="/score")
    with pytest.raises(AppError, match=r"^`predictions`.*at most 20,000 characters.*got 10,000,000"):
        client.predict(metric="bleu", predictions="x" * 10**7, references="y", api_name="/score")


def called(address, path, call, headers=MappingProxyType({})):
    asked = urllib.request.Request(
        f"{address}gradio_api/{path}", json.dumps(call).encode(), {"Content-Type": "application/json", **headers}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.loads(answer.read())


def joined(address, number, data, session="attack"):
    """Return the answer that the page would receive for this data. A minute is enough, even under load."""
    called(address, "queue/join", {"data": data, "fn_index": number, "session_hash": session})
    end = time.monotonic() + 60
    with urllib.request.urlopen(f"{address}gradio_api/queue/data?session_hash={urllib.parse.quote(session)}") as stream:
        for line in stream:
            message = json.loads(line.decode().removeprefix("data: ") or "null") if line.strip() else {}
            if message.get("msg") == "process_completed":
                return message
            assert time.monotonic() < end, "no answer, but heartbeats"
    raise AssertionError("no answer")


def uploaded(address, image, headers=MappingProxyType({})):
    """Upload an image, and return its path on the server."""
    head = b'--end\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=end", **headers}
    asked = urllib.request.Request(f"{address}gradio_api/upload", head + image + b"\r\n--end--\r\n", headers)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.loads(answer.read())[0]


EMPTY = [None, None, None, "", "embedded", ""]
FILE = {"_type": "gradio.FileData"}


def form_with(file, caption=None):
    """Return the values of the form with this file as its image."""
    images = None if file is None else [{"image": file, "caption": caption}]
    return ["clip_s", None, "embedded", "A dog.", "", "", images, None, None, ""]


@contextmanager
def files_opened_here():
    """Yield the paths of the files that this process opens in the block."""
    found, is_on = [], [True]

    def hook(event, arguments):
        if is_on and event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
            found.append(os.fsdecode(arguments[0]))

    sys.addaudithook(hook)
    try:
        yield found
    finally:
        is_on.clear()  # a hook cannot be removed


def forged_files(address, own, secret):
    """Yield values for the image of the form that name another file or another server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        inside = f"http://127.0.0.1:{listener.getsockname()[1]}/x.png"
        for file in (
            {"path": str(secret)},
            {"path": f"{own}/../../../../../../../..{secret}"},
            {"path": f"file://{secret}"},
            {"path": f"{own}.gone"},
            {"path": inside},
            {"path": own, "url": inside},
            {"url": inside},
            {"path": "\0"},
            {"path": 3},
            {},
        ):
            yield {**file, "meta": FILE}
            yield file  # Gradio checks only values that are marked as files
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_file_that_was_not_uploaded_is_not_opened_and_no_address_asked(served, page_number, tmp_path):
    image = (IMAGES / "scene.png").read_bytes()
    secret = tmp_path / "secret.png"
    secret.write_bytes(image)
    path = uploaded(served, image)
    own = {"path": path, "meta": FILE, "url": f"{served}gradio_api/file={path}"}
    number = page_number("score_fields")
    assert joined(served, number, form_with(own))["success"]
    with files_opened_here() as opened:
        for file in forged_files(served, path, secret):
            if (answer := joined(served, number, form_with(file)))["success"]:
                assert file["path"] == path  # the URL of an upload is not requested
            assert "hostname" not in json.dumps(answer)
        for place in (f"gradio_api/file={secret}", f"gradio_api/file={path}/../../../../../..{secret}"):
            with pytest.raises(urllib.error.HTTPError, match=r"403|404"):
                urllib.request.urlopen(f"{served}{place}")
    assert path in opened
    assert not [one for one in opened if one.endswith("secret.png")]


def test_an_upload_above_the_limit_is_refused():
    """Check the limit of the page, here a small one."""
    with loops_of_gradio_left_open():
        with gr.Blocks() as page:
            pass
        vlgauge_workbench.launch(
            page, server_name="127.0.0.1", quiet=True, prevent_thread_lock=True, max_file_size="10kb"
        )
    try:
        assert uploaded(page.local_url, bytes(9_000))
        with pytest.raises(urllib.error.HTTPError, match="413"):
            uploaded(page.local_url, bytes(11_000))
    finally:
        close_at_once(page)


def test_the_page_has_limits_and_a_queue(served, page):
    config = json.loads(urllib.request.urlopen(f"{served}config").read())
    assert config["max_file_size"] == 200 * 2**20
    public = {one.api_name for one in page.fns.values() if one.api_visibility == "public"}
    assert public == {"score", "score_dataset"}
    models = [one for one in page.fns.values() if one.concurrency_id == "model"]
    assert len(models) >= 4
    assert {one.concurrency_limit for one in models} == {2}
    assert (page.enable_queue, page.api_open, page.delete_cache) == (True, False, (3600, 3600))
    number, *_ = [number for number, one in page.fns.items() if one.api_name == "score_fields"]
    with pytest.raises(urllib.error.HTTPError, match="404"):  # no access without the queue
        called(served, "run/predict", {"data": form_with(None), "fn_index": number, "session_hash": "past"})


@pytest.mark.parametrize("path", ["monitoring", "gradio_api/runs", "gradio_api/mcp/sse", "gradio_api/vibe-code"])
def test_nothing_else_of_gradio_is_served(served, path):
    with pytest.raises(urllib.error.HTTPError, match=r"403|404"):
        urllib.request.urlopen(f"{served}{path}")


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), (None, 200)]
)
def test_a_call_of_another_page_is_refused(served, site, status):
    headers = {} if site is None else {"Sec-Fetch-Site": site}
    for send in (
        lambda: uploaded(served, b"x", headers),
        lambda: called(served, "call/score", {"data": ["bleu", "A dog.", ["A dog."], *EMPTY]}, headers),
    ):
        with nullcontext() if status == 200 else pytest.raises(urllib.error.HTTPError, match="403"):
            send()


def test_every_field_of_text_holds_a_text_from_the_start(page):
    """Check the initial values, because the page sends null for a field without any value."""
    given = {block._id: block for one in page.fns.values() for block in one.inputs if isinstance(block, gr.Textbox)}
    assert [one.label for one in given.values() if not isinstance(one.value, str)] == []


FORGED = [-1, 10**400, [], {}, ["x", {"y": []}], None, True, "hf_" + "a" * 34]


def test_forged_values_are_answered_and_none_ends_the_server(served):
    config = json.loads(urllib.request.urlopen(f"{served}config").read())
    kinds = {one["id"]: one["type"] for one in config["components"]}
    n_asked = 0
    for number, one in enumerate(config["dependencies"]):
        chosen = [place for place, input in enumerate(one["inputs"]) if kinds[input] in ("dropdown", "radio", "number")]
        if not one["backend_fn"] or not chosen or not one["queue"]:
            continue
        for value in ("nope", FORGED[number % len(FORGED)]):
            data = [value if place in chosen else None for place in range(len(one["inputs"]))]
            answer = joined(served, one["id"], data, f"forged{n_asked}")
            assert "Traceback" not in json.dumps(answer)
            n_asked += 1
    assert n_asked > 20


def test_a_session_is_answered_again_and_again(served, page_number):
    """Check that a new stream of a session begins with the next event after the last one ended."""
    data = ["bleu", "A dog ran.", ["A dog sat."], *EMPTY]
    answers = [joined(served, page_number("score"), data, "one session")["output"]["data"] for _ in range(12)]
    assert len({json.dumps(one) for one in answers}) == 1
    assert 0 < answers[0][0]["score"] < 1


def test_files_of_visitors_are_deleted_when_they_are_old(built, monkeypatch, tmp_path):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    page = built(metric="rovist_nr")
    file = next(one for one in page.blocks.values() if isinstance(one, gr.File) and not one.interactive)
    # As in an answer with files.
    path = file.move_resource_to_block_cache(*downloads.keep_files({"scores.json": "{}"}))
    assert [str(one) for one in tmp_path.rglob("*") if one.is_file()] == [path]
    delete_files_created_by_app(page, 3600)
    assert os.path.exists(path)
    delete_files_created_by_app(page, None)
    assert not os.path.exists(path)


def test_four_visitors_at_once_get_the_numbers_of_one(served, page_number):
    """Check two clients of the form and two of the API."""
    story, other = ["We ran home.", "We ran home again."], ["She sat by the sea.", "A bird sang all day long."]
    captions, dogs = ["A dog ran.", "A dog sat.", "Dogs ran home."], ["A dog ran home today.", ["A dog ran home now."]]
    form, api = page_number("score_fields"), page_number("score")
    nothing = [None, None, None]
    calls = [
        (form, ["rovist_nr", "", "embedded", " ".join(story), "", "", *nothing, ""]),
        (form, ["rovist_nr", "", "embedded", " ".join(other), "", "", *nothing, ""]),
        (api, ["trm", captions, captions[::-1], *nothing, "", "embedded", ""]),
        (api, ["bleu", *dogs, *nothing, "", "embedded", ""]),
    ]
    together = threading.Barrier(4)

    def visit(place):
        together.wait()
        return [joined(served, *calls[place], f"visitor{place}")["output"]["data"] for _ in range(3)]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(visit, range(4)))
    for pages, sentences in zip(found[:2], (story, other), strict=True):
        value = vlgauge.load("rovist_nr", profile="embedded").compute(predictions=[sentences])["rovist_nr"]
        assert [re.findall(r'class="big">([^<]+)', page[0]) for page in pages] == [[f"{value:.2f}"]] * 3
    for answers, (_, data) in zip(found[2:], calls[2:], strict=True):
        name, predictions, references = data[:3]
        expected = vlgauge.load(name, profile="embedded").compute(predictions=[predictions], references=[references])
        assert [one[0]["score"] for one in answers] == [expected[name]] * 3
