"""Formulas of groovist: phrases that are scored, scale, penalty, mean, coverage, misalignment; the authors' values."""

import importlib.util
import json
import math
import sys
import warnings
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import vlgauge

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "golden" / "groovist"
ORACLES = json.loads((GOLDEN / "groovist.json").read_text("utf-8"))
STANDIN = str(GOLDEN / "concreteness_standin.csv")
VIST = 0.6159241924121119


def sibling(name):
    """A file of the metric, which is no package."""
    path = HERE.parent / "metrics" / "groovist" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"groovist_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


phrases = sibling("phrases")
scoring = sibling("scoring")
analyses = sibling("analyses")
evidence = sibling("evidence")


@cache
def loaded(settings):
    return vlgauge.load("groovist", keep_in_memory=True, **dict(settings))


def load(**settings):
    """A metric that reads no model; one per settings, because a load takes a tenth of a second."""
    settings = {"theta": VIST, "concreteness_path": STANDIN} | settings
    return loaded(tuple(sorted(settings.items())))


def features_of(case):
    usable = [j for j in range(len(case["region_features"])) if j not in case["unusable_images"]]
    images = [rows if j in usable else [] for j, rows in enumerate(case["region_features"])]
    return {"text": dict(zip(case["filtered"], case["text_features"], strict=True)), "images": images}


def scored(case, **settings):
    metric = load(**{"theta": case["theta"], "top_k": case["B"]} | settings)
    data = {"noun_phrases": [case["nphrases"]], "features": [features_of(case)]}
    with warnings.catch_warnings():
        if case["unusable_images"]:
            warnings.filterwarnings("ignore", "images without a region", UserWarning)
        result = metric.compute(predictions=["a story"], **data, return_details=True)
    return result, result["groovist_details"][0]


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_story_by_hand():
    text = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    regions = np.array([[0.6, 0.8], [0.8, 0.6], [1.0, 0.0]])
    spots = evidence.Spots([0, 0, 2], [0, 1, 0], [None] * 3, [0.9, 0.4, None], 3)
    compared = evidence.Evidence(text, regions, spots)
    story = scoring.story_score(compared, [2.0, 3.0, 1.0], 2.2)
    assert story.cosine == pytest.approx([1.0, 0.8, -0.6])
    assert story.scaled == pytest.approx([2.5, 2.0, -1.5])
    assert story.penalized == pytest.approx([2.5, -0.2, -3.7])
    assert story.score == pytest.approx((2 * 2.5 - 3 * 0.2 - 3.7) / 3)
    assert story.best.tolist() == [2, 0, 0]
    assert story.per_image[:, [0, 2]] == pytest.approx(np.array([[2.0, 2.5], [2.0, 0.0], [-1.5, -2.5]]))
    assert np.isnan(story.per_image[:, 1]).all()
    # Of image 0 only the region with score 0.9 counts, of image 2 the only one.
    assert story.coverage == pytest.approx(((0.8 * 2.5 - 2.2) + 2.5) / 2)
    paper = scoring.story_score(compared, [2.0, 3.0, 1.0], 0.88, variant="paper")
    assert paper.scaled == pytest.approx([1.0, 0.8, 0.0])
    assert paper.score == pytest.approx((2.0 - 3 * 0.08 - 0.88) / 3)
    free = scoring.story_score(compared, [1.0, 1.0, 1.0], 2.2, penalize=False)
    assert free.score == pytest.approx((2.5 + 2.0 - 1.5) / 3)


def test_threshold_itself_is_not_penalized():
    assert scoring.penalized_scores(np.array([0.5, np.nextafter(0.5, 0)]), 0.5) == pytest.approx([0.5, 0.0])


def brute_force(text, images, weights, theta, variant, penalize):
    """Algorithm 2, line by line."""
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


