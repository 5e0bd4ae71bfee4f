import json
import math
from contextlib import nullcontext
from dataclasses import asdict

import numpy as np
import pytest

from vlgauge.cli import main
from vlgauge.research.studies.sensitivity import human_split, rows_of_result, sensitivity, sizes_in_words
from vlgauge.stats import compute_calibrated_harmonic_pvalue

SETS = [
    {"predictions": ["a dog", "a dog", "a dog"], "references": ["a brown dog runs", "dog at play", "a hound", "a pup"]},
    {
        "predictions": ["a jet", "jets wait", "planes"],
        "references": ["a red bus", "bus stop", "they wait", "a street"],
    },
]
PREDICTIONS = [row["predictions"] for row in SETS]
REFERENCES = [row["references"] for row in SETS]


class FakeMetric:
    """A metric that returns the numbers of candidates as p-values."""

    name = "fake"

    def __init__(self):
        self.seen = []

    def among(self, captions, references, vectors, pairs):
        return nullcontext()

    def compute(self, predictions, references):
        self.seen.append((predictions, references))
        pvalues = [1 / len(captions) if captions else math.nan for captions in predictions]
        found = {"pvalue": 0.04, "z": 1.5, "excess": 0.2, "excess_interval": [0.1, 0.3], "pvalues": pvalues}
        found |= {"mean_log_pvalue": -1.5, "expected_mean_log_pvalue": -0.9}
        return {f"{prefix}_{key}": value for prefix in ("fake", "fake_base") for key, value in found.items()}


def test_sets_are_nested_and_references_whole():
    fake = FakeMetric()
    sensitivity(PREDICTIONS, REFERENCES, {"fake": fake}, sizes=[1, 3])
    assert [predictions for predictions, _ in fake.seen] == [[["a dog"], ["a jet"]], PREDICTIONS]
    assert all(references == REFERENCES for _, references in fake.seen)


def test_rows_hold_the_corpus_numbers():
    rows = sensitivity(PREDICTIONS, REFERENCES, {"my": FakeMetric()})
    assert [(row.candidates, row.metric) for row in rows] == [(k, m) for k in (1, 2, 3) for m in ("my", "my:base")]
    row = asdict(rows[4])
    assert list(row.values())[:3] == [3, "3v4", "my"]
    tested = {"pvalue": 0.04, "excess": 0.2, "excess_low": 0.1, "excess_high": 0.3, "z": 1.5}
    tested |= {"mean_log_pvalue": -1.5, "expected_mean_log_pvalue": -0.9, "significant": 0.0, "undefined": 0}
    assert {key: row[key] for key in tested} == tested
    # The corpus p is read first, and the harmonic one never in addition to it.
    assert list(row)[3:7] == ["pvalue", "excess", "excess_low", "excess_high"]
    calibrated = compute_calibrated_harmonic_pvalue([1 / 3, 1 / 3])
    assert row["details"] == {"harmonic_pvalue": 1 / 3, "calibrated_harmonic_pvalue": calibrated}
    assert not [key for key in row if "harmonic" in key]


def numbers_of(pvalues):
    corpus = ("pvalue", "z", "excess", "mean_log_pvalue", "expected_mean_log_pvalue")
    found = {f"x_{key}": math.nan for key in corpus}
    return found | {"x_pvalues": pvalues, "x_excess_interval": [math.nan, math.nan]}


def test_undefined_examples_are_counted():
    row = rows_of_result(4, [(4, 4)] * 3, "x", "x", numbers_of([math.nan, 0.05, 1.0]))[0]
    assert (row.undefined, row.significant) == (1, 0.5)
    nothing = rows_of_result(4, [(4, 4)], "x", "x", numbers_of([math.nan]))[0]
    assert math.isnan(nothing.significant)
    assert math.isnan(nothing.details["harmonic_pvalue"])


@pytest.mark.parametrize(
    ("counts", "words"), [([(5, 5)] * 2, "5v5"), ([(3, 5), (8, 9), (0, 2)], "3-8v5-9"), ([(0, 3)], ""), ([], "")]
)
def test_sizes_in_words(counts, words):
    assert sizes_in_words(counts) == words


def test_sizes_are_those_of_the_examples_that_were_tested():
    import vlgauge

    metric = vlgauge.load("trm", pvalue="exact", distance="rouge_l", mean_aggregate=True, keep_in_memory=True)
    rows = sensitivity([*PREDICTIONS, ["a cat"]], [*REFERENCES, ["one cat"]], {"trm": metric}, sizes=[1, 2])
    found = {(row.candidates, row.metric): (row.sizes, row.undefined) for row in rows}
    assert found[2, "trm"] == found[2, "trm:separate"] == ("2v4", 1)
    assert found[2, "trm:base"] == ("1-2v1-4", 0)
    assert found[1, "trm"] == ("1v1-4", 3)  # undefined for all


def test_a_metric_without_pvalues_is_refused():
    with pytest.raises(ValueError, match=r"^`metrics`.*`pvalue`"):
        rows_of_result(1, [(1, 1)], "x", "x", {"x": 1.0})


