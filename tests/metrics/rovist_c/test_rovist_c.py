"""RoViST-C: the pairs of a story, the score, and the authors' values through a tiny checkpoint in their layout."""

import json
import math

import numpy as np
import pytest
from tiny_rovist_c import CHECKPOINT, TINY, load, tiny

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.core.pool import pool
from vlgauge.models.pairs.loading import pair_scorer

GOLDEN = json.loads((TINY / "scores.json").read_text("utf-8"))["stories"]
STORY = ["A dog ran.", "It stopped.", "It stopped.", "Rain fell."]


def by_lengths(pairs):
    """Return asymmetric probabilities that differ between pairs, in place of a model."""
    return [(len(a) + 2 * len(b)) % 97 / 97 for a, b in pairs]


# -- by hand ----------------------------------------------------------------------------------------------------------
def pairs_of(sentences, **settings):
    steps = folder_module("rovist_c", "rovist_c").steps(sentences, **settings)
    return [(step.first, step.second, step.identical) for step in steps]


def test_pairs_of_neighbours():
    assert pairs_of(STORY) == [
        ("A dog ran.", "It stopped.", False),
        ("It stopped.", "It stopped.", True),
        ("It stopped.", "Rain fell.", False),
    ]


def test_prefixes():
    assert pairs_of(["A.", "B.", "A. B.", "C."], context="prefix") == [
        ("A.", "B.", False),
        ("A. B.", "A. B.", True),
        ("A. B.", "C.", False),  # a sentence equal to the whole prefix does not extend it
    ]
    assert pairs_of(["A.", "A.", "C."], context="prefix", identical="score")[1] == ("A. A.", "C.", False)
    assert pairs_of(["A.", "B.", "B."], context="prefix")[1] == ("A. B.", "B.", False)


@pytest.mark.parametrize("sentences", [[], ["One."]])
@pytest.mark.parametrize("context", ["pair", "prefix"])
def test_no_pairs(sentences, context):
    assert pairs_of(sentences, context=context) == []


def test_worked_example():
    metric = load(model=lambda pairs: [0.25 if "Rain" in b else 0.5 for _, b in pairs])
    result = metric.compute(predictions=[STORY, ["One."], [" It. ", "It."], []], return_details=True)
    assert result["rovist_c_scores"] == pytest.approx([0.25, math.nan, 0.0, math.nan], nan_ok=True)
    assert (result["rovist_c"], result["rovist_c_undefined"], result["rovist_c_truncated"]) == (0.125, 2, 0)
    assert result["rovist_c_details"][0] == {
        "score": 0.25,
        "sentences": STORY,
        "probabilities": [0.5, 0.0, 0.25],
        "identical": [False, True, False],
        "truncated": [False] * 3,
    }
    start = (
        f"rovist_c|v:{vlgauge.__version__}|profile:paper|enc:custom({__name__}.test_worked_example.<locals>.<lambda>@"
    )
    assert result["rovist_c_signature"].startswith(start)
    assert result["rovist_c_signature"].endswith("|context:pair|identical:zero|sentences:rules")


def test_definition_on_random_stories():
    rng = np.random.default_rng(2)
    words = [f"w{i}" * rng.integers(1, 5) for i in range(12)]
    stories = [[" ".join(rng.choice(words, 3)) for _ in range(rng.integers(0, 8))] for _ in range(60)]
    stories.append(["same"] * 3)
    for context in ("pair", "prefix"):
        expected = []
        for story in stories:
            values, before = [], story[:1]
            for sentence in story[1:]:
                first = before[-1] if context == "pair" else " ".join(before)
                values.append(0.0 if first == sentence else by_lengths([(first, sentence)])[0])
                if context == "pair" or first != sentence:
                    before.append(sentence)
            expected.append(sum(values) / len(values) if values else math.nan)
        scores = load(model=by_lengths, context=context).compute(predictions=stories)["rovist_c_scores"]
        assert scores == pytest.approx(expected, rel=1e-12, nan_ok=True)


# -- golden values ----------------------------------------------------------------------------------------------------
def known(key):
    """Return the stories whose values of this kind are numbers."""
    probabilities = {name: story.get(f"{key}_probs") for name, story in GOLDEN.items()}
    return {name: values for name, values in probabilities.items() if isinstance(values, list)}


def worst_difference(metric, probabilities, stories):
    result = metric.compute(predictions=[stories[name]["sentences"] for name in probabilities], return_details=True)
    found = [detail["probabilities"] for detail in result["rovist_c_details"]]
    assert [len(values) for values in found] == [len(values) for values in probabilities.values()]
    wanted = [value for values in probabilities.values() for value in values]
    return result["rovist_c_scores"], np.abs(np.concatenate(found) - wanted).max()


