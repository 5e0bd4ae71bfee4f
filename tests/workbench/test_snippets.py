"""Copied code gives the scores of the page: from Python, from the command line, and by URL."""

import html
import json
import re
import shlex
import subprocess
from urllib.parse import parse_qs

import pytest

from vlgauge.cli import main
from vlgauge.core.catalog import metric_names
from vlgauge.explain.examples import IMAGES
from vlgauge_workbench import score_tab, scoring, snippets
from vlgauge_workbench.bundled_scores import list_bundled

FORMS = [(name, config) for name in metric_names() for config in scoring.metric_of(name).configs or ("",)]


def cells_of(name, config, number=1):
    return list_bundled(name, "embedded", config)[number].example.cells


@pytest.mark.parametrize(("name", "config"), FORMS)
def test_pasted_python_gives_the_number(name, config, capsys):
    cells = cells_of(name, config)
    text = snippets.snippets(name, "embedded", config, cells)["Python"].text
    exec(compile(text, "pasted", "exec"), {})
    expected = list_bundled(name, "embedded", config)[1].score
    assert float(capsys.readouterr().out) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("name", "config"), FORMS)
def test_a_pasted_command_gives_the_number(name, config, tmp_path, monkeypatch, capsys):
    found = snippets.snippets(name, "embedded", config, cells_of(name, config))["CLI"]
    if not found.text:
        assert name in ("cider", "spider")
        assert "cannot contain document frequencies" in found.why_not
        return
    monkeypatch.chdir(tmp_path)
    *shell, command, _ = found.text.split("\n")
    # A shell writes the row, and the command runs in this process.
    lines = [f"images={shlex.quote(str(IMAGES))}" if line.startswith("images=") else line for line in shell]
    subprocess.run(["sh", "-c", "\n".join(lines)], check=True)
    main(shlex.split(command)[1:])
    assert float(capsys.readouterr().out.split()[-1]) == pytest.approx(
        list_bundled(name, "embedded", config)[1].score, abs=6e-5
    )


def test_quotes_and_signs_of_the_shell_stay_text(tmp_path, monkeypatch):
    cells = {"predictions": 'It\'s "$HOME" `ls` \\n $(id).', "references": ["It's."]}
    text = snippets.snippets("rouge_l", "embedded", "", cells)["CLI"].text
    monkeypatch.chdir(tmp_path)
    subprocess.run(["sh", "-c", text.rsplit("vlgauge score", 1)[0]], check=True)
    assert json.loads((tmp_path / "row.jsonl").read_text("utf-8")) == cells


@pytest.mark.parametrize(("name", "config"), [("groovist", ""), ("clip_s", "video"), ("trm", "")])
def test_a_link_names_what_differs_from_its_example(name, config):
    (example, *_) = [one.example for one in list_bundled(name, "embedded", config)]
    expected = {"metric": [name], "example": ["right"]} | ({"config": [config]} if config else {})
    query = snippets.link(name, "embedded", config, example.cells, example)
    assert parse_qs(query[1:]) == expected
    other = dict(example.cells) | {"predictions": ["A dog ran.", "It sat & lay."]}
    query = snippets.link(name, "embedded", config, other, example)
    assert parse_qs(query[1:]) == expected | {"predictions": ["A dog ran.\nIt sat & lay."]}


def test_there_is_no_link_to_images_of_a_visitor_or_to_a_book(tmp_path):
    (example, *_) = [one.example for one in list_bundled("clip_s", "embedded", "image")]
    (tmp_path / "mine.png").write_bytes(b"mine")
    cells = dict(example.cells)
    assert snippets.link("clip_s", "embedded", "", cells | {"images": [str(tmp_path / "mine.png")]}, example) == ""
    assert snippets.link("clip_s", "embedded", "", cells | {"predictions": "a " * 2000}, example) == ""


def test_files_of_a_visitor_go_by_their_names(tmp_path):
    cells = {"predictions": "a dog", "images": [str(tmp_path / "its mine.png")]}
    found = snippets.snippets("clip_s", "embedded", "image", cells)
    for text in (found["Python"].text, found["CLI"].text):
        assert "by your own" in text
        assert str(tmp_path) not in text
        assert "its mine.png" in text


def test_an_own_text_is_copied_and_linked_as_it_was_scored():
    page, _ = score_tab.score_fields("rovist_nr", "", "embedded", "We ran. We ran home.", "", "", None, None, 1)
    (query,) = re.findall('data-url="(.*?)"', page)
    assert parse_qs(html.unescape(query)[1:]) == {
        "metric": ["rovist_nr"],
        "example": ["subtle"],
        "predictions": ["We ran. We ran home."],
    }
    copied = [html.unescape(one) for one in re.findall('data-copy="(.*?)"', page, re.DOTALL)]
    cells = {"predictions": "We ran. We ran home."}
    assert copied == [one.text for one in snippets.snippets("rovist_nr", "embedded", "", cells).values()]
    assert all("\n" in one for one in copied)


@pytest.mark.parametrize("name", ["bleu", "cider"])
def test_copied_code_and_link_name_the_tokenizer(name, tmp_path, monkeypatch, capsys):
    cells = cells_of(name, "")
    one = list_bundled(name, "embedded", "", "char")[1]
    assert one.score != list_bundled(name, "embedded", "")[1].score
    copied = snippets.snippets(name, "embedded", "", cells, "char")
    exec(compile(copied["Python"].text, "pasted", "exec"), {})
    assert float(capsys.readouterr().out) == pytest.approx(one.score, rel=1e-5)
    assert "tokenizer=char" in snippets.link(name, "embedded", "", cells, one.example, "char")
    if name == "cider":  # its document frequencies are not in a file
        return
    monkeypatch.chdir(tmp_path)
    *shell, command, _ = copied["CLI"].text.split("\n")
    assert "--set tokenizer=char" in command
    subprocess.run(["sh", "-c", "\n".join(shell)], check=True)
    main(shlex.split(command)[1:])
    assert float(capsys.readouterr().out.split()[-1]) == pytest.approx(one.score, abs=6e-5)
