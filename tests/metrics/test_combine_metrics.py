"""Combinations of metrics with equal inputs in `evaluate.combine`, with the bundled models."""

import json
from collections import Counter
from itertools import combinations

import evaluate
import pytest

import vlgauge
from vlgauge import scenes

STORY_METRICS = ("rovist_nr", "rovist_c", "groovist", "rovist_vg", "rovist")
STYLE_METRICS = {"onlystyle": {"config_name": "demo"}, "stylecider": {"config_name": "demo"}}
STYLED = {
    "predictions": ["the sea sings", "damn rain"],
    "styles": ["romantic", "angry"],
    "references": [["the sea sang"], ["damn this rain"]],
}


@pytest.fixture(scope="module")
def told():
    """Two stories with their images, and columns of other metrics, which these metrics ignore."""
    stories = scenes.stories(2, seed=8, split="test")
    return {
        "predictions": [story.sentences for story in stories],
        "images": [story.images() for story in stories],
        "styles": ["plain"] * 2,
    }


@pytest.fixture(scope="module")
def alone(told):
    """Result of each metric on its own."""
    metrics = {name: vlgauge.load(name, profile="embedded", keep_in_memory=True) for name in STORY_METRICS}
    return {name: (metric, metric.compute(**told)) for name, metric in metrics.items()}


def subsets(names):
    """Return all pairs, and all names at once."""
    return [*combinations(names, 2), names]


@pytest.mark.parametrize("names", subsets(STORY_METRICS), ids="+".join)
def test_story_metrics(names, told, alone):
    combined = evaluate.combine([alone[name][0] for name in names]).compute(**told)
    counts = Counter(key for name in names for key in alone[name][1])
    # rovist has the keys of its parts, too. `evaluate` prefixes keys that two metrics share with the metric name.
    expected = {
        key if counts[key] == 1 else f"{name}_{key}": value for name in names for key, value in alone[name][1].items()
    }
    assert json.dumps(combined, sort_keys=True) == json.dumps(expected, sort_keys=True)


def test_style_metrics():
    metrics = [vlgauge.load(name, keep_in_memory=True, **settings) for name, settings in STYLE_METRICS.items()]
    expected = metrics[0].compute(**STYLED) | metrics[1].compute(**STYLED)
    assert json.dumps(evaluate.combine(metrics).compute(**STYLED)) == json.dumps(expected)


def test_distances_next_to_a_metric_of_other_rows(told, alone):
    rows = [{"groovist": 0.5, "rovist_c": 0.5, "rovist_nr": 0.5}] * 2
    d_hm = vlgauge.load("d_hm", keep_in_memory=True)
    assert d_hm.compute(predictions=rows, references=rows, images=told["images"])["d_hm"] == 0.0
    with pytest.raises(ValueError, match=r"^`predictions\[0\]`"):
        evaluate.combine([alone["rovist_nr"][0], d_hm]).compute(predictions=told["predictions"], references=rows)
