"""What visitors cannot do: too much at once, files and addresses of the server, each other's numbers."""

import base64
import json
import os
import re
import socket
import struct
import threading
import urllib.error
import urllib.request
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import gradio as gr
import pytest
from gradio.route_utils import delete_files_created_by_app
from gradio_client.exceptions import AppError

import vlgauge
from vlgauge.explain.examples import PICTURES
from vlgauge.workbench import downloads, scoring, sent_files
from vlgauge.workbench.sent_calls import Refused, check_call


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


def joined(address, number, data, session="attack"):
    """What the page would get for an event with this data."""
    body = json.dumps({"data": data, "fn_index": number, "session_hash": session}).encode()
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(f"{address}gradio_api/queue/join", body, headers)).read()
    with urllib.request.urlopen(f"{address}gradio_api/queue/data?session_hash={session}") as stream:
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


FILE = {"_type": "gradio.FileData"}


def files_of_form(address, file, caption=None):
    """What the server says to the form with this file as its picture."""
    data = ["clip_s", None, "embedded", "A dog.", "", "", [{"image": file, "caption": caption}], None, None]
    return joined(address, number_of(address, "scored"), data)


def refusal(call, *given):
    """Status and sentence of a refusal."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(*given)
    return refused.value.code, json.loads(refused.value.read())["detail"]


def test_a_forged_upload_opens_no_file_and_asks_no_address(served, tmp_path, capfd, monkeypatch):
    picture = (PICTURES / "scene.png").read_bytes()
    (tmp_path / "secret.png").write_bytes(picture)
    path = uploaded(served, picture)
    own = {"path": path, "meta": FILE, "url": f"{served}gradio_api/file={path}"}
    assert files_of_form(served, own)["success"]
    # As if this machine was the network's, where Gradio would fetch what is named.
    monkeypatch.setattr("gradio.processing_utils.PUBLIC_HOSTNAME_WHITELIST", ["127.0.0.1", "localhost"])
    capfd.readouterr()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        inside = f"http://127.0.0.1:{listener.getsockname()[1]}/x.png"
        elsewhere = inside.replace("127.0.0.1", "vlgauge.invalid")
        for file, why in (
            ({"path": str(tmp_path / "secret.png")}, "another path"),
            ({"path": f"{path}/../../../../etc/hostname"}, "another path"),
            ({"path": f"{path}.gone"}, "another path"),
            ({"path": "file:///etc/hostname"}, "an address"),
            ({"path": inside}, "an address"),
            ({"path": path, "url": elsewhere}, "the address of another server"),
            ({"path": path, "url": "http://[x"}, "a path or an address that can be none"),
            ({"path": "\0"}, "a path or an address that can be none"),
            ({}, "a file object whose path is wrong"),
            ({"path": 3}, "a file object whose path is wrong"),
            ({"path": path, "size": "large"}, "a file object whose size is wrong"),
        ):
            assert refusal(files_of_form, served, {**file, "meta": FILE}) == (
                400,
                f"a file must be one that was uploaded here, got {why}",
            )
        # Without the mark that it is a file, and where no file is.
        for file, why in (
            ({"path": str(tmp_path / "secret.png")}, "another path"),
            ({"path": inside}, "an address"),
            ({"url": inside}, "a file object whose path is wrong"),
            ("x.png", "something else for Picture"),
            (3, "something else for Picture"),
        ):
            assert (
                refusal(files_of_form, served, file)[1]
                .removeprefix("a file must be one that was uploaded here, got ")
                .startswith(why)
            )
        call = {"metric": "clip_s", "predictions": {"path": inside, "meta": FILE}}
        asked = urllib.request.Request(
            f"{served}gradio_api/call/v2/score", json.dumps(call).encode(), {"Content-Type": "application/json"}
        )
        assert refusal(urllib.request.urlopen, asked) == (
            400,
            "a file must be one that was uploaded here, got an address",
        )
        asked.data = b'{"data": ' + b"[" * 90_000 + b"]" * 90_000 + b"}"
        assert refusal(urllib.request.urlopen, asked)[1].endswith("a value with too many levels")
        with pytest.raises(TimeoutError):
            listener.accept()
    # A line for each, and no traceback.
    assert all(line.startswith("refused: ") for line in capfd.readouterr().err.splitlines())


def test_behind_a_proxy_its_name_is_the_servers(page, tmp_path, monkeypatch):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    (tmp_path / "a.png").write_bytes(b"x")
    path = str(tmp_path / "a.png")
    number = next(number for number, one in page.fns.items() if one.name == "scored")
    file = {"path": path, "meta": FILE, "url": f"https://me-space.hf.space/gradio_api/file={path}"}
    data = ["clip_s", None, "embedded", "A dog.", "", "", [{"image": file, "caption": None}], None, None]
    body = json.dumps({"data": data, "fn_index": number, "session_hash": "a"}).encode()
    for headers, is_own in (
        ([(b"host", b"127.0.0.1:7860"), (b"x-forwarded-host", b"me-space.hf.space")], True),
        ([(b"host", b"Me-Space.hf.space")], True),
        ([(b"host", b"127.0.0.1:7860")], False),
    ):
        hosts = sent_files.own_hosts({"headers": headers})
        with nullcontext() if is_own else pytest.raises(Refused, match="the address of another server"):
            check_call(page, "/gradio_api/queue/join", body, hosts)


def test_only_scores_can_be_called_and_models_take_turns(page):
    public = {one.api_name for one in page.fns.values() if one.api_visibility == "public"}
    assert "score" in public
    assert public <= {"score", "score_dataset"}
    models = [one for one in page.fns.values() if one.concurrency_id == "model"]
    assert len(models) >= 4
    assert {one.concurrency_limit for one in models} == {2}
    assert page._queue.max_size == 200


def test_files_of_visitors_are_deleted_when_they_are_old(built, monkeypatch, tmp_path):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    page = built(metric="rovist_nr")
    file = next(one for one in page.blocks.values() if isinstance(one, gr.File) and not one.interactive)
    # As an answer with files goes out.
    path = file.move_resource_to_block_cache(*downloads.kept({"scores.json": "{}"}))
    assert [str(one) for one in tmp_path.rglob("*") if one.is_file()] == [path]
    delete_files_created_by_app(page, 3600)
    assert os.path.exists(path)
    delete_files_created_by_app(page, None)
    assert not os.path.exists(path)
    assert page.delete_cache == (3600, 3600)


def test_four_visitors_at_once_get_the_numbers_of_one(served):
    """Two of the form, and two of the API."""
    story, other = ["We ran home.", "We ran home again."], ["She sat by the sea.", "A bird sang all day long."]
    captions, dogs = ["A dog ran.", "A dog sat.", "Dogs ran home."], ["A dog ran home today.", ["A dog ran home now."]]
    form, api = (number_of(served, name) for name in ("scored", "score"))
    nothing = [None, None, None]
    calls = [
        (form, ["rovist_nr", "", "embedded", " ".join(story), "", "", *nothing]),
        (form, ["rovist_nr", "", "embedded", " ".join(other), "", "", *nothing]),
        (api, ["trm", captions, captions[::-1], *nothing, "", "embedded"]),
        (api, ["bleu", *dogs, *nothing, "", "embedded"]),
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