@pytest.mark.parametrize("context", ["pair", "prefix"])
@pytest.mark.parametrize("batch_size", [1, 32])
def test_golden_stories(context, batch_size):
    probabilities = known(context)
    scores, worst = worst_difference(tiny(context=context, batch_size=batch_size), probabilities, GOLDEN)
    assert len(probabilities) > 30
    assert worst < 3e-5
    wanted = [GOLDEN[name][f"{context}_score"] for name in probabilities]
    assert scores == pytest.approx([math.nan if isinstance(w, str) else w for w in wanted], abs=3e-5, nan_ok=True)


def test_golden_stories_with_identical_sentences_scored():
    probabilities = {
        name: story["pair_probs_identical_scored"]
        for name, story in GOLDEN.items()
        if isinstance(story.get("pair_probs_identical_scored"), list)
    }
    assert worst_difference(tiny(identical="score"), probabilities, GOLDEN)[1] < 3e-5


def test_golden_tokens_and_segments():
    scorer = pair_scorer(CHECKPOINT, TINY)
    for story in GOLDEN.values():
        if len(story.get("first_pair_input_ids", [])) in range(1, scorer.maximum + 1):
            inputs, _ = scorer._encode([tuple(story["sentences"][:2])], "longest")
            assert inputs == [(story["first_pair_input_ids"], story["first_pair_token_type_ids"])]


@pytest.mark.parametrize("context", ["pair", "prefix"])
def test_stories_of_vist(shared_folder, context):
    folder = shared_folder / "oracles" / "groovist_rovist" / "shared_only" / "rovist_c_tiny_vist"
    stories = json.loads((folder / "scores.json").read_text("utf-8"))["stories"]
    metric = load(model=str(folder / "sop_model_tiny.pth.tar"), base=str(folder), context=context)
    probabilities = {
        name: story[f"{context}_probs"]
        for name, story in stories.items()
        if isinstance(story.get(f"{context}_probs"), list)
    }
    assert len(probabilities) > 35
    assert worst_difference(metric, probabilities, stories)[1] < 1e-5


# -- properties -------------------------------------------------------------------------------------------------------
STORIES = [story["sentences"] for story in GOLDEN.values() if story["sentences"]]


def test_order_neighbours_and_batches_do_not_matter():
    # The libraries use other code paths for other lengths. The specification allows 1e-5 for padding.
    pool.unload()
    together = tiny().compute(predictions=STORIES[:20])["rovist_c_scores"]
    for settings, rows in (({"batch_size": 3}, STORIES[:20]), ({}, STORIES[:20][::-1])):
        pool.unload()
        scores = tiny(**settings).compute(predictions=rows)["rovist_c_scores"]
        back = scores if rows == STORIES[:20] else scores[::-1]
        assert back == pytest.approx(together, abs=1e-5, nan_ok=True)
    pool.unload()
    alone = [tiny().compute(predictions=[story])["rovist_c_scores"][0] for story in STORIES[:20]]
    assert alone == pytest.approx(together, abs=1e-5, nan_ok=True)


def test_each_distinct_pair_is_scored_once():
    pool.unload()
    metric, scorer = tiny(identical="score"), pair_scorer(str(CHECKPOINT), str(TINY))
    story = ["A dog ran.", "It stopped.", "A dog ran.", "It stopped."]
    result = metric.compute(predictions=[story] * 50)
    assert scorer.forwards == 2
    assert len(set(result["rovist_c_scores"])) == 1
    metric.compute(predictions=[story, ["It stopped.", " Rain fell. "]])
    assert scorer.forwards == 3


def test_the_first_sentence_is_segment_0():
    one, other = (
        pair_scorer(CHECKPOINT, TINY).probabilities([("A dog ran.", "It sat."), ("It sat.", "A dog ran.")]).values
    )
    assert abs(one - other) > 1e-3


def test_placeholders_and_odd_characters_are_scored():
    result = tiny().compute(predictions=[["[male] ran.", "😀 \u2028 é"], ["[CLS] x [SEP]", "<pad>"]])
    assert all(0 < score < 1 for score in result["rovist_c_scores"])


def test_half_a_character_is_refused():
    with pytest.raises(ValueError, match=r"^`predictions\[1\], sentence 1`"):
        tiny().compute(predictions=[["A.", "B."], ["A.", "\ud800 x."]])
