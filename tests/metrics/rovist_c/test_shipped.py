"""The shipped model of sentence order."""

import json
from itertools import pairwise

import numpy as np
import pytest

import vlgauge
from vlgauge import scenes
from vlgauge.models.clip import demo
from vlgauge.models.pairs.loading import pair_scorer
from vlgauge.models.pairs.models import EMBEDDED


# -- the shipped model ------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def held_out():
    return [story.sentences for story in scenes.stories(50, seed=77, split="test")]


def test_the_shipped_model_is_small_safe_and_has_its_record():
    files = {path.name: path.stat().st_size for path in EMBEDDED.iterdir()}
    assert sum(files.values()) < 2 * 2**20
    assert {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "training.json",
    } <= files.keys()
    record = json.loads((EMBEDDED / "training.json").read_text())
    assert record["test_ordered_above_swapped"] > 0.97
    assert "README.md" in files


def test_the_shipped_model_knows_the_order_of_held_out_stories(held_out, no_sockets):
    pairs = [pair for story in held_out for pair in pairwise(story)]
    scorer = pair_scorer(profile="embedded")
    forth = scorer.probabilities(pairs).values
    back = scorer.probabilities([(b, a) for a, b in pairs]).values
    assert (forth > back).mean() > 0.97


def test_the_shipped_model_prefers_stories_in_order(held_out):
    metric = vlgauge.load("rovist_c", profile="embedded", keep_in_memory=True)
    rng = np.random.default_rng(0)
    shuffled = [[story[i] for i in rng.permutation(5)] for story in held_out]
    changed = [i for i, story in enumerate(held_out) if shuffled[i] != story]
    good = metric.compute(predictions=held_out)["rovist_c_scores"]
    bad = metric.compute(predictions=shuffled)["rovist_c_scores"]
    assert np.mean([good[i] > bad[i] for i in changed]) > 0.97
    assert np.mean(good) > 0.9


def test_its_first_use_in_a_process_warns(monkeypatch):
    monkeypatch.setattr(demo, "_TOLD", set())
    with pytest.warns(UserWarning, match="rank synthetic") as caught:
        pair_scorer(profile="embedded")
    assert {warning.filename for warning in caught} == {__file__}
    pair_scorer(profile="embedded")


def test_the_shipped_model_takes_any_text():
    metric = vlgauge.load("rovist_c", profile="embedded", keep_in_memory=True)
    result = metric.compute(predictions=[["Zoë 😀 \u2028 wept.", "[CLS] [PAD] <s>"], ["x" * 100, "y."]])
    assert result["rovist_c_undefined"] == 0
