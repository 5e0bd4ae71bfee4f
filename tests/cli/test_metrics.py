"""Commands for several metrics at once: `vlgauge score` with a list of metrics, and `vlgauge d-hm`."""

import json
import re
from pathlib import Path

import pytest
from cli_stories import error_of, record_of, write_files

from vlgauge.cli import main, scoring
from vlgauge.inputs.tables import files as tables

TWO = ("onlystyle", "stylecider")
STYLED = ("captions.jsonl", "--predictions", "caption", "--styles", "style", "--references", "refs", "--config", "demo")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The working folder with the two files."""
    monkeypatch.chdir(tmp_path)
    return write_files(tmp_path)


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
    """Return the words without the references, which onlystyle accepts but does not need."""
    place = words.index("--references")
    return words[:place] + words[place + 2 :]


def test_options_may_stand_between_the_two_words(files, capsys):
    assert main(["score", "rovist_nr", "--predictions", "story", "stories.jsonl"]) == 0
    assert "rovist_nr|" in capsys.readouterr().out


def test_the_file_is_read_once(files, capsys, monkeypatch):
    reads = []
    read = tables.read_bytes
    monkeypatch.setattr(tables, "read_bytes", lambda path, name: reads.append(Path(path).name) or read(path, name))
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
    texts = ["onlystyle.variant=released", "exclude_self=true", "stylecider.variant=paper"]
    assert scoring.settings_by_metric(texts, TWO) == {
        "onlystyle": {"variant": "released", "exclude_self": True},
        "stylecider": {"exclude_self": True, "variant": "paper"},
    }


def test_a_setting_that_only_one_metric_has():
    found = scoring.settings_by_metric(["variant=paper", "sentences=rules"], ["rovist_nr", "rovist_c"])
    assert found == {"rovist_nr": {"variant": "paper", "sentences": "rules"}, "rovist_c": {"sentences": "rules"}}


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
        (["rovist_nr,rovist_nr", "stories.jsonl"], "METRIC must have each name once, got 'rovist_nr' more than once"),
        (["rovist_nr,rovist_x", "stories.jsonl"], "must be one of the installed metrics"),
        ([",", "stories.jsonl"], "METRIC must be one or more names"),
        (["rovist_nr", "stories.jsonl", "--metrics", "trm"], "METRIC cannot be combined with --metrics, got 'rov"),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--set", "variants=x"],
            "--set must name a setting of rovist_nr or rovist_",
        ),
        (["rovist_nr,rovist_c", "stories.jsonl", "--set", "variants=x"], "got 'variants'; did you mean `variant`?"),
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
        (
            ["rovist_nr", "stories.jsonl", "--predictions", "story", "--set", "n.a=1"],
            "--set n=... must be an integer",
        ),
        (
            ["rovist_nr", "stories.jsonl", "--predictions", "story", "--references", "picture"],
            "--references is not supported by rovist_nr; used columns: predictions",
        ),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--predictions", "story", "--styles", "picture"],
            "--styles is not supported by rovist_nr and rovist_c; used columns: predictions",
        ),
        (
            ["rovist_nr", "stories.jsonl", "--predictions", "story", "--details", "--format", "table"],
            "--details cannot be combined with --format table, which does not show them; pass --output FILE",
        ),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--predictions", "story", "--config", "demo"],
            "--config must be of a metric with configurations, got 'demo' for rovist_nr, rovist_c",
        ),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--predictions", "number"],
            "rovist_c: `model` is missing: ",
        ),
        (
            ["rovist_nr,rovist_c", "stories.jsonl", "--predictions", "number", "--profile", "embedded"],
            r"rovist_nr: `predictions\[0\]` must be a story \(.* got int",
        ),
    ],
)
def test_errors_are_one_line(files, capsys, arguments, message):
    assert re.search(message, error_of(capsys, "score", *arguments))


def test_tables_module_reads_what_it_read_before(files):
    assert [row["id"] for row in tables.read_rows("stories.jsonl")] == ["x", "y", "z"]


@pytest.mark.parametrize(("metric", "setting"), [("meteor", "version=2007"), ("chair", "variant=2018")])
def test_a_choice_that_looks_like_a_number_can_be_set(tmp_path, capsys, metric, setting):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"predictions": "a dog runs", "references": ["a dog ran"]}), encoding="utf-8")
    assert main(["score", metric, str(path), "--set", setting]) == 0
    name, _, value = setting.partition("=")
    assert f"|{name}:{value}" in capsys.readouterr().out
