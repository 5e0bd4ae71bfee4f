"""`vlgauge score --record` and `vlgauge record check`."""

import json

import pytest

from vlgauge.cli import main
from vlgauge.leaderboard import read_records

WORDS = ["--record", "results.jsonl", "--model", "org/teller", "--dataset", "org/vist", "--split", "test"]


@pytest.fixture(autouse=True)
def stories(tmp_path, monkeypatch):
    """Write a file of stories to the working folder."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": i, "predictions": text} for i, text in enumerate(("A dog ran. A dog sat.", "One.", "We left. We ate."))
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def score(*words):
    return main(["score", "rovist_nr", "rows.jsonl", *words])


def test_a_score_is_recorded_once_and_checked(capsys):
    assert score(*WORDS, "--model-name", "Teller", "--source-url", "https://x.org/s", "--source-org", "org") == 0
    assert "recorded in results.jsonl: rovist_nr" in capsys.readouterr().err
    (record,) = read_records("results.jsonl")
    assert (record.model.name, record.dataset.name, record.dataset.config) == ("Teller", "vist", "default")
    assert (record.n, record.undefined, record.higher_is_better, record.source.org) == (2, 1, True, "org")
    assert score(*WORDS, "--model-name", "Teller", "--source-url", "https://x.org/s", "--source-org", "org") == 0
    assert "nothing, because all records exist already" in capsys.readouterr().err
    assert main(["record", "check", "results.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "1 record: all fields agree with metric and signature" in out
    assert "org/teller" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (WORDS[:2], "--record requires --model, --dataset, --split"),
        (WORDS[:-2], "--record requires --split"),
        (["--model-name", "x"], "--model-name requires --record FILE"),
        ([*WORDS, "--source-name", "x"], "require --source-url"),
        ([*WORDS, "--date", "today"], "`date` must be an ISO 8601 date"),
        (
            [*WORDS[:2], "--model", "teller", *WORDS[4:]],
            "`model.id` must be an id of the Hub, owner/name, got 'teller'",
        ),
        ([*WORDS, "--model-revision", "main"], "`model.revision` must be a commit of 40 hexadecimal digits or null"),
        (["--record", "results.csv", *WORDS[2:]], "--record must end in .jsonl, got 'results.csv'"),
        (["--record", "rows.jsonl", *WORDS[2:]], "--record must be a different file from FILE"),
        (["--record", "bad.jsonl", *WORDS[2:]], "line 1 of 'bad.jsonl': `record` lacks schema, metric"),
    ],
)
def test_what_cannot_be_recorded_is_refused_before_the_work(stories, capsys, words, message):
    (stories / "bad.jsonl").write_text("{}\n", encoding="utf-8")
    assert score(*words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert not (stories / "results.jsonl").exists()


def test_other_scores_are_recorded_by_their_names(stories, capsys):
    rows = [{"id": i, "predictions": "a dog on grass", "references": ["a dog", "a cat"]} for i in range(3)]
    (stories / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    words = ["score", "chair", "rows.jsonl", *WORDS]
    assert main([*words, "--record-scores", "chair_s, chair"]) == 0
    told = [(record.metric, record.title, record.higher_is_better) for record in read_records("results.jsonl")]
    assert told == [("chair_s", "CHAIRs", False), ("chair", "CHAIR", False)]
    assert main(["record", "check", "results.jsonl"]) == 0
    line = (stories / "results.jsonl").read_text("utf-8").splitlines()[0]
    (stories / "wrong.jsonl").write_text(line.replace('"higher_is_better": false', '"higher_is_better": true') + "\n")
    capsys.readouterr()
    assert main(["record", "check", "wrong.jsonl"]) == 2
    assert "chair_s, False, got True" in capsys.readouterr().err
    assert main([*words, "--record-scores", "chair_f1"]) == 2
    assert "chair_s" in capsys.readouterr().err
    assert main([*words, "--record-scores", "chaix"]) == 2
    assert "did you mean `chair`?" in capsys.readouterr().err
    assert main(["score", "chair", "rows.jsonl", "--record-scores", "chair"]) == 2
    assert "--record-scores requires --record FILE" in capsys.readouterr().err


@pytest.mark.parametrize("one", ["results.jsonl", "link.jsonl", "hard.jsonl"])
def test_records_are_not_replaced_by_the_output_of_the_same_command(stories, capsys, monkeypatch, one):
    assert score(*WORDS) == 0
    before = (stories / "results.jsonl").read_bytes()
    (stories / "link.jsonl").symlink_to("results.jsonl")
    (stories / "hard.jsonl").hardlink_to(stories / "results.jsonl")
    capsys.readouterr()
    monkeypatch.setattr("vlgauge.cli.score.read_rows", None)
    assert score(*WORDS, "--output", one) == 2
    assert f"--record, got '{one}'" in capsys.readouterr().err
    assert (stories / "results.jsonl").read_bytes() == before


def test_the_second_file_of_a_table_is_a_target_too(stories, capsys):
    (stories / "page.html").symlink_to("out.csv.json")
    assert score("--output", "out.csv", "--report", "page.html") == 2
    assert "--report, got 'out.csv.json'" in capsys.readouterr().err


def test_a_file_that_is_wrong_fails_the_check(stories, capsys):
    (stories / "bad.jsonl").write_text("{}\n", encoding="utf-8")
    assert main(["record", "check", "bad.jsonl"]) == 2
    assert "line 1 of 'bad.jsonl'" in capsys.readouterr().err
    (stories / "empty.jsonl").write_text("", encoding="utf-8")
    assert main(["record", "check", "empty.jsonl"]) == 2
    assert "got none in 'empty.jsonl'" in capsys.readouterr().err


def test_scores_are_printed_before_what_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.jsonl").write_text('{"predictions": "One sentence."}\n', encoding="utf-8")
    words = ["--record", "results.jsonl", "--model", "a/b", "--dataset", "c/d", "--split", "test"]
    assert main(["score", "rovist_nr", "one.jsonl", *words]) == 2
    found = capsys.readouterr()
    assert "rovist_nr_undefined" in found.out
    assert "rovist_nr" in found.err
    assert not (tmp_path / "results.jsonl").exists()


def checked(capsys, *words):
    code = main(["record", "check", *words])
    out, err = capsys.readouterr()
    return code, out, err


def rewritten(folder, **values):
    """Rewrite the one record with other values."""
    path = folder / "results.jsonl"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values) + "\n", encoding="utf-8")


def test_a_record_is_compared_with_its_scores(stories, capsys):
    assert score(*WORDS, "--output", "scores.csv") == 0
    capsys.readouterr()
    code, out, _ = checked(capsys, "results.jsonl")
    assert code == 0
    assert "not given" in out
    assert "pass --scores MODEL=FILE to compare them with the scores" in out
    code, out, _ = checked(capsys, "results.jsonl", "--scores", "org/teller=scores.csv")
    assert code == 0
    assert out.splitlines()[2].endswith("the same")
    assert "1 with the value and counts of their scores, 1 of these with their interval" in out
    record = json.loads((stories / "results.jsonl").read_text("utf-8"))
    rewritten(stories, scores_sha256=None)
    assert "the same, unsigned" in checked(capsys, "results.jsonl", "--scores", "org/teller=scores.csv")[1]
    rewritten(stories, ci={key: record["ci"][key] for key in ("low", "high", "level")})
    out = checked(capsys, "results.jsonl", "--scores", "org/teller=scores.csv")[1]
    assert "interval not checked: the record does not contain its method and samples and seed and groups" in out
    assert "1 with the value and counts of their scores, 0 of these with their interval" in out
    rewritten(stories, n=3, undefined=0)
    code, out, err = checked(capsys, "results.jsonl", "--scores", "org/teller=scores.csv")
    assert (code, out) == (2, "")
    assert "must have the number of scores of the record, 3, got 2" in err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("scores.csv", "--scores must be MODEL=FILE with a model of the records, got 'scores.csv'"),
        ("org/other=scores.csv", "a model of the records, got 'org/other=scores.csv'; there are 'org/teller'"),
        ("org/teller=rows.jsonl", "--scores must name a file that `vlgauge score --output` wrote, got 'rows.jsonl'"),
    ],
)
def test_what_are_no_scores_is_refused(capsys, given, message):
    assert score(*WORDS) == 0
    capsys.readouterr()
    code, _, err = checked(capsys, "results.jsonl", "--scores", given)
    assert code == 2
    assert message in err


def test_several_files_are_exported_and_what_is_in_both_once(stories, capsys):
    assert score(*WORDS) == 0
    assert score("--record", "more.jsonl", *WORDS[2:]) == 0
    other = [*WORDS[2:3], "org/other", *WORDS[4:]]
    assert score("--record", "more.jsonl", *other) == 0
    lines = (stories / "more.jsonl").read_text("utf-8")
    (stories / "more.jsonl").write_text(lines + lines, encoding="utf-8")  # duplicates in one file, too
    capsys.readouterr()
    assert main(["export", "model-index", "results.jsonl", "more.jsonl"]) == 0
    out = capsys.readouterr().out
    assert out.count("# model org/") == 2
    assert out.count("vlgauge/rovist_nr") == 2
    rewritten(stories, undefined=7)
    assert main(["export", "model-index", "results.jsonl", "more.jsonl"]) == 2
    assert "org/teller and org/vist" in (capsys.readouterr().err)


def test_scores_of_an_older_export_are_not_left_behind(stories, capsys):
    assert score(*WORDS, "--output", "scores.json") == 0
    words = ["export", "results-repository", "results.jsonl", "--repository", "org/results", "--output", "exports"]
    assert main([*words, "--scores", "org/teller=scores.json"]) == 0
    (parquet,) = (stories / "exports").rglob("*.parquet")
    own = stories / "exports/org/results/data/mine.txt"
    own.write_text("kept", encoding="utf-8")
    capsys.readouterr()
    assert main(words) == 0
    assert f"removed, because this export has no such scores: {parquet.relative_to(stories)}" in capsys.readouterr().err
    assert not parquet.exists()
    assert own.exists()
