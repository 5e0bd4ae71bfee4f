"""The last tab: models, citations, and calls that run unchanged."""

import base64
import json
import os
import shutil
import subprocess
import urllib.parse

import gradio as gr
import pytest
from starlette.requests import Request

import vlgauge
from vlgauge.api.prefetch import assets
from vlgauge.core.catalog import metric_facts, metric_names
from vlgauge.core.signatures import DEMO_NUMBERS
from vlgauge.explain.examples import IMAGES
from vlgauge_workbench import about, inputs, profiles, scoring, snippets

CALLED = [("rovist_nr", ""), ("clip_s", "image"), ("clip_s", "video")]


def asked(address, *headers):
    """Return a request as the queue receives it from a page at an address."""
    parts = urllib.parse.urlsplit(address)
    sent = [(b"host", parts.netloc.encode()), *headers]
    scope = {"type": "http", "method": "POST", "path": "/gradio_api/queue/join", "headers": sent, "query_string": b""}
    return gr.Request(Request(scope | {"scheme": parts.scheme, "root_path": ""}))


def told(name, config, request):
    return about.updates(scoring.metric_of(name, config=config), request)


def expected(name, config):
    example = inputs.examples_for(scoring.metric_of(name, config=config))[0].cells
    metric = vlgauge.load(name, config or None, profile="embedded")
    return metric.compute(**{one.name: [example[one.name]] for one in metric.columns if example.get(one.name)})


@pytest.mark.parametrize(("name", "config"), CALLED)
def test_python_of_the_tab_scores_the_bundled_example(served, name, config, monkeypatch, capsys):
    monkeypatch.chdir(IMAGES)
    code = told(name, config, asked(served))[1]
    assert repr(served) in code
    exec(compile(code, "about", "exec"), {})
    printed, result = capsys.readouterr().out.splitlines()[-1], expected(name, config)
    number, signature = printed.split(" ", 1)
    assert float(number) == pytest.approx(result[name], rel=1e-5)
    assert signature == result[f"{name}_signature"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl is installed")
@pytest.mark.parametrize(("name", "config"), CALLED[1:2])
def test_shell_of_the_tab_scores_the_bundled_example(served, name, config):
    code = told(name, config, asked(served))[2]
    run = subprocess.run(["sh", "-c", code], cwd=IMAGES, capture_output=True, text=True, check=True)
    (answer,) = json.loads(run.stdout.split("data: ")[-1])
    assert answer["score"] == pytest.approx(expected(name, config)[name], rel=1e-5)


def test_text_of_a_caption_cannot_leave_the_quotes_of_the_shell(tmp_path, monkeypatch):
    words = {"metric": "bleu", "predictions": 'it\'s $(touch x) `y` "z" \\n', "images": ["a b.png"]}
    (tmp_path / "a b.png").write_bytes(b"picture")
    (tmp_path / "curl").write_text('#!/bin/sh\ncase "$*" in *-d*) cat >sent.json; echo \'{"event_id":"1"}\';; esac\n')
    (tmp_path / "curl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    subprocess.run(["sh", "-c", about.shell_call(words, "http://127.0.0.1:1/")], cwd=tmp_path, check=True)
    sent = json.loads((tmp_path / "sent.json").read_text("utf-8"))
    assert sent == words | {"images": [base64.b64encode(b"picture").decode()]}


def test_address_is_that_of_the_proxy():
    forwarded = [(b"x-forwarded-host", b"org-space.hf.space"), (b"x-forwarded-proto", b"https")]
    assert about.address_of(asked("http://127.0.0.1:7860", *forwarded)) == "https://org-space.hf.space/"


@pytest.mark.parametrize("name", metric_names())
def test_every_metric_has_a_citation_and_says_what_its_profiles_need(name):
    notes, python, shell, dataset, paper = told(name, "", asked("http://127.0.0.1:7860"))
    assert ("/score_dataset" in dataset) == ("# Clips" not in dataset)
    assert paper.startswith("@"), "'Citation' of the card must be a block of bibtex"
    assert f"'{name}'" in python
    assert notes.startswith(f"Languages: {metric_facts(name).supported_languages}.\n")
    assert "needs no model" in notes or f"vlgauge prefetch {name}" in notes
    # The user replaces the names of files and columns.
    has_files = {"images", "videos"} & {column.name for column in scoring.metric_of(name).columns}
    for code in (python, shell):
        assert ("by your own" in code) == bool(has_files)
    assert "by your own" in dataset
    assert shell.removeprefix(f"{snippets.OWN_FILES}\n").startswith("event=$(")


def test_missing_models_are_named_and_not_fetched(monkeypatch):
    monkeypatch.setattr(profiles, "is_there", lambda asset: not isinstance(asset, assets.HubFiles))
    with pytest.raises(ValueError, match=r"^`profile`.*'embedded'.*1 missing"):
        scoring.metric_of("clip_s", "paper")
    assert "- **missing**: timm/vit_base_patch32" in profiles.profile_note("clip_s", "paper")
    assert f"Its scores {DEMO_NUMBERS}." in profiles.profile_note("clip_s", "embedded")


@pytest.mark.parametrize(
    ("name", "has_demo"),
    [
        ("fleur", True),
        ("vqascore", True),
        ("dsg", True),
        ("clair", True),
        ("rovist_vg", True),
        ("polos", True),
        ("mmd_bert", False),
    ],
)
def test_demo_models_are_called_so(name, has_demo):
    note = profiles.profile_note(name, "embedded")
    assert note == (profiles.DEMO_NOTE if has_demo else "The published model comes with the installed packages.")
