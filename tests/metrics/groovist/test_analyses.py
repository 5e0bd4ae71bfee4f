"""Misplaced phrases, and their share of the words."""

import math

import numpy as np
import pytest
from groovist_parts import ORACLES, analyses, load


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


def test_images_of_sentences_are_refused_where_nothing_reads_them():
    features = [{"text": {"a dog": [1.0, 0.0]}, "images": [[[1.0, 0.0]]]}]
    with pytest.raises(ValueError, match="`sentence_image` requires analysis='temporal_misalignment'"):
        load().compute(predictions=["x"], noun_phrases=[["a dog"]], features=features, sentence_image=[[0]])
