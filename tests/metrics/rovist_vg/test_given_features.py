"""rovist_vg on features of the caller: accepted forms, and messages about the others."""

import math

import evaluate
import numpy as np
import pytest
from folders import METRICS

METRIC = str(METRICS / "rovist_vg")
DOG = {"dog": [1.0, 0.0]}


@pytest.fixture(scope="module")
def load():
    """`load(**settings)`: the metric without idf."""

    def load(**settings):
        return evaluate.load(METRIC, keep_in_memory=True, idf=None, **settings)

    return load


def score(metric, *features, **call):
    """Return the scores of stories with the noun "dog"."""
    told = {"predictions": [["A dog."]] * len(features), "nouns": [["dog"]] * len(features)}
    return metric.compute(**told, features=list(features), **call)["rovist_vg_scores"]


def test_lists_and_arrays_of_any_length(load):
    expected = pytest.approx([0.6], abs=1e-12)
    for one, other in (([0.6, 0.8], [-1, 0.1]), ([3.0, 4.0], [-5, 1]), ([6e199, 8e199], [-1e-200, 1e-210])):
        regions = [[one], [other]]
        for images in (regions, np.array(regions), tuple(map(np.array, regions))):
            assert score(load(), {"text": DOG, "images": images}) == expected
    assert score(load(), {"text": {"dog": np.array([5e200, 0])}, "images": [[[0.6, 0.8]]]}) == expected


def test_first_regions_are_kept(load):
    images = [[[0.0, 1.0], [0.6, 0.8], [1.0, 0.0]], [[0.8, 0.6]]]
    found = {k: score(load(top_k=k), {"text": DOG, "images": images})[0] for k in (1, 2, 3)}
    assert found == pytest.approx({1: 0.8, 2: 0.8, 3: 1.0})


def test_scores_choose_the_regions(load):
    features = {"text": DOG, "images": [[[0.0, 1.0], [0.6, 0.8], [1.0, 0.0]], [[0.0, 1.0]]]}
    scores = [[0.2, 0.9, 0.5], [0.1]]
    assert score(load(top_k=1), features | {"scores": scores}) == [pytest.approx(0.6)]
    assert score(load(min_score=0.15), features | {"scores": [[0.2, 0.1, 0.1], [0.3]]}) == [pytest.approx(0.0)]
    details = load().compute(
        predictions=[["A dog."]], nouns=[["dog"]], features=[features | {"scores": scores}], return_details=True
    )["rovist_vg_details"][0]["nouns"]
    assert (details[0]["image"], details[0]["region"]) == (0, 1)  # the second by its score


def test_an_image_without_regions(load):
    with pytest.warns(UserWarning, match=r"ignored.*1"):
        assert score(load(), {"text": DOG, "images": [[], [[0.6, 0.8]]]}) == [pytest.approx(0.6)]
    with pytest.warns(UserWarning, match=r"ignored.*2"):
        assert math.isnan(score(load(), {"text": DOG, "images": [[], np.zeros((0, 2))]})[0])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (3, r"^`features\[0\]`.*got int"),
        ({"text": [1], "images": []}, r"^`features\[0\]`.*got dict"),
        (
            {"text": {}, "images": [[[1.0]]]},
            r"^`features\[0\]`.*noun.*got none",
        ),
        ({"text": DOG, "images": None}, r"^`features\[0\]\['images'\]`.*got NoneType"),
        ({"text": DOG, "images": 3}, r"^`features\[0\]\['images'\]`.*got int"),
        (
            {"text": DOG, "images": [[[1, 0]], 3]},
            r"^`features\[0\]\['images'\]\[1\]`.*got int",
        ),
        ({"text": DOG, "images": [[[1, 0]], ["ab"]]}, r"^`features\[0\]\['images'\]\[1\]`.*numbers"),
        (
            {"text": DOG, "images": [[1, 0]]},
            r"\['images'\]\[0\]`.*got shape \(2,\)",
        ),
        ({"text": DOG, "images": []}, r"^`features\[0\]`.*regions.*got none"),
        (
            {"text": {"dog": [math.nan, 1]}, "images": [[[1, 0]]]},
            r"^`features\[0\]\['text'\]`.*1\.0.*'dog'",
        ),
        (
            {"text": DOG, "images": [[[1, 0]], [[1, 0], [math.inf, 0]]]},
            r"^`features\[0\]\['images'\]\[1\]`.*0\.0.*row 1",
        ),
        (
            {"text": DOG, "images": [[[0, 0]]]},
            r"^`features\[0\]\['images'\]\[0\]`.*got \[0\.0",
        ),
        ({"text": {"dog": None}, "images": [[[1, 0]]]}, r"^`features\[0\]\['text'\]`.*got shape \(1,\)"),
        (
            {"text": {"dog": [1.0]}, "images": [[[1.0, 2.0]]]},
            r"\['images'\]\[0\]`.*got shape \(1, 2\)",
        ),
        (
            {"text": DOG, "images": [[[1, 0]], [[1, 0, 0]]]},
            r"^`features\[0\]\['images'\]\[1\]`.*got shape \(1, 3\)",
        ),
        ({"text": DOG, "images": [[[1, 0], [1]]]}, r"^`features\[0\]\['images'\]\[0\]`.*numbers"),
        (
            {"text": DOG, "images": [[[1, 0]]], "scores": [[1], [2]]},
            r"^`features\[0\]`.*got 2",
        ),
        (
            {"text": DOG, "images": [[[1, 0]]], "scores": [[1, 2]]},
            r"^`features\[0\]\['scores'\]\[0\]`",
        ),
    ],
)
def test_what_is_refused(load, features, message):
    with pytest.raises(ValueError, match=message):
        score(load(), features)


def test_one_entry_per_story(load):
    with pytest.raises(ValueError, match=r"^`features`.*got 0"):
        load().compute(predictions=[["A dog."]], nouns=[["dog"]], features=[])
