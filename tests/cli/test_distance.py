"""The command that measures the distance of generated stories from human stories."""

import json
import math
import re

import pytest
from cli_stories import error_of, record_of, write_files

import vlgauge
from vlgauge.cli import distance, main


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The working folder with the two files."""
    monkeypatch.chdir(tmp_path)
    return write_files(tmp_path)


# -- distances --------------------------------------------------------------------------------------------------------
MODEL = [("a", 0.5, 0.7, 0.9), ("b", 1.5, 0.7, None), ("c", 0.1, 0.2, 0.5)]
HUMAN = [("b", 0.5, 0.7, 0.9), ("a", 0.3, 0.9, 1.0), ("c", 0.3, 0.9, 0.8)]
NAMES = ("id", "groovist", "rovist_c", "rovist_nr")


@pytest.fixture
def scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [dict(zip(NAMES, row, strict=True)) for row in MODEL]
    (tmp_path / "model.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in HUMAN)]
    (tmp_path / "human.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_distances_of_two_tables_matched_by_id(scores, capsys):
    record = record_of(capsys, "d-hm", "model.jsonl", "human.csv")
    g, c, r = abs(math.tanh(0.3) - math.tanh(0.5)), 0.2, 0.1
    assert record["ids"] == ["a", "b", "c"]
    assert record["d_hm_scores"][0] == pytest.approx((g + c + r) / 3, rel=1e-12)
    assert record["d_hm_scores"][1] is None
    assert record["d_hm_undefined"] == 1
    low, high = record["intervals"]["d_hm"]
    assert low == 0.0  # the minimum distance, although the interval of two rows would extend below it
    assert high > max(record["d_hm_scores"][0::2])


def test_the_interval_is_that_of_the_statistics(scores, capsys):
    from vlgauge.stats import bootstrap_interval

    words = ("d-hm", "model.jsonl", "human.csv", "--resamples", "50", "--seed", "3")
    record = record_of(capsys, *words)
    expected = bootstrap_interval(
        [detail["d_g"] or math.nan for detail in record["d_hm_details"]], resamples=50, seed=3
    )
    assert record["intervals"]["d_hm_d_g"] == [expected.low, expected.high]


def test_the_table_of_distances(scores, capsys):
    words = ["d-hm", "model.jsonl", "human.csv", "--rows", "1", "--no-tanh", "--output", "out.json"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["id", "d_hm", "d_g", "d_c", "d_r"]
    assert lines[2].split() == ["a", "0.1667", "0.2000", "0.2000", "0.1000"]
    assert next(line for line in lines if line.startswith("d_hm_d_g ")).split()[-1] == "lower"
    assert lines[-2:] == [
        "3 stories compared, 1 of them undefined",
        f"d_hm|v:{vlgauge.__version__}|profile:paper|apply_tanh:False",
    ]
    assert json.loads((scores / "out.json").read_text())["d_hm_details"][1]["score"] is None


def test_results_of_score_are_tables_too(scores, capsys):
    result = {"ids": ["c", "a"], **{f"{name}_scores": [0.5, None] for name in NAMES[1:]}, "groovist_signature": "g|1"}
    (scores / "result.json").write_text(json.dumps(result))
    record = record_of(capsys, "d-hm", "result.json", "human.csv", "--common")
    assert (record["ids"], record["left_out"], record["d_hm_undefined"]) == (["c", "a"], 1, 1)
    assert record["signatures"] == {"model": {"groovist": "g|1"}, "human": {}}


def test_signatures_next_to_a_table_are_told(scores, capsys):
    (scores / "human.csv.json").write_text(json.dumps({"groovist": 0.5, "groovist_signature": "g|1"}))
    record = record_of(capsys, "d-hm", "model.jsonl", "human.csv")
    assert record["signatures"] == {"model": {}, "human": {"groovist": "g|1"}}
    assert main(["d-hm", "model.jsonl", "human.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "g|1"
    (scores / "human.csv.json").write_text("[]")
    assert record_of(capsys, "d-hm", "model.jsonl", "human.csv")["signatures"]["human"] == {}


@pytest.mark.filterwarnings("always:.*all published distances", "always:.*computed in different ways")
def test_scores_that_were_made_in_another_way_are_told(scores, capsys):
    def warnings_of(model, human):
        for name, signature in (("model.jsonl", model), ("human.csv", human)):
            (scores / f"{name}.json").write_text(json.dumps({"rovist_c_signature": signature}))
        assert main(["d-hm", "model.jsonl", "human.csv"]) == 0
        return capsys.readouterr().err.replace("vlgauge d-hm: warning: ", "").splitlines()

    assert warnings_of("rovist_c|v:1|context:prefix", "rovist_c|v:1|context:prefix") == []
    pair = "all published distances with prefix; score with --set rovist_c.context=prefix"
    both = "MODEL has rovist_c with context=pair and HUMAN has rovist_c with context=pair"
    assert warnings_of("rovist_c|context:pair", "rovist_c|context:pair") == [f"{both}, {pair}"]
    assert warnings_of("rovist_c|v:1|context:prefix", "rovist_c|v:2|context:pair") == [
        f"HUMAN has rovist_c with context=pair, {pair}",
        "MODEL and HUMAN have rovist_c computed in different ways (v 1 and 2, context prefix and pair), which is part "
        "of their distance; score both with the same settings and version",
    ]
    (told,) = warnings_of("no signature|", "none")
    assert "computed in different ways ('no signature|' and 'none'), which" in told


def test_published_files_are_compared_where_both_have_a_story(scores, capsys):
    for stem, rows in (("gt", HUMAN), ("llava", [*MODEL, ("d", 1, 1, 1)])):
        (scores / f"{stem}_G.json").write_text(json.dumps({row[0]: row[1] for row in rows}))
        for ending, place in (("C", 2), ("R", 3)):
            lines = [f"story_id,{ending}_score", *(f"{row[0]},{row[place]}" for row in rows if row[place] is not None)]
            (scores / f"{stem}_{ending}.csv").write_text("\n".join(lines) + "\n")
    record = record_of(capsys, "d-hm", "llava", "gt")
    assert (record["ids"], record["left_out"]) == (["a", "c"], 2)
    assert main(["d-hm", "llava", "gt"]) == 0
    assert "2 stories skipped, because only one side has them" in capsys.readouterr().out


class FakeMetric:
    """Metric whose score is the length of a story."""

    columns = vlgauge.load("rovist_nr").columns

    def __init__(self, name, settings):
        self.name, self.settings = name, settings

    def compute(self, predictions):
        scores = [len(story) / 10 for story in predictions]
        return {
            self.name: sum(scores) / len(scores),
            f"{self.name}_scores": scores,
            f"{self.name}_signature": f"{self.name}|{self.settings}",
        }


def test_stories_are_scored_first(files, capsys, monkeypatch):
    seen = []

    def load(settings, **options):
        seen.append((settings, options))
        return [FakeMetric(name, own) for name, own in settings.items()]

    monkeypatch.setattr(distance, "load_metrics", load)
    words = ["d-hm", "stories.jsonl", "stories.jsonl", "--score", "--predictions", "story", "--profile", "embedded"]
    assert main([*words, "--set", "rovist_nr.n=3", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert record["d_hm_scores"] == [0.0, 0.0, 0.0]
    assert record["signatures"]["human"]["rovist_nr"] == "rovist_nr|{'n': 3}"
    settings = {"groovist": {}, "rovist_c": {"context": "prefix"}, "rovist_nr": {"n": 3}}
    assert seen == [(settings, {"profile": "embedded"})] * 2
    assert "rovist_c 0.1667, rovist_c|{'context': 'prefix'}" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.jsonl", "short.jsonl"], "must have the stories of `predictions`, got 'b' in only one of the two"),
        (["short.jsonl", "human.csv"], "must have the stories of `predictions`, got 'b' in only one of the two"),
        (
            ["model.jsonl", "other.jsonl"],
            "HUMAN must have the scores groovist, .*, lacks 'groovist' .there is: id, story",
        ),
        (["twice.jsonl", "human.csv"], "MODEL must have each id once, got 'a' more than once"),
        (["model.jsonl", "human.csv", "--set", "groovist.theta=1"], "require --score"),
        (["empty.json", "human.csv", "--output", "empty.json"], "--output must be a different file from FILE"),
        (["nowhere", "human.csv"], "nowhere: No such file or directory"),
        (["empty.json", "human.csv"], "MODEL must have the scores"),
        (["model.jsonl", "human.csv", "--resamples", "0"], "`resamples` must be an integer of at least 1, got 0"),
    ],
)
def test_errors_of_distances_are_one_line(scores, capsys, arguments, message):
    rows = [dict(zip(NAMES, row, strict=True)) for row in MODEL]
    (scores / "short.jsonl").write_text(json.dumps(rows[0]))
    (scores / "twice.jsonl").write_text(json.dumps(rows[0]) + "\n" + json.dumps(rows[0]))
    (scores / "other.jsonl").write_text(json.dumps({"id": "a", "story": "x"}))
    (scores / "empty.json").write_text(json.dumps({"ids": ["a"]}))
    assert re.search(message, error_of(capsys, "d-hm", *arguments))
