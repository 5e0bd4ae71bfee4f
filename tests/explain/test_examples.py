"""The examples of every metric: right, subtle, wrong and missed, in agreement with their scores."""

import json
from pathlib import Path

import pytest
from script_modules import script_module

from vlgauge.core.catalog import metric_names
from vlgauge.explain.examples import ROLES, examples_of, explain_examples

score_examples = script_module("make/score_examples.py")
EXAMPLES = {name: examples_of(name) for name in metric_names()}
CONFIGS = sorted({(name, one.config) for name, rows in EXAMPLES.items() for one in rows})
GOOD = {"shows": "right", "id": "a", "title": "A.", "why": "B.", "predictions": "c"}


@pytest.mark.parametrize("name", metric_names())
def test_each_role_is_there_once_and_first_of_all(name):
    shown = [one.shows for one in EXAMPLES[name] if not one.config]
    assert shown == list(ROLES), f"metrics/{name}/examples.jsonl"
    assert [one.config for one in EXAMPLES[name]] == sorted(one.config for one in EXAMPLES[name])


@pytest.mark.parametrize(("name", "config"), CONFIGS)
def test_scores_are_what_the_examples_say(name, config):
    explained = explain_examples(name, config)
    rows = [one for one in EXAMPLES[name] if one.config == config]
    better = 1 if explained.facts.higher_is_better else -1
    score = {one.shows: better * value for one, value in zip(rows, explained.scores, strict=True)}
    assert [explained.title(row) for row in range(len(rows))] == [one.id for one in rows]
    new = {config: dict(zip((one.id for one in rows), explained.scores, strict=True))}
    stored = {config: score_examples.read_scores(name).get(config)}
    assert json.dumps(score_examples.keep_close(stored, new)) == json.dumps(stored), (
        f"if the scores are meant to differ, run: .venv/bin/python scripts/make/score_examples.py {name}"
    )
    assert score["right"] > score["wrong"]
    if "subtle" in score:
        assert score["right"] > score["subtle"] > score["wrong"]
    if "missed" in score:
        # It is not better than the right one, and hardly scores worse.
        assert score["missed"] > (score["right"] + score["wrong"]) / 2


@pytest.mark.parametrize("name", metric_names())
def test_columns_are_those_of_the_metric_and_files_are_there(name):
    columns = {"predictions", "references", "images", "videos", "styles"}
    for one in EXAMPLES[name]:
        assert {*one.cells} <= columns
        for key in ("images", "videos"):
            cell = one.cells.get(key, [])
            assert all(Path(path).is_file() for path in ([cell] if isinstance(cell, str) else cell))


# -- errors -----------------------------------------------------------------------------------------------------------
@pytest.fixture
def own(tmp_path, use_metrics):
    """Function that writes the examples of a metric "own"."""
    use_metrics(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.py").write_text("")
    return lambda *rows: (tmp_path / "own" / "examples.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows)
    )


def test_what_a_line_lacks_is_said_at_once(own):
    own(GOOD, {**GOOD, "title": "", "why": None})
    with pytest.raises(ValueError, match=r"line 2.*examples\.jsonl"):
        examples_of("own")


def test_a_role_that_there_is_not_is_refused(own):
    own({**GOOD, "shows": "good"})
    with pytest.raises(ValueError, match=r"^`shows`.*got 'good'.*line 1"):
        examples_of("own")


def test_a_configuration_without_examples_is_refused():
    with pytest.raises(ValueError, match=r"^`config`.*got 'audio'"):
        explain_examples("clip_s", "audio")
