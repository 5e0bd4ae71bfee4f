"""Formulas of groovist: phrases that are scored, scale, penalty, mean."""

import math

import numpy as np
import pytest
from groovist_parts import formula, load, phrases

from vlgauge.families.grounding import Evidence, Spots
from vlgauge.families.grounding.evidence import read_evidence


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_story_by_hand():
    text = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    regions = np.array([[0.6, 0.8], [0.8, 0.6], [1.0, 0.0]])
    spots = Spots([0, 0, 2], [0, 1, 0], [None] * 3, [0.9, 0.4, None], 3)
    compared = Evidence(text, regions, spots)
    story = formula.story_score(compared, [2.0, 3.0, 1.0], 2.2)
    assert story.cosine == pytest.approx([1.0, 0.8, -0.6])
    assert story.scaled == pytest.approx([2.5, 2.0, -1.5])
    assert story.penalized == pytest.approx([2.5, -0.2, -3.7])
    assert story.score == pytest.approx((2 * 2.5 - 3 * 0.2 - 3.7) / 3)
    assert story.best.tolist() == [2, 0, 0]
    assert story.per_image[:, [0, 2]] == pytest.approx(np.array([[2.0, 2.5], [2.0, 0.0], [-1.5, -2.5]]))
    assert np.isnan(story.per_image[:, 1]).all()
    assert story.covered == pytest.approx([2.0, 2.0, 2.5])
    assert story.penalized_regions == pytest.approx([2.0 - 2.2, 2.0 - 2.2, 2.5])
    paper = formula.story_score(compared, [2.0, 3.0, 1.0], 0.88, variant="paper")
    assert paper.scaled == pytest.approx([1.0, 0.8, 0.0])
    assert paper.score == pytest.approx((2.0 - 3 * 0.08 - 0.88) / 3)
    free = formula.story_score(compared, [1.0, 1.0, 1.0], 2.2, penalize=False)
    assert free.score == pytest.approx((2.5 + 2.0 - 1.5) / 3)


def test_threshold_itself_is_not_penalized():
    assert formula.penalize_scores(np.array([0.5, np.nextafter(0.5, 0)]), 0.5) == pytest.approx([0.5, 0.0])


def brute_force(text, images, weights, theta, variant, penalize):
    """Compute Algorithm 2 line by line."""
    total = 0.0
    for t, w in zip(text, weights, strict=True):
        best = 0.0 if variant == "paper" else -math.inf
        for image in images:
            for v in image:
                cosine = float(np.dot(t, v) / math.sqrt(np.dot(t, t) * np.dot(v, v)))
                best = max(best, cosine)
        s = best if variant == "paper" else 2.5 * best
        total += w * s if s >= theta or not penalize else -(theta - s) * w
    return total / len(text)


@pytest.mark.parametrize("variant", formula.VARIANTS)
@pytest.mark.parametrize("penalize", [True, False])
@pytest.mark.parametrize("sizes", [(3,), (1, 4), (2, 0, 5, 1)])
def test_equals_the_pseudocode(variant, penalize, sizes):
    rng = np.random.default_rng([len(sizes), penalize])
    text, weights = rng.normal(size=(6, 5)), rng.uniform(1, 5, size=6)
    images = [rng.normal(size=(size, 5)) for size in sizes]
    names = [f"p{k}" for k in range(6)]
    entry = {"text": dict(zip(names, text, strict=True)), "images": images}
    compared = read_evidence(entry, names, "features[0]", unit="phrase", top_k=10, min_score=0.0)
    story = formula.story_score(compared, list(weights), 0.7, variant=variant, penalize=penalize)
    assert story.score == pytest.approx(brute_force(text, images, weights, 0.7, variant, penalize), rel=1e-12)


def test_best_region_of_equal_ones_is_the_first():
    entry = {"text": {"a": [1.0, 0.0]}, "images": [[[0.0, 1.0], [2.0, 0.0]], [[3.0, 0.0]]]}
    story = formula.story_score(read_evidence(entry, ["a"], "f", unit="phrase", top_k=10, min_score=0.0), [1.0], 0.1)
    assert story.best.tolist() == [1]


def test_more_regions_never_lower_a_phrase_and_their_order_is_invisible():
    rng = np.random.default_rng(5)
    text, images = rng.normal(size=(4, 6)), [rng.normal(size=(5, 6)) for _ in range(3)]
    names = list("abcd")

    def cosines(images):
        entry = {"text": dict(zip(names, text, strict=True)), "images": images}
        compared = read_evidence(entry, names, "f", unit="phrase", top_k=10, min_score=0.0)
        return formula.story_score(compared, [1.0] * 4, 0.5).cosine

    few, many = cosines([image[:2] for image in images]), cosines(images)
    assert (many >= few).all()
    assert cosines([image[::-1] for image in images[::-1]]) == pytest.approx(many, rel=1e-14)


