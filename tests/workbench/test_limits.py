"""What visitors cannot do: too much at once, files and addresses of the server, each other's numbers."""

import base64
import json
import os
import socket
import struct
import threading
import urllib.request
import zlib
from concurrent.futures import ThreadPoolExecutor

import gradio as gr
import pytest
from gradio.route_utils import delete_files_created_by_app
from gradio_client import Client
from gradio_client.exceptions import AppError

import vlgauge
from vlgauge.workbench import inputs, kept_files, scoring


def bomb(width, height):
    """A small PNG that would unpack to very many pixels."""

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
            "`predictions` must have at most 20,000 characters",
        ),
        ("rovist_nr", {"predictions": ["It ran."] * 101}, "`predictions` must be at most 100 texts, got 101"),
        (
            "trm",
            {"predictions": ["a"] * 9, "references": ["b" * 900] * 99},
            "`references` must have at most 20,000 char",
        ),
        ("groovist", {"predictions": ["a"], "images": [b"x"] * 51}, "`images` must be at most 50 pictures, got 51"),
        ("clip_s", {"predictions": "a", "images": [bytes(20_000_001)]}, "at most 20 MB a file, got 20.0 MB"),
        (
            "clip_s",
            {"predictions": "a", "images": [bomb(30_000, 30_000)]},
            r"900000000 pixels\) exceeds limit",
        ),
        (
            "clip_s",
            {"predictions": "a", "images": [bomb(1, 10**9)]},
            r"1000000000 pixels\) exceeds limit",
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
    with pytest.raises(AppError, match=r"`predictions` must have at most 20,000 characters, got 10,000,000"):
        client.predict(metric="bleu", predictions="x" * 10**7, references="y", api_name="/score")


def joined(address, number, data):
    """What the page would get for an event with this data."""
    body = json.dumps({"data": data, "fn_index": number, "session_hash": "attack"}).encode()
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(f"{address}gradio_api/queue/join", body, headers)).read()
    with urllib.request.urlopen(f"{address}gradio_api/queue/data?session_hash=attack") as stream:
        for line in stream:
            message = json.loads(line.decode().removeprefix("data: ") or "null") if line.strip() else {}
            if message.get("msg") == "process_completed":
                return message
    raise AssertionError("no answer")


def number_of(address, function):
    config = json.loads(urllib.request.urlopen(f"{address}config").read())
    return next(one["id"] for one in config["dependencies"] if one["api_name"] == function)


def uploaded(address, picture):
    """Path that the server gives to an uploaded picture."""
    head = b'--end\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=end"}
    asked = urllib.request.Request(f"{address}gradio_api/upload", head + picture + b"\r\n--end--\r\n", headers)
    return json.loads(urllib.request.urlopen(asked).read())[0]


def test_a_forged_upload_opens_no_file_and_asks_no_address(served, tmp_path):
    picture = (inputs.EXAMPLES / "scene.png").read_bytes()
    (tmp_path / "secret.png").write_bytes(picture)

    def answer(path):
        sent = [{"image": {"path": path, "meta": {"_type": "gradio.FileData"}}, "caption": None}]
        data = ["clip_s", None, "embedded", "A dog.", "", "", sent, None]
        return joined(served, number_of(served, "scored"), data)

    assert answer(uploaded(served, picture))["success"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/x.png"
        for path in (str(tmp_path / "secret.png"), "file:///etc/hostname", address):
            refused = answer(path)
            assert not refused["success"]
            assert "vlgauge-page" not in json.dumps(refused)
        with pytest.raises(TimeoutError):
            listener.accept()


def test_only_scores_can_be_called_and_models_take_turns(built):
    page = built()
    public = {one.api_name for one in page.fns.values() if one.api_visibility == "public"}
    assert "score" in public
    assert public <= {"score", "score_dataset"}
    models = [one for one in page.fns.values() if one.concurrency_id == "model"]
    assert len(models) >= 4
    assert {one.concurrency_limit for one in models} == {1}
    assert page._queue.max_size == 20


def test_files_of_visitors_are_deleted_when_they_are_old(built, monkeypatch, tmp_path):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    page = built()
    file = next(one for one in page.blocks.values() if isinstance(one, gr.File) and not one.interactive)
    # As an answer with files goes out.
    path = file.move_resource_to_block_cache(*kept_files.kept({"scores.json": "{}"}))
    assert [str(one) for one in tmp_path.rglob("*") if one.is_file()] == [path]
    delete_files_created_by_app(page, 3600)
    assert os.path.exists(path)
    delete_files_created_by_app(page, None)
    assert not os.path.exists(path)
    assert page.delete_cache == (3600, 3600)


def test_four_visitors_at_once_get_the_numbers_of_one(served):
    story, captions = ["We ran home.", "We ran home again."], ["A dog ran.", "A dog sat.", "Dogs ran home."]
    calls = [
        {"metric": "rovist_nr", "predictions": story},
        {"metric": "trm", "predictions": captions, "references": captions[::-1]},
        {"metric": "bleu", "predictions": "A dog ran home today.", "references": ["A dog ran home now."]},
        {"metric": "meteor", "predictions": "A dog ran home.", "references": ["The dog ran home."]},
    ]
    together = threading.Barrier(4)

    def visit(call):
        visitor = Client(served, verbose=False)
        together.wait()
        return [visitor.predict(**call, api_name="/score")["score"] for _ in range(3)]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(visit, calls))
    for call, scores in zip(calls, found, strict=True):
        name = call["metric"]
        cells = {column: [cell] for column, cell in call.items() if column != "metric"}
        expected = vlgauge.load(name, profile="embedded").compute(**cells)[name]
        assert scores == [expected] * 3