@pytest.mark.parametrize("variant", scoring.VARIANTS)
@pytest.mark.parametrize("penalize", [True, False])
@pytest.mark.parametrize("sizes", [(3,), (1, 4), (2, 0, 5, 1)])
def test_equals_the_pseudocode(variant, penalize, sizes):
    rng = np.random.default_rng([len(sizes), penalize])
    text, weights = rng.normal(size=(6, 5)), rng.uniform(1, 5, size=6)
    images = [rng.normal(size=(size, 5)) for size in sizes]
    names = [f"p{k}" for k in range(6)]
    entry = {"text": dict(zip(names, text, strict=True)), "images": images}
    compared = evidence.given_evidence(entry, names, "features[0]", top_k=10, min_score=0.0)
    story = scoring.story_score(compared, list(weights), 0.7, variant=variant, penalize=penalize)
    assert story.score == pytest.approx(brute_force(text, images, weights, 0.7, variant, penalize), rel=1e-12)


def test_best_region_of_equal_ones_is_the_first():
    entry = {"text": {"a": [1.0, 0.0]}, "images": [[[0.0, 1.0], [2.0, 0.0]], [[3.0, 0.0]]]}
    story = scoring.story_score(evidence.given_evidence(entry, ["a"], "f", top_k=10, min_score=0.0), [1.0], 0.1)
    assert story.best.tolist() == [1]


def test_more_regions_never_lower_a_phrase_and_their_order_is_invisible():
    rng = np.random.default_rng(5)
    text, images = rng.normal(size=(4, 6)), [rng.normal(size=(5, 6)) for _ in range(3)]
    names = list("abcd")

    def cosines(images):
        entry = {"text": dict(zip(names, text, strict=True)), "images": images}
        compared = evidence.given_evidence(entry, names, "f", top_k=10, min_score=0.0)
        return scoring.story_score(compared, [1.0] * 4, 0.5).cosine

    few, many = cosines([image[:2] for image in images]), cosines(images)
    assert (many >= few).all()
    assert cosines([image[::-1] for image in images[::-1]]) == pytest.approx(many, rel=1e-14)


def test_harmonic_mean():
    g, r = math.tanh(0.4), math.tanh(1.3)
    assert scoring.harmonic_mean(0.4, 1.3) == pytest.approx(2 * g * r / (g + r))
    assert scoring.harmonic_mean(-0.1, 1.3) == scoring.harmonic_mean(0.4, 0.0) == 0.0
    assert math.isnan(scoring.harmonic_mean(math.nan, 1.0))


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
    assert story.n_extracted == 5
    assert phrases.story_phrases(groups, deduplicate=False).kept == ["the dog", "the dog", "a cat"]
    assert phrases.story_phrases(groups, drop_pronouns=False).kept == ["the dog", "it", "a cat"]
    both = phrases.story_phrases(groups, deduplicate=False, drop_pronouns=False)
    assert (both.kept, both.dropped) == (["the dog", "it", "the dog", "it", "a cat"], [])


# -- the authors' code ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", ORACLES["concreteness_standin"])
def test_authors_phrases_and_weights(case):
    expected = ORACLES["concreteness_standin"][case]
    vectors = {"text": {text: [1.0, 0.0] for text in expected["input"]}, "images": [[[1.0, 0.0]]]}
    result = load().compute(
        predictions=["x"], noun_phrases=[expected["input"]], features=[vectors], return_details=True
    )
    rows = result["groovist_details"][0]["noun_phrases"]
    assert [row["text"] for row in rows] == expected["filtered"]
    assert [row["weight"] for row in rows] == pytest.approx(expected["weights"], abs=1e-9)


@pytest.mark.parametrize("case", ORACLES["penalize_concretize_normalize"])
def test_authors_penalty_and_mean(case):
    penalized = scoring.penalized_scores(scoring.SCALE * np.array(case["alignments"]), case["theta"])
    score = scoring.groovist_score(penalized, case["weights"])
    if case["groovist"] == "nan":
        assert math.isnan(score)
        return
    assert score == pytest.approx(case["groovist"], abs=1e-5)
    assert math.tanh(score) == pytest.approx(case["tanh"], abs=1e-5)
    assert penalized * case["weights"] == pytest.approx(case["NP_scores"], abs=1e-5)


