"""Relative paths of pictures in a file of examples."""

import json
from pathlib import Path

import pytest
from PIL import Image

from vlgauge.cli import main
from vlgauge.media.tables import located


def test_what_is_located(tmp_path):
    folder = tmp_path / "data"
    cells = ["a.png", "/b.png", ["c.png", "d/e.png"], {"path": "f.mp4", "start": 1.0}, {"frames": ["g.png"]}, None, 3]
    columns = {"images": cells, "videos": None, "predictions": ["a.png"]}
    found = located(columns, str(folder / "rows.jsonl"))
    here = [str(folder / name) for name in ("a.png", "c.png", "d/e.png", "f.mp4", "g.png")]
    assert found["images"] == [
        here[0],
        "/b.png",
        [here[1], here[2]],
        {"path": here[3], "start": 1.0},
        {"frames": [here[4]]},
        None,
        3,
    ]
    assert (found["videos"], found["predictions"]) == (None, ["a.png"])


def test_addresses_stay_as_they_are():
    cells = ["https://example.org/a.png", "data:image/png;base64,AAAA", "DATA:image/png;base64,AAAA"]
    assert located({"images": cells}, "rows.jsonl")["images"] == cells


def test_standard_input_starts_at_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert located({"videos": ["a.mp4"]}, "-")["videos"] == [str(tmp_path / "a.mp4")]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_score_finds_the_pictures_beside_the_file(tmp_path, monkeypatch, capsys, elsewhere):
    (tmp_path / "rows" / "pictures").mkdir(parents=True)
    Image.new("RGB", (8, 8), "red").save(tmp_path / "rows" / "pictures" / "red.png")
    row = {"predictions": "a red picture", "images": "pictures/red.png"}
    (tmp_path / "rows" / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path if elsewhere else tmp_path / "rows")
    file = Path("rows") / "rows.jsonl" if elsewhere else Path("rows.jsonl")
    assert main(["score", "clip_s", str(file), "--profile", "embedded", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["clip_s_undefined"] == 0


def test_address_in_a_file_is_refused_as_one(tmp_path, capsys):
    row = {"predictions": "a", "images": "https://example.org/a.png"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert main(["score", "clip_s", str(tmp_path / "rows.jsonl"), "--profile", "embedded"]) == 2
    assert "must be a local file, got the address 'https://example.org" in capsys.readouterr().err
