"""`vlgauge agreement`."""

import json
import math

import pytest

from vlgauge.cli import main
from vlgauge.stats import FEW_MARK, FEW_NOTE
from vlgauge.stats.rating_agreement import PVALUE_NOTE, agreement

STORIES = [
    "We went to the fair. The lights came on.",
    "We went. We went. We went.",
    "A band played. Rain ended the day.",
    "The dog ran home. The dog ran home.",
    "One.",
]
RATINGS = [4, 1, 4.5, 2, 3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = [
        {"id": f"s{k}", "story": story, "human": RATINGS[k], "people": [RATINGS[k], None, 1], "rank": 6 - RATINGS[k]}
        | {"own": RATINGS[k] ** 2, "scene": k // 2, "empty": None if k else 3.0}
        for k, story in enumerate(STORIES)
    ]
    (tmp_path / "rated.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return main(["agreement", "rated.jsonl", "--resamples", "50", "--no-progress", *words])


def test_scored_here(folder, capsys):
    assert run("--ratings", "human", "--metrics", "rovist_nr", "--predictions", "story", "--output", "out.json") == 0
    out = capsys.readouterr().out
    assert "rovist_nr \N{UPWARDS ARROW}" in out
    assert "rovist_nr: rows without a score or a rating, left out: 1" in out
    assert out.splitlines()[-1].startswith("rovist_nr|v:")
    record = json.loads((folder / "out.json").read_text())
    found = record["agreement"]["rovist_nr"]
    assert (found["n"], found["n_dropped"], record["unmatched"]) == (4, 1, {"rovist_nr": 0})
    assert found["correlations"]["tau_c"]["value"] == pytest.approx(1.0)


def test_columns_rankings_groups_and_several_raters(folder, capsys):
    assert run("--rankings", "rank", "--scores", "own,human", "--groups", "scene", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)["agreement"]
    expected = agreement([x**2 for x in RATINGS], RATINGS, groups=[0, 0, 1, 1, 2], resamples=50)
    assert found["own"]["correlations"]["pearson"]["value"] == pytest.approx(expected.correlations["pearson"].value)
    assert found["own"]["correlations"]["pearson"]["low"] == pytest.approx(expected.correlations["pearson"].low)
    assert run("--rankings", "rank", "--scores", "own", "--groups", "scene") == 0
    assert "the intervals resample whole groups of scene; p treats all rows as independent" in capsys.readouterr().out
    assert found["human"]["correlations"]["tau_b"]["value"] == pytest.approx(1.0)
    assert run("--ratings", "people", "--scores", "own", "--format", "markdown") == 0
    assert "| own | 1.0000 [" in capsys.readouterr().out


def test_few_rows_have_a_mark_and_an_exact_pvalue(folder, capsys):
    assert run("--ratings", "human", "--scores", "human") == 0
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("human"))
    assert row.count(FEW_MARK) == 4
    assert row.split()[-2:] == ["0.0167", "5"]  # 2 of 5! pairings
    assert f"{FEW_MARK} {FEW_NOTE}." in lines
    assert any(PVALUE_NOTE in line for line in lines)


def test_a_file_of_scores_is_joined_by_id(folder, capsys):
    assert main(["score", "rovist_nr", "rated.jsonl", "--predictions", "story", "--output", "scores.json"]) == 0
    scores = json.loads((folder / "scores.json").read_text())
    scores["ids"] = ["s4", "s3", "s2", "s1", "elsewhere"]
    scores["rovist_nr_scores"] = [5.0, 2.0, 4.5, 1.0, 9.0]
    (folder / "scores.json").write_text(json.dumps(scores))
    capsys.readouterr()
    assert run("--ratings", "human", "--run", "scores.json") == 0
    out = capsys.readouterr().out
    assert "rovist_nr: ids in only one file: 2" in out
    assert "rovist_nr: rows without a score or a rating, left out: 1" in out
    expected = agreement([math.nan, 1.0, 4.5, 2.0, 5.0], RATINGS, resamples=50).correlations["tau_b"]
    assert f"{expected.value:.4f} [{expected.low:.4f}, {expected.high:.4f}]{FEW_MARK}" in out


def test_lower_is_better_and_undefined_are_told(folder, capsys):
    (folder / "run.json").write_text(
        json.dumps({"ids": [f"s{k}" for k in range(5)], "d_hm": 1, "d_hm_scores": [1] * 5, "d_hm_signature": "d_hm|x"})
    )
    assert run("--ratings", "human", "--run", "run.json") == 0
    out = capsys.readouterr().out
    assert "d_hm: lower is better, so that agreement is below 0" in out
    assert "d_hm: undefined without two different scores and two different ratings" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ratings", "human"], "one of the arguments --metrics --scores --run is required"),
        (["--scores", "own"], "one of the arguments --ratings --rankings is required"),
        (["--ratings", "human", "--scores", "own,own"], "--scores must have each name once, got 'own' more than"),
        (["--ratings", "human", "--scores", ","], "--scores must be one or more names, separated by"),
        (["--ratings", "human", "--scores", "own", "--profile", "embedded"], "require --metrics"),
        (["--ratings", "human", "--run", "rated.jsonl"], "--run must be a file that `vlgauge score --output` wrote"),
        (
            ["--ratings", "human", "--scores", "own", "--id", "scene"],
            "that names each row once, got '0' more than once",
        ),
        (["--rankings", "story", "--scores", "own"], "--rankings must be a column of finite numbers, got 'We went"),
        (["--ratings", "human", "--scores", "story"], "`story` must contain finite numbers"),
    ],
)
def test_wrong_options_are_one_line(folder, words, message, capsys):
    try:
        code = run(*words)
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("empty", ["", " "])
def test_rows_without_a_group_are_refused(tmp_path, monkeypatch, capsys, empty):
    monkeypatch.chdir(tmp_path)
    lines = [f"s{k},{k},{k**2},{empty if k > 1 else 'fair'}" for k in range(5)]
    (tmp_path / "rated.csv").write_text("\n".join(["id,human,own,scene", *lines]), encoding="utf-8")
    assert main(["agreement", "rated.csv", "--ratings", "human", "--scores", "own", "--groups", "scene"]) == 2
    told = capsys.readouterr().err
    assert "--groups must be a column with a value in every row, got 'scene', which is missing in row 's2'" in told