WHOLE = [case for case in ORACLES["full_scoring_given_features"] if "by_formula" in case]
VARIED = {
    "released": {},
    "paper": {"variant": "paper"},
    "no_concreteness": {"concreteness": None, "concreteness_path": None},
    "no_penalty": {"penalize": False},
    "neither": {"penalize": False, "concreteness": None, "concreteness_path": None},
    "tanh": {"normalize": "tanh"},
}


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case["name"])
def test_authors_scores_from_given_features(case):
    expected = case["by_formula"]
    for name, settings in VARIED.items():
        theta = case["theta"] / (2.5 if name == "paper" else 1)
        result, _ = scored(case, **settings, theta=theta)
        assert result["groovist"] == pytest.approx(expected[name], abs=1e-6), name
    result, details = scored(case, reverse=True)
    assert result["groovist"] == pytest.approx(case["groovist"], abs=1e-5)
    assert result["groovist_reverse"] == pytest.approx(expected["reverse"], abs=1e-6)
    assert result["groovist_f"] == pytest.approx(expected["harmonic"], abs=1e-6)
    rows = details["noun_phrases"]
    assert [row["cosine"] for row in rows] == pytest.approx(expected["max_cosine"], abs=1e-6)
    assert [row["cosine"] for row in rows] == pytest.approx(case["max_alignments"], abs=1e-5)
    assert [row["image"] for row in rows] == expected["best_image"]
    each = {row["text"]: row["contribution"] * len(rows) for row in rows}
    assert each == pytest.approx(case["NP_scores"], abs=1e-5)
    assert sum(row["contribution"] for row in rows) == pytest.approx(result["groovist"], abs=1e-12)
    assert details["images_without_regions"] == case["unusable_images"]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case["name"])
def test_theta_fitted_on_the_story(case):
    data = {"noun_phrases": [case["nphrases"]], "features": [features_of(case)]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "images without a region", UserWarning)
        fitted = load(theta=None).fit_theta(predictions=["a story"], **data)
    assert fitted["theta"] == pytest.approx(case["by_formula"]["theta_fitted_on_this_story"], abs=1e-6)
    assert (fitted["n_phrases"], fitted["n_stories"]) == (len(case["filtered"]), 1)


@pytest.mark.parametrize("name", ["no_noun_phrases", "only_pronouns", "all_images_missing"])
def test_undefined_where_the_authors_have_nan_or_zeros(name):
    case = next(case for case in ORACLES["full_scoring_given_features"] if case["name"] == name)
    result, _ = scored(case)
    assert math.isnan(result["groovist"])
    assert result["groovist_undefined"] == 1


def test_story_without_images_is_refused():
    case = next(case for case in ORACLES["full_scoring_given_features"] if case["name"] == "no_images")
    with pytest.raises(ValueError, match=r"`features\[0\]` must have the regions of at least one image, got none"):
        scored(case)


def test_paper_is_released_divided_by_the_scale_where_no_maximum_is_negative():
    for case in WHOLE:
        if min(case["by_formula"]["max_cosine"]) >= 0:
            released, _ = scored(case)
            paper, _ = scored(case, variant="paper", theta=case["theta"] / 2.5)
            assert paper["groovist"] == pytest.approx(released["groovist"] / 2.5, rel=1e-12)


def test_authors_scores_of_the_published_sample(shared_folder):
    path = shared_folder / "oracles" / "groovist_rovist" / "shared_only" / "groovist_published.json"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    for case in json.loads(path.read_text("utf-8"))["full_scoring_given_features"]:
        if "by_formula" not in case:
            continue
        assert phrases.story_phrases([case["nphrases"]]).kept == case["filtered"]
        compared = evidence.given_evidence(features_of(case), case["filtered"], "f", top_k=case["B"], min_score=0.0)
        story = scoring.story_score(compared, case["weights"], case["theta"])
        assert story.score == pytest.approx(case["by_formula"]["released"], abs=1e-6)


