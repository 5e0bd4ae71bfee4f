"""Misplaced phrases, their share of the words, and the coverage of the images."""

import math

import numpy as np
import pytest
from colour_stories import BLUE, IMAGES, load, plain, score
from groovist_parts import ORACLES

from vlgauge.research.studies import groovist_analyses as analyses


@pytest.mark.parametrize("case", ORACLES["analyses"]["cases"], ids=lambda case: case["name"])
@pytest.mark.parametrize("matching", analyses.MATCHING)
def test_misalignment_and_proportion(case, matching):
    n_images = len(case["sentences"])
    tables = [np.array(rows).reshape(-1, n_images) for rows in case["scaled_scores"]]
    story, each = analyses.temporal_misalignment(tables, range(n_images), case["theta"], matching=matching)
    expected = case["expected"]
    assert each == pytest.approx(expected[f"t_{matching}"], abs=1e-9)
    defined = math.nan if expected[f"T_{matching}"] is None else expected[f"T_{matching}"]
    assert story == pytest.approx(defined, abs=1e-9, nan_ok=True)
    count = sum(map(len, case["noun_phrases"]))
    assert analyses.noun_phrase_proportion(count, expected["words"]) == pytest.approx(expected["P"], abs=1e-9)
    words = sum(analyses.n_real_words(sentence.split()) for sentence in case["sentences"])
    assert words == expected["words"]


def test_misalignment_of_ties_and_images_without_regions():
    scores = np.array([[0.7, 0.7, np.nan], [np.nan, 0.1, 0.9]])
    assert analyses.temporal_misalignment([scores], [1], 0.5, matching="best") == (1.0, [1.0])
    assert analyses.temporal_misalignment([scores], [0], 0.5, matching="best") == (0.5, [0.5])
    assert analyses.temporal_misalignment([scores], [2], 0.5, matching="each") == (1.0, [1.0])


def test_a_score_of_theta_itself_matches():
    for matching in analyses.MATCHING:
        assert analyses.temporal_misalignment([np.array([[0.2, 0.5]])], [0], 0.5, matching=matching) == (1.0, [1.0])


def test_proportion_without_words_is_undefined():
    assert math.isnan(analyses.noun_phrase_proportion(0, 0))


def test_confident_regions():
    regions = [{"score": score} for score in (0.51, None, 0.5)]
    assert analyses.confident_regions(regions) == regions[:1]
    assert analyses.confident_regions(regions[1:]) == regions[1:]


def test_coverage_of_the_confident_regions_of_each_image():
    regions = [(0, 0.9, -0.2), (0, 0.4, 2.0), (2, None, 2.5)]
    regions = [dict(zip(("image", "score", "penalized"), region, strict=True)) for region in regions]
    assert analyses.coverage({"regions": regions, "noun_phrases": [{}]}) == pytest.approx((-0.2 + 2.5) / 2)
    assert math.isnan(analyses.coverage({"regions": [], "noun_phrases": [{}]}))
    assert math.isnan(analyses.coverage({"regions": regions, "noun_phrases": []}))


def test_harmonic_mean():
    g, r = math.tanh(0.4), math.tanh(1.3)
    assert analyses.harmonic_mean(0.4, 1.3) == pytest.approx(2 * g * r / (g + r))
    assert analyses.harmonic_mean(-0.1, 1.3) == analyses.harmonic_mean(0.4, 0.0) == 0.0
    assert math.isnan(analyses.harmonic_mean(math.nan, 1.0))


# -- stories ----------------------------------------------------------------------------------------------------------
def analyzed(metric, *, matching="each", sentence_image=None, **data):
    result = score(metric=metric, **data, return_details=True)
    return analyses.analyze_stories(metric, result, matching=matching, sentence_image=sentence_image)


def test_analyses_of_a_story():
    metric = load(theta=1.0)
    found = analyzed(metric)
    # "the red dog" of the second sentence is in the first image. There are 4 phrases and 13 words.
    assert found.misalignment == [pytest.approx((0 + 1 / 2) / 2)]
    assert found.proportion == [pytest.approx(4 / 13)]
    assert analyzed(metric, matching="best").misalignment == [pytest.approx(0.25)]
    three = {"images": [[*IMAGES, plain(BLUE)]]}
    assert math.isnan(analyzed(metric, **three).misalignment[0])
    assert analyzed(metric, **three, sentence_image=[[2, 0]]).misalignment == [pytest.approx((1 + 1 / 2) / 2)]


@pytest.mark.parametrize("settings", [{}, {"normalize": "tanh"}])
def test_harmonic_mean_uses_the_score_before_tanh(settings):
    found, own = analyzed(load(**settings)), 2.5 / math.sqrt(3)
    assert found.coverage == [pytest.approx(own)]
    assert found.f == [pytest.approx(analyses.harmonic_mean(score()["groovist"], own))]


def test_penalty_of_regions_is_that_of_the_metric():
    blue, other = {"images": [[plain(BLUE)]]}, -2.5 / math.sqrt(3)
    penalized, free = (analyzed(load(penalize=penalize), **blue).coverage[0] for penalize in (True, False))
    assert penalized == pytest.approx(free - 1.2)
    assert free == pytest.approx(other)


def test_proportion_counts_noun_phrases_for_any_units():
    shares = [
        analyzed(load(noun_phrases="embedded", units=units), phrases=None).proportion
        for units in ("noun_phrases", "nouns")
    ]
    assert shares[0] == shares[1]


def test_stories_without_phrases_are_undefined():
    found = analyzed(load(), phrases=[[]])
    assert all(math.isnan(values[0]) for values in (found.misalignment, found.coverage, found.f))


def test_inputs_of_the_misalignment_that_are_refused():
    with pytest.raises(ValueError, match=r"got 1.*2 sentences"):
        analyzed(load(), phrases=[["a red dog"]])
    for given in ([0], [0, 2], [0, True], 3):
        with pytest.raises(ValueError, match=r"^`sentence_image\[0\]`.*2 images.*2 sentences"):
            analyzed(load(), sentence_image=[given])
    with pytest.raises(ValueError, match=r"^`sentence_image`.*got 2"):
        analyzed(load(), sentence_image=[[0, 1], [0, 1]])
