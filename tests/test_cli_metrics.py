"""The commands on several metrics at once: `vlgauge score` with a list of metrics, and `vlgauge d-hm`."""

import json
import math
import re
from pathlib import Path

import pytest

import vlgauge
from vlgauge.cli import distance
from vlgauge.cli import main
from vlgauge.cli import scoring
from vlgauge.cli import tables
from vlgauge.module import base

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
STORIES = [
    {"id": "x", "story": ["The dog ran home.", "The dog ran home."], "picture": "p", "number": 1},
    {"id": "y", "story": ["The dog ran home.", "Then it slept."], "picture": "q", "number": 2},
    {"id": "z", "story": ["One sentence."], "picture": "r", "number": 3},
]
CAPTIONS = [
    {"caption": "the sea sings", "style": "romantic", "refs": ["the sea sang"]},
    {"caption": "damn rain", "style": "angry", "refs": ["damn this rain"]},
]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with the two files, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for name, rows in (("stories", STORIES), ("captions", CAPTIONS)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return tmp_path


def record_of(capsys, *arguments):
    assert main([*arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def error_of(capsys, *arguments):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


TWO = ("onlystyle", "stylecider")
STYLED = ("captions.jsonl", "--predictions", "caption", "--styles", "style", "--references", "refs", "--config", "demo")


def test_the_names_of_columns_are_those_of_the_project():
    assert scoring.COLUMNS == base.PROJECT_COLUMNS


@pytest.mark.parametrize(
    "words",
    [
        (f"{TWO[0]},{TWO[1]}", *STYLED),
        (*STYLED, "--metrics", ",".join(TWO)),
        ("--metrics", ", ".join(TWO), *STYLED),
        (f"--metrics={','.join(TWO)}", *STYLED),
    ],
)
def test_both_forms_give_the_results_of_each_metric_alone(files, capsys, words):
    together = record_of(capsys, "score", *words)
    alone = [record_of(capsys, "score", name, *(STYLED if name == TWO[1] else without(STYLED))) for name in TWO]
    assert together == alone[0] | alone[1]
    assert together["ids"] == [0, 1]


def without(words):
    """The words without the references, which onlystyle has too but does not need."""
    place = words.index("--references")
    return words[:place] + words[place + 2 :]


def test_options_may_stand_between_the_two_words(files, capsys):
    assert main(["score", "rovist_nr", "--predictions", "story", "stories.jsonl"]) == 0
    assert "rovist_nr|" in capsys.readouterr().out


def test_the_file_is_read_once(files, capsys, monkeypatch):
    reads = []
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: reads.append(path.name) or read(path))
    record_of(capsys, "score", ",".join(TWO), *STYLED)
    assert reads.count("captions.jsonl") == 1


def test_the_table_has_a_column_per_metric(files, capsys):
    assert main(["score", ",".join(TWO), *STYLED]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["id", *TWO, "predictions"]
    assert [line.split("|")[0] for line in lines[-2:]] == list(TWO)
    assert {"onlystyle", "stylecider", "stylecider_undefined"} <= {line.split()[0] for line in lines if line}


def test_output_and_details_of_several(files, capsys):
    words = [",".join(TWO), *STYLED, "--details", "--output", "out.json"]
    assert main(["score", *words]) == 0
    record = json.loads((files / "out.json").read_text())
    assert {"ids", *(f"{name}_details" for name in TWO)} <= record.keys()
    assert "predictions" in capsys.readouterr().out.splitlines()[0]


def test_rovist_c_and_rovist_nr_side_by_side(files, capsys):
    words = ("stories.jsonl", "--metrics", "rovist_nr,rovist_c", "--predictions", "story", "--profile", "embedded")
    record = record_of(capsys, "score", *words, "--set", "rovist_c.context=prefix", "--set", "sentences=rules")
    assert record["rovist_nr_scores"][::2] == [0.5, None]
    assert record["rovist_c_scores"][::2] == [0.0, None]
    assert "context:prefix" in record["rovist_c_signature"]


# -- settings ---------------------------------------------------------------------------------------------------------
def test_settings_of_one_metric_and_of_all_that_have_them():
    texts = ["onlystyle.variant=authors", "exclude_self=true", "stylecider.variant=paper"]
    assert scoring.settings_by_metric(texts, TWO) == {
        "onlystyle": {"variant": "authors", "exclude_self": True},
        "stylecider": {"exclude_self": True, "variant": "paper"},
    }


def test_a_setting_that_only_one_metric_has():
    found = scoring.settings_by_metric(["mode=jaccard", "sentences=rules"], ["rovist_nr", "rovist_c"])
    assert found == {"rovist_nr": {"mode": "jaccard", "sentences": "rules"}, "rovist_c": {"sentences": "rules"}}


def test_dots_lead_into_dictionaries():
    assert scoring.settings_by_metric(["c.context=prefix", "c.batch_size=8", "nr.n=3"], ["rovist"]) == {
        "rovist": {"c": {"context": "prefix", "batch_size": 8}, "nr": {"n": 3}}
    }
    assert scoring.settings_by_metric(["rovist.c.context=prefix"], ["rovist", "rovist_nr"])["rovist"] == {
        "c": {"context": "prefix"}
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rovist_nr,rovist_nr", "stories.jsonl"], "METRIC must name each metric once, got 'rovist_nr' more than once"),
        (["rovist_nr,rovist_x", "stories.jsonl"], "must be one of the installed metrics"),
        ([",", "stories.jsonl"], "METRIC must be the name of a metric, or several"),
        (["rovist_nr", "stories.jsonl", "--metrics", "trm"], "METRIC must be left out next to --metrics, got 'rov"),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--set", "mod=x"],
            "--set must name a setting of rovist_nr or rovist_",
        ),
        (["rovist_nr,rovist_c", "stories.jsonl", "--set", "mod=x"], "got 'mod'; did you mean `mode`?"),
        (["rovist_nr,rovist_c", "stories.jsonl", "--set", "trm.n=1"], "must name a setting of .*, got 'trm'"),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--set", "rovist_c.hash=1"],
            "a setting of the metric, got 'rovist_c.h",
        ),
        (["rovist_nr,rovist_c", "stories.jsonl", "--set", "rovist_nr.=1"], "a setting of the metric, got 'rovist_nr.'"),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--set", "rovist_nr.n=1", "--set", "n=2"],
            "each setting once, got 'n' more",
        ),
        (["rovist_nr", "stories.jsonl", "--set", "n=1", "--set", "n.a=2"], "got both for 'n.a'"),
        (["rovist_nr", "stories.jsonl", "--predictions", "story", "--set", "n.a=1"], "`n` must be a whole number"),
        (
            ["rovist_nr", "stories.jsonl", "--predictions", "story", "--references", "picture"],
            "--references must be left out, as rovist_nr reads no such column but predictions",
        ),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--predictions", "story", "--styles", "picture"],
            "--styles must be left out, as rovist_nr and rovist_c reads no such column but predictions",
        ),
        (
            ["rovist_nr", "stories.jsonl", "--predictions", "story", "--details", "--format", "table"],
            "--details must go without --format table, which has no place for them, or with --output FILE",
        ),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--predictions", "story", "--config", "demo"],
            "--config must be of a metric with configurations, got 'demo' for rovist_nr, rovist_c",
        ),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--predictions", "number"],
            r"rovist_nr: `predictions\[0\]` must be a story, .* got int",
        ),
    ],
)
def test_errors_are_one_line(files, capsys, arguments, message):
    assert re.search(message, error_of(capsys, "score", *arguments))


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
    assert low == pytest.approx(min(record["d_hm_scores"][0::2]))
    assert high == pytest.approx(max(record["d_hm_scores"][0::2]))


