"""Output files of commands: their formats, and errors before any work."""

import csv
import json
import math
import os

import pyarrow.parquet as pq
import pytest

from vlgauge.cli import main, outputs
from vlgauge.inputs.tables.files import read_rows

STORIES = [
    {"id": "a", "predictions": "A dog ran. The dog ran. It was a dog."},
    {"id": '=cmd|"x", y', "predictions": "one sentence"},
    {"id": "c\n2", "predictions": "A cat sat. A band played on."},
]


@pytest.fixture
def stories(tmp_path, monkeypatch):
    """A file of three stories in the working folder. The second story has no score."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in STORIES), encoding="utf-8")
    return tmp_path


def score(capsys, *words, metric="rovist_nr"):
    assert main(["score", metric, "rows.jsonl", *words]) == 0
    return capsys.readouterr()


def result(capsys):
    return json.loads(score(capsys, "--format", "json").out)


def test_csv_has_a_row_per_example_and_all_digits(stories, capsys):
    whole = result(capsys)
    said = score(capsys, "--output", "out.csv").err.splitlines()
    with open("out.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"].removeprefix("'") for row in rows] == whole["ids"] == [story["id"] for story in STORIES]
    assert [row["rovist_nr"] for row in rows] == [
        repr(whole["rovist_nr_scores"][0]),
        "",
        repr(whole["rovist_nr_scores"][2]),
    ]
    assert (stories / "out.csv").read_text("utf-8").splitlines()[2] == """"'=cmd|""x"", y","""
    assert said[:2] == ["wrote out.csv", "wrote out.csv.json"]
    assert said[2].endswith("has ids that spreadsheets would interpret as formulas; they begin with ' in the file")


def test_what_is_no_column_stands_next_to_the_table(stories, capsys):
    whole = result(capsys)
    score(capsys, "--output", "out.csv")
    score(capsys, "--output", "out.jsonl")
    rest = json.loads((stories / "out.csv.json").read_text("utf-8"))
    assert rest == {key: value for key, value in whole.items() if key not in ("ids", "rovist_nr_scores")}
    assert rest["rovist_nr_signature"].startswith("rovist_nr|")
    assert json.loads((stories / "out.jsonl.json").read_text("utf-8")) == rest


def test_jsonl_has_null_for_undefined(stories, capsys):
    whole = result(capsys)
    score(capsys, "--output", "out.jsonl")
    rows = read_rows("out.jsonl")
    assert [row["rovist_nr"] for row in rows] == whole["rovist_nr_scores"]
    assert rows[1] == {"id": STORIES[1]["id"], "rovist_nr": None}


def test_parquet_holds_the_rest_as_metadata(stories, capsys):
    whole = result(capsys)
    score(capsys, "--output", "out.parquet")
    table = pq.read_table("out.parquet")
    assert table.to_pydict() == {"id": whole["ids"], "rovist_nr": whole["rovist_nr_scores"]}
    assert str(table.schema.field("rovist_nr").type) == "double"
    rest = json.loads(table.schema.metadata[b"vlgauge"])
    assert rest["rovist_nr"] == whole["rovist_nr"]
    assert sorted(path.name for path in stories.iterdir()) == ["out.parquet", "rows.jsonl"]


def test_several_metrics_and_lists_next_to_the_scores(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    row = {"predictions": ["a dog ran", "a cat"], "references": ["a dog", "the dog ran", "a fox"]}
    (tmp_path / "rows.jsonl").write_text(2 * (json.dumps(row) + "\n"), encoding="utf-8")
    words = ["--set", "pvalue=exact", "--output", "out.csv"]
    score(capsys, *words, metric="trm")
    rows = read_rows("out.csv")
    assert list(rows[0])[:2] == ["id", "trm"]
    assert float(rows[0]["trm_pvalues"]) == float(rows[1]["trm_pvalues"])
    assert rows[1]["id"] == "1"


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_both_ends_of_an_interval_are_no_cells_of_two_rows(tmp_path, monkeypatch, capsys, ending):
    monkeypatch.chdir(tmp_path)
    row = {"predictions": ["a dog ran", "a cat"], "references": ["a dog", "the dog ran", "a fox"]}
    (tmp_path / "rows.jsonl").write_text(2 * (json.dumps(row) + "\n"), encoding="utf-8")
    score(capsys, "--set", "pvalue=exact", "--output", f"out{ending}", metric="trm")
    assert not [title for title in read_rows(f"out{ending}")[0] if "interval" in title]
    if ending == ".parquet":
        metadata = json.loads(pq.read_metadata("out.parquet").metadata[b"vlgauge"])
    else:
        metadata = json.loads((tmp_path / f"out{ending}.json").read_text("utf-8"))
    assert len(metadata["trm_excess_interval"]) == len(metadata["trm_separate_excess_interval"]) == 2


def test_table_of_scores_is_what_d_hm_reads(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = ("groovist", "rovist_c", "rovist_nr")
    record = {"ids": [1, 2]} | {f"{name}_scores": [0.25, 0.5] for name in names} | {name: 0.375 for name in names}
    for ending in (".csv", ".parquet", ".jsonl"):
        outputs.write_result(f"out{ending}", record)
        assert main(["d-hm", f"out{ending}", f"out{ending}", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["d_hm_scores"] == [0.0, 0.0]


@pytest.mark.parametrize("ids", [[1, "a"], [2**70, 1], [[1], {"b": None}], ["\ud800", "ä"], [True, None]])
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_every_id_finds_a_place(tmp_path, monkeypatch, ids, ending):
    monkeypatch.chdir(tmp_path)
    outputs.write_result(f"out{ending}", {"ids": ids, "m_scores": [1.0, math.inf]})
    written = [str(row["id"]) for row in read_rows(f"out{ending}")]
    expected = [one if isinstance(one, str) else json.dumps(one) for one in ids]
    assert written == [one.encode("utf-8", "backslashreplace").decode() for one in expected]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--output", "out.txt"], "--output must end in one of .json, .csv, .jsonl, .parquet, got 'out.txt'"),
        (["--output", "out"], "--output must end in one of .json, .csv, .jsonl, .parquet, got 'out'"),
        (["--output", "no/out.csv"], "--output must be a file in an existing folder, got 'no/out.csv'"),
        (["--output", "folder.csv"], "--output must be a file in an existing folder, got 'folder.csv'"),
        (["--output", "second.csv"], "--output must be a file in an existing folder, got 'second.csv.json'"),
        (["--output", "rows.jsonl"], "--output must be a different file from FILE, got 'rows.jsonl' for both"),
        (["--output", "o.csv", "--details"], "--output must end in .json with --details, which do not fit in a table"),
    ],
)
def test_output_is_refused_before_the_file_is_read(stories, capsys, monkeypatch, words, message):
    (stories / "folder.csv").mkdir()
    (stories / "second.csv.json").mkdir()
    monkeypatch.setattr("vlgauge.cli.score.read_rows", None)
    assert main(["score", "rovist_nr", "rows.jsonl", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["d-hm", "a.csv", "b.csv", "--output", "out.csv"], "--output must end in .json, got 'out.csv'"),
        (["sensitivity", "a.csv", "--output", "out.csv"], "--output must end in .json, got 'out.csv'"),
        (["sensitivity", "a.csv", "--plot", "out.gif"], "--plot must end in one of .png, .svg, .pdf, got 'out.gif'"),
        (["grounding", "fit-theta", "a.csv", "--theta", "t.txt"], "--theta must end in .json, got 't.txt'"),
        (["grounding", "random-pairs", "a.csv", "--output", "o.csv"], "--output must end in .json, got 'o.csv'"),
        (
            ["protocol", "foil", "a", "--metric", "clip_s", "--output", "o.csv"],
            "--output must end in .json, got 'o.csv'",
        ),
        (["protocol", "foil", "a", "--write-rows", "o.csv"], "--write-rows must end in .jsonl, got 'o.csv'"),
    ],
)
def test_every_command_refuses_an_unknown_ending_before_it_reads(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert capsys.readouterr().err == f"vlgauge {words[0]}: error: {message}\n"


def test_folder_that_may_not_be_written(stories, capsys, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert main(["score", "rovist_nr", "rows.jsonl", "--output", "out.json"]) == 2
    assert "--output" in capsys.readouterr().err


def test_failed_writing_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "out.json"
    target.write_text("old")
    monkeypatch.setattr(os, "replace", None)
    with pytest.raises(TypeError):
        outputs.write_output(target, "new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_plot_without_matplotlib_is_told_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("vlgauge.cli.drawing.find_spec", lambda name: None)
    assert main(["sensitivity", "missing.jsonl", "--plot", str(tmp_path / "out.png")]) == 2
    assert "--plot" in capsys.readouterr().err