# -- phrases ----------------------------------------------------------------------------------------------------------
def test_list_of_phrases_that_are_never_scored():
    assert len(phrases.NEVER_SCORED) == 122
    assert {"I", "i", "each other", "no one", "yourselves"} <= phrases.NEVER_SCORED
    assert not {"It", "the one", "both dogs", ""} & phrases.NEVER_SCORED


def test_filters_are_independent():
    groups = [["the dog", "it"], ["the dog", "it", "a cat"]]
    story = phrases.story_phrases(groups)
    assert story.kept == ["the dog", "a cat"]
    assert story.dropped == [("it", "pronoun"), ("the dog", "repeated"), ("it", "pronoun")]
    assert story.sentences == [["the dog"], ["the dog", "a cat"]]
    assert phrases.story_phrases(groups, deduplicate=False).kept == ["the dog", "the dog", "a cat"]
    assert phrases.story_phrases(groups, drop_pronouns=False).kept == ["the dog", "it", "a cat"]
    both = phrases.story_phrases(groups, deduplicate=False, drop_pronouns=False)
    assert (both.kept, both.dropped) == (["the dog", "it", "the dog", "it", "a cat"], [])


# -- given vectors ----------------------------------------------------------------------------------------------------
GOOD = {"text": {"a dog": [1.0, 0.0]}, "images": [[[1.0, 0.0]]]}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([1.0], r"^`features\[0\]`.*got list"),
        (GOOD | {"text": {"a cat": [1.0, 0.0]}}, r"^`features\[0\]`.*phrase.*got none"),
        (
            GOOD | {"text": {"a dog": [math.nan, 1.0]}},
            r"^`features\[0\]\['text'\]`.*1\.0",
        ),
        (
            GOOD | {"images": [[[1.0, 0.0], [0.0, 0.0]]]},
            r"^`features\[0\]\['images'\]\[0\]`.*got \[0\.0.*0\.0",
        ),
        (GOOD | {"images": [[[1.0, 0.0, 0.0]]]}, r"^`features\[0\]\['images'\]\[0\]`.*one dimension"),
        (GOOD | {"images": [[[1.0], [1.0, 2.0]]]}, r"^`features\[0\]\['images'\]\[0\]`.*numbers"),
        (
            GOOD | {"text": {"a dog": ["x", "y"]}},
            r"^`features\[0\]\['text'\]`.*different lengths or types",
        ),
        (GOOD | {"scores": [[0.1, 0.2]]}, r"^`features\[0\]\['scores'\]\[0\]`"),
        (
            GOOD | {"images": [[[1, 0]], [[math.inf, 1], [1, 0], [2, 0]]], "scores": [[0.5], [0.7, 0.8, 0.9]]},
            r"^`features\[0\]\['images'\]\[1\]`.*1\.0.*row 0",
        ),
        (
            GOOD | {"images": [[[1, 0]], [[1, 0, 0]]]},
            r"^`features\[0\]\['images'\]\[1\]`.*one dimension",
        ),
        (GOOD | {"images": []}, r"^`features\[0\]`.*regions.*got none"),
        (GOOD | {"images": None}, r"^`features\[0\]\['images'\]`.*got NoneType"),
        (GOOD | {"images": [3]}, r"^`features\[0\]\['images'\]\[0\]`.*got int"),
        (GOOD | {"scores": 0.5}, r"^`features\[0\]\['scores'\]`.*got float"),
        (GOOD | {"scores": [[0.1], [0.2]]}, r"^`features\[0\]`.*got 2"),
    ],
)
def test_features_that_are_refused(entry, message):
    with pytest.raises(ValueError, match=message):
        load().compute(predictions=["x"], noun_phrases=[["a dog"]], features=[entry])


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_size_of_given_vectors_does_not_matter(size):
    settings = {"predictions": ["x"], "noun_phrases": [["a dog"]]}
    grown = {"text": {"a dog": np.array([3.0, 4.0]) * size}, "images": [np.array([[4.0, 3.0], [0.0, -1.0]]) / size]}
    plain = {"text": {"a dog": [3.0, 4.0]}, "images": [[[4.0, 3.0], [0.0, -1.0]]]}
    scores = [load().compute(**settings, features=[entry])["groovist"] for entry in (grown, plain)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)


@pytest.mark.parametrize("form", [list, np.array])
def test_scores_of_given_regions_choose_and_order_them(form):
    entry = GOOD | {"images": [[[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]], "scores": form([[0.9, 0.1, 0.5]])}
    metric = load(top_k=2, min_score=0.2)
    details = metric.compute(predictions=["x"], noun_phrases=[["a dog"]], features=[entry], return_details=True)[
        "groovist_details"
    ][0]
    row = details["noun_phrases"][0]
    assert (row["image"], row["region"]) == (0, 1)
    assert row["cosine"] == pytest.approx(math.sqrt(0.5))