# -- analyses ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", ORACLES["analyses"]["cases"], ids=lambda case: case["name"])
@pytest.mark.parametrize("matching", analyses.MATCHING)
def test_misalignment_and_proportion(case, matching):
    n_images = len(case["sentences"])
    tables = [np.array(rows).reshape(-1, n_images) for rows in case["scaled_scores"]]
    story, each = analyses.temporal_misalignment(tables, range(n_images), case["theta"], matching=matching)
    expected = case["expected"]
    assert each == pytest.approx(expected[f"t_{matching}"], abs=1e-9)
    assert story == pytest.approx(expected[f"T_{matching}"] or math.nan if tables[0].size == 0 else story, nan_ok=True)
    if expected[f"T_{matching}"] is not None:
        assert story == pytest.approx(expected[f"T_{matching}"], abs=1e-9)
    count = sum(map(len, case["noun_phrases"]))
    assert analyses.noun_phrase_proportion(count, expected["words"]) == pytest.approx(expected["P"], abs=1e-9)
    words = sum(analyses.n_real_words(sentence.split()) for sentence in case["sentences"])
    assert words == expected["words"]


def test_misalignment_of_ties_and_images_without_regions():
    scores = np.array([[0.7, 0.7, np.nan], [np.nan, 0.1, 0.9]])
    assert analyses.temporal_misalignment([scores], [1], 0.5, matching="best") == (1.0, [1.0])
    assert analyses.temporal_misalignment([scores], [0], 0.5, matching="best") == (0.5, [0.5])
    assert analyses.temporal_misalignment([scores], [2], 0.5, matching="each") == (1.0, [1.0])


def test_proportion_without_words_is_undefined():
    assert math.isnan(analyses.noun_phrase_proportion(0, 0))


# -- given vectors ----------------------------------------------------------------------------------------------------
GOOD = {"text": {"a dog": [1.0, 0.0]}, "images": [[[1.0, 0.0]]]}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([1.0], r"`features\[0\]` must be \{'text': .*, got list"),
        (GOOD | {"text": {"a cat": [1.0, 0.0]}}, r"a text vector for each scored phrase, got none for 'a dog'"),
        (
            GOOD | {"text": {"a dog": [math.nan, 1.0]}},
            r"\['text'\]` must be finite .* length nan in row 0",
        ),
        (
            GOOD | {"images": [[[1.0, 0.0], [0.0, 0.0]]]},
            r"\['images'\]` must be finite .* length 0.0 in row 1",
        ),
        (GOOD | {"images": [[[1.0, 0.0, 0.0]]]}, r"vectors of one length for phrases and regions, got shape \(1, 3\)"),
        (GOOD | {"images": [[[1.0], [1.0, 2.0]]]}, "vectors of one length"),
        (GOOD | {"text": {"a dog": ["x", "y"]}}, r"\['text'\]` must be vectors of one length, got something else"),
        (GOOD | {"scores": [[0.1, 0.2]]}, r"\['scores'\]\[0\]` must have one score per region, got shape \(2,\) for 1"),
        (GOOD | {"scores": [[0.1], [0.2]]}, r"one list of scores per image, got 2 for 1"),
    ],
)
def test_features_that_are_refused(entry, message):
    with pytest.raises(ValueError, match=message):
        load().compute(predictions=["x"], noun_phrases=[["a dog"]], features=[entry])


def test_scores_of_given_regions_choose_and_order_them():
    entry = GOOD | {"images": [[[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]], "scores": [[0.9, 0.1, 0.5]]}
    metric = load(top_k=2, min_score=0.2)
    details = metric.compute(predictions=["x"], noun_phrases=[["a dog"]], features=[entry], return_details=True)[
        "groovist_details"
    ][0]
    row = details["noun_phrases"][0]
    assert (row["image"], row["region"]) == (0, 1)
    assert row["cosine"] == pytest.approx(math.sqrt(0.5))


def test_confident_regions():
    assert scoring.confident_regions([4, 5, 6], [0.51, None, 0.5]) == [4]
    assert scoring.confident_regions([4, 5], [0.5, 0.2]) == [4, 5]
    spots = SimpleNamespace(image=[], scores=[])
    assert math.isnan(scoring.coverage(np.zeros((0, 3)), spots, 0.5, variant="released", penalize=True))
