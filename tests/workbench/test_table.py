"""A file by one metric, as `compute` scores it."""

import json

import gradio as gr
import pytest
from folders import EXAMPLES

import vlgauge
from vlgauge.leaderboard import read_run
from vlgauge.media.tables import read_rows
from vlgauge.workbench import table


def chosen(**titles):
    return [titles.get(name, table.NONE) for name in ("predictions", "references", "styles", "images", "videos", "id")]


def files_of(answer):
    return {path.rpartition("/")[2]: path for path in answer[1]["value"]} if isinstance(answer[1], dict) else answer[1]


@pytest.fixture
def kept(monkeypatch):
    """Names and paths of the files to keep."""
    paths = {}
    usual = table.written

    def written(found):
        paths.update({path.rpartition("/")[2]: path for path in usual(found)})
        return list(paths.values())

    monkeypatch.setattr(table, "written", written)
    return paths


def test_scores_of_a_file_are_those_of_compute(kept):
    path = str(EXAMPLES / "stories.jsonl")
    page, _ = table.scored("rovist_nr", "", "embedded", path, None, *chosen(predictions="story", id="id"))
    rows = read_rows(path)
    expected = vlgauge.load("rovist_nr", profile="embedded").compute(predictions=[row["story"] for row in rows])
    run = read_run(kept["rovist_nr.json"], ["rovist_nr"])
    assert run["ids"] == [row["id"] for row in rows]
    assert [one for one in run["rovist_nr_scores"] if one is not None] == [
        one for one in expected["rovist_nr_scores"] if one == one
    ]
    assert sorted(kept) == ["rovist_nr.csv", "rovist_nr.csv.json", "rovist_nr.html", "rovist_nr.json"]
    assert read_run(kept["rovist_nr.csv"], ["rovist_nr"])["rovist_nr_signature"] == expected["rovist_nr_signature"]
    assert "40 of 40 rows were scored" in page


def test_titles_are_guessed():
    found = table.guessed("onlystyle", "demo", str(EXAMPLES / "styled_captions.csv"))
    assert [(one.value, one.visible) for one in found] == [
        ("caption", True),
        (table.NONE, True),
        ("style", True),
        ("picture", False),
        (table.NONE, False),
        (table.NONE, True),
    ]


def test_rows_are_left_out_with_their_reasons(kept, tmp_path):
    picture = (EXAMPLES / "scenes" / "01.png").read_bytes()
    (tmp_path / "right.png").write_bytes(picture)
    (tmp_path / "broken.png").write_bytes(picture[:40])
    rows = [
        {"id": "good", "caption": "A star.", "image": "anywhere/right.png"},
        {"id": "broken", "caption": "A star.", "image": "broken.png"},
        {"id": "server", "caption": "A star.", "image": "/etc/hostname"},
        {"id": "mapping", "caption": "A star.", "image": {"path": "/etc/hostname", "bytes": None}},
        {"id": "silent", "caption": None, "image": "right.png"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    uploads = [str(tmp_path / "right.png"), str(tmp_path / "broken.png")]
    titles = chosen(predictions="caption", images="image", id="id")
    page, _ = table.scored("clip_s", "image", "embedded", str(path), uploads, *titles)
    assert "1 of 5 rows were scored" in page
    told = {row["id"]: row["left_out"] for row in read_rows(kept["clip_s.left_out.jsonl"])}
    assert "must be a readable image" in told.pop("broken")
    refused = "must be an uploaded file, got 'hostname'; upload it beside the table"
    assert told == {
        "server": f"`images[2]` {refused}",
        "mapping": f"`images[3]` {refused}",
        "silent": "`predictions[4]` must be given, got nothing",
    }


def test_a_name_that_two_uploads_have_is_refused():
    uploads = table.uploads_by_name(["a/1.png", "b/1.png"])
    with pytest.raises(ValueError, match="must be the name of one uploaded file, got that of several"):
        table.located_cell("1.png", uploads, "images[0]")


@pytest.mark.parametrize(
    ("path", "titles", "message"),
    [
        (None, {}, "`Table` must be a file of examples, got none"),
        (str(EXAMPLES / "stories.jsonl"), {}, "`predictions` must be columns of the file, none is chosen"),
        (str(EXAMPLES / "README.md"), {}, "FILE must end in one of"),
    ],
)
def test_what_cannot_be_scored_is_one_sentence(path, titles, message):
    with pytest.raises(gr.Error) as caught:
        table.scored("rovist_nr", "", "embedded", path, None, *chosen(**titles))
    assert message in caught.value.message
