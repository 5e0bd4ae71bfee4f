"""Suggested columns if no column is named: possible columns, never names or numbers of rows."""

import numpy as np
import pytest

from vlgauge.api.suggestions import suggest_columns
from vlgauge.cli import main
from vlgauge.families.base.columns import Captions, Images, References, Story, Text
from vlgauge.families.base.components import Components
from vlgauge.families.base.video_columns import Videos

ROWS = [
    {
        "image_id": "a dog on a leash",
        "imageId": "a cat",
        "key": "two words",
        "number": i,
        "digits": str(i),
        "hash": "ab12",
        "code": f"a{i}",
        "path": f"pictures/{i}",
        "file": f"{i}.png",
        "url": f"https://example.org/a picture {i}",
        "clip": f"clips/{i}.mp4",
        "kind": "right",
        "text": "a dog runs",
        "sentences": ["A dog runs.", "It stops."],
        "none": None,
        "pixels": np.zeros((2, 2, 3), np.uint8),
        "parts": {"groovist": 1.0, "rovist_c": 0.5},
        "numbers": [1, 2],
        7: "a title that is no text",
    }
    for i in range(3)
]
FITTING = {
    "caption": (Text("predictions"), ["text"]),
    "story": (Story("predictions"), ["text", "sentences"]),
    "set": (Captions("predictions"), ["sentences"]),
    "references": (References("references"), ["text", "sentences"]),
    "pictures": (Images("images"), ["file", "pixels"]),
    "clips": (Videos("videos"), ["clip"]),
    "styles": (Text("styles"), ["code", "kind"]),
    "components": (Components("predictions"), ["parts"]),
}


@pytest.mark.parametrize("case", FITTING)
def test_only_what_can_be_the_column_is_suggested(case):
    column, expected = FITTING[case]
    assert [title for title, _ in suggest_columns(ROWS, column, [])] == expected


def test_columns_that_are_taken_are_not_suggested_again():
    assert suggest_columns(ROWS, Text("predictions"), ["text"]) == [("kind", "right")]


def test_a_title_that_nobody_types_is_not_suggested():
    rows = [{"x" * n: "a dog runs" for n in (100, 101)}]
    assert suggest_columns(rows, Text("predictions"), []) == [("x" * 100, "a dog runs")]


def test_a_cell_that_does_not_fit_rules_its_column_out():
    rows = [{"said": "a dog"}, {"said": 3.0}]
    assert suggest_columns(rows, Text("predictions"), []) == []
    assert suggest_columns([{"said": "a dog"}, {"said": None}], Text("predictions"), []) == [("said", "a dog")]


def test_a_command_names_the_option_with_the_first_cell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("id,what it says,refs\n1,a dog runs,a dog\n2,a cat,a cat\n", encoding="utf-8")
    assert main(["score", "rouge_l", "rows.csv"]) == 2
    told = capsys.readouterr().err
    assert told.endswith(
        "got row 0 with: id, what it says, refs; choose with --predictions 'what it says' ('a dog runs') or "
        "--predictions refs ('a dog')\n"
    )


def test_several_columns_of_references_are_offered_together(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(
        "predictions,ref1,ref2\na dog runs,a dog,the dogs\na cat,a cat,the cats\n", "utf-8"
    )
    assert main(["score", "rouge_l", "rows.csv"]) == 2
    assert capsys.readouterr().err.endswith(
        "--references ref2 ('the dogs') or --references ref1,ref2 for all of them\n"
    )
    assert main(["score", "rouge_l", "rows.csv", "--references", "ref1,ref2"]) == 0


@pytest.mark.parametrize(("name", "offered"), [("clip_s", True), ("polos", False)])
def test_videos_in_place_of_images_are_told(name, offered, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"predictions": "a dog", "videos": "a.mp4", "references": ["a dog"]}\n')
    assert main(["score", name, "rows.jsonl", *(["--profile", "embedded"] if offered else [])]) == 2
    told = "; score the videos with --config video, or choose with --images COLUMN\n"
    assert capsys.readouterr().err.endswith(told) == offered