def test_the_interval_is_that_of_the_statistics(scores, capsys):
    from vlgauge.statistics import bootstrap_interval

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
    assert lines[-2:] == ["3 stories compared, 1 of them undefined", f"d_hm|{vlgauge.__version__}|apply_tanh:False"]
    assert json.loads((scores / "out.json").read_text())["d_hm_details"][1]["score"] is None


def test_results_of_score_are_tables_too(scores, capsys):
    result = {"ids": ["c", "a"], **{f"{name}_scores": [0.5, None] for name in NAMES[1:]}, "groovist_signature": "g|1"}
    (scores / "result.json").write_text(json.dumps(result))
    record = record_of(capsys, "d-hm", "result.json", "human.csv", "--common")
    assert (record["ids"], record["left_out"], record["d_hm_undefined"]) == (["c", "a"], 1, 1)
    assert record["signatures"] == {"model": {"groovist": "g|1"}, "human": {}}


def test_published_files_are_compared_where_both_have_a_story(scores, capsys):
    for stem, rows in (("gt", HUMAN), ("llava", [*MODEL, ("d", 1, 1, 1)])):
        (scores / f"{stem}_G.json").write_text(json.dumps({row[0]: row[1] for row in rows}))
        for ending, place in (("C", 2), ("R", 3)):
            lines = [f"story_id,{ending}_score", *(f"{row[0]},{row[place]}" for row in rows if row[place] is not None)]
            (scores / f"{stem}_{ending}.csv").write_text("\n".join(lines) + "\n")
    record = record_of(capsys, "d-hm", "llava", "gt")
    assert (record["ids"], record["left_out"]) == (["a", "c"], 2)
    assert main(["d-hm", "llava", "gt"]) == 0
    assert "2 stories left out, which only one side has" in capsys.readouterr().out


class FakeMetric:
    """Gives the length of a story as its score."""

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
    assert seen == [(settings, {"profile": "embedded", "quiet": False})] * 2
    assert "rovist_c 0.1667, rovist_c|{'context': 'prefix'}" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.jsonl", "short.jsonl"], "must have a human story for each story of the model, none for 'b'"),
        (["short.jsonl", "human.csv"], "as many stories as `predictions`, got 3 and 1; the model has none for 'b'"),
        (
            ["model.jsonl", "other.jsonl"],
            "HUMAN must have the scores groovist, .*, lacks 'groovist' .there is: id, story",
        ),
        (["twice.jsonl", "human.csv"], "MODEL must have each id once, got 'a' more than once"),
        (["model.jsonl", "human.csv", "--set", "groovist.theta=1"], "must come with --score, which was left out"),
        (["model.jsonl", "human.csv", "--output", "human.csv"], "--output must be another file than FILE"),
        (["nowhere", "human.csv"], "FILE must end in one of jsonl, .*, got 'nowhere'"),
        (["empty.json", "human.csv"], "MODEL must have the scores"),
        (["model.jsonl", "human.csv", "--resamples", "0"], "`resamples` must be at least 1, got 0"),
    ],
)
def test_errors_of_distances_are_one_line(scores, capsys, arguments, message):
    rows = [dict(zip(NAMES, row, strict=True)) for row in MODEL]
    (scores / "short.jsonl").write_text(json.dumps(rows[0]))
    (scores / "twice.jsonl").write_text(json.dumps(rows[0]) + "\n" + json.dumps(rows[0]))
    (scores / "other.jsonl").write_text(json.dumps({"id": "a", "story": "x"}))
    (scores / "empty.json").write_text(json.dumps({"ids": ["a"]}))
    assert re.search(message, error_of(capsys, "d-hm", *arguments))


def test_tables_module_reads_what_it_read_before(files):
    assert [row["id"] for row in tables.read_rows("stories.jsonl")] == ["x", "y", "z"]