def test_sizes_below_one_are_refused():
    with pytest.raises(ValueError, match=r"^`sizes`.*at least 1.*got 0"):
        sensitivity(PREDICTIONS, REFERENCES, {}, sizes=[0])


def test_people_are_split_without_loss():
    candidates, others = human_split(REFERENCES)
    for texts, left, right in zip(REFERENCES, candidates, others, strict=True):
        assert sorted(left + right) == sorted(texts)
        assert len(left) == 2


def test_too_few_captions_cannot_be_split():
    assert human_split([["a"], []]) == ([[], []], [[], []])


def test_the_split_is_seeded_and_not_in_order():
    texts = [[str(i) for i in range(20)]]
    assert human_split(texts, seed=1) == human_split(texts, seed=1)
    assert human_split(texts, seed=1) != human_split(texts, seed=2)


def test_people_against_people_differ_no_more_than_chance():
    rng = np.random.default_rng(1)
    words = ["dog", "cat", "bird", "tree", "house", "road", "sun", "rain", "child", "woman", "man", "ball", "park"]
    references = [[" ".join(rng.choice(words, 6)) for _ in range(8)] for _ in range(60)]
    import vlgauge

    metric = vlgauge.load("trm", pvalue="exact", distance="rouge_l", keep_in_memory=True)
    row = sensitivity(*human_split(references), {"trm": metric}, sizes=[4])[0]
    assert row.mean_log_pvalue == pytest.approx(row.expected_mean_log_pvalue, abs=0.3)
    assert row.expected_mean_log_pvalue > -0.95
    assert abs(row.z) < 4
    assert row.excess_low < 0.0 < row.excess_high


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sets.jsonl"
    path.write_text("\n".join(map(json.dumps, SETS)), "utf-8")
    return path


def test_the_command_prints_writes_and_draws(file, tmp_path, capsys):
    out, plot = tmp_path / "rows.json", tmp_path / "rows.svg"
    command = ["sensitivity", str(file), "--metrics", "trm,trm:distance=rouge_l;ties=paper", "--sizes", "1,3"]
    assert main([*command, "--output", str(out), "--plot", str(plot)]) == 0
    table = capsys.readouterr().out
    rows = json.loads(out.read_text())["rows"]
    assert {row["metric"] for row in rows} >= {"trm", "trm:separate", "trm:base", "trm:distance=rouge_l;ties=paper"}
    sizes = {row["candidates from"]: row["sizes"] for row in rows}
    assert sizes == {"model": "3v4", "people": "2v2", "model, human set sizes": "2v2"}
    titles = table.splitlines()[0].split("  ")
    assert [title.strip() for title in titles if title.strip()][:6] == [
        *("candidates from", "candidates", "sizes", "metric", "pvalue", "excess")
    ]
    assert "harmonic" not in table
    assert "calibrated_harmonic_pvalue" in rows[0]["details"]
    assert "trm:base" in table
    drawn = plot.read_text()
    assert "mean ln p" in drawn
    assert "equal distributions" in drawn


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--metrics", "onlystyle"],
            "--metrics must be metrics of caption sets (frechet_bert, mmd_bert, trm), got 'onlystyle'",
        ),
        (
            ["--set", "distance=precomputed"],
            "--set must name a distance that a command can compute, got 'precomputed', which requires "
            "`distances` of `compute` in Python",
        ),
        (["--metrics", "trm:distance=precomputed"], "--set must name a distance that a command can compute"),
        (
            ["--metrics", "trm,mmd_bert", "--set", "distance=bleu_4"],
            "--set distance=... is not a setting of mmd_bert",
        ),
        (["--metrics", "trx"], "must be one of the installed metrics"),
        (["--sizes", "1;2"], "--sizes must be integers separated by commas, got '1;2'"),
        (["--sizes", "0"], "`sizes`"),
        (["--sizes", "999"], "`sizes` must be an integer of at most"),
        (["--output", "nowhere/rows.json"], "--output must be a file in an existing folder"),
        (["--plot", "nowhere/picture.png"], "--plot must be a file in an existing folder"),
        (["--plot", "rows.gif"], "--plot must end in one of .png, .svg, .pdf, got 'rows.gif'"),
        (["--predictions", "captions"], "must have the column 'captions'"),
    ],
)
def test_errors_are_one_line(file, capsys, arguments, message):
    assert main(["sensitivity", str(file), "--metrics", "trm", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_command_shows_no_bar_if_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("vlgauge.core.progress.DELAY_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    file = tmp_path / "sets.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in SETS))
    arguments = ["sensitivity", str(file), "--metrics", "trm", "--sizes", "2", "--no-human"]
    assert main(arguments) == 0
    assert "Testing" in capsys.readouterr().err
    assert main([*arguments, "--no-progress"]) == 0
    assert capsys.readouterr().err == ""


def test_command_wants_a_metric(tmp_path, capsys):
    file = tmp_path / "sets.jsonl"
    file.write_text(json.dumps(SETS[0]))
    assert main(["sensitivity", str(file), "--metrics", " ,"]) == 2
    expected = "vlgauge sensitivity: error: --metrics must name at least one metric, got ' ,'\n"
    assert capsys.readouterr().err == expected
