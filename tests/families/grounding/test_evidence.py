"""Inputs compared by groovist and rovist_vg: vectors of words and regions, computed or given, and region positions."""

import math
from functools import cache

import numpy as np
import pytest
from small_regions import cell

import vlgauge
from vlgauge.families.grounding import Spots, best_regions
from vlgauge.families.grounding.evidence import STORIES_AT_ONCE, encode_stories, read_evidence
from vlgauge.models.detectors import region_source

DOG = {"text": {"dog": [1.0, 0.0]}}


# -- spots and best regions -------------------------------------------------------------------------------------------
def test_where_regions_are():
    spots = Spots([0, 0, 2], [0, 1, 0], [(1, 2, 3, 4), None, (0, 0, 9, 9)], [0.5, None, 0.1], 4)
    assert spots.images_without_regions == [1, 3]
    assert spots.describe(0) == {"image": 0, "region": 0, "box": [1, 2, 3, 4]}
    assert spots.describe(1) == {"image": 0, "region": 1, "box": None}
    assert spots.describe(2) == {"image": 2, "region": 0, "box": [0, 0, 9, 9]}
    assert spots.describe(None) == {"image": None, "region": None, "box": None}


def test_best_regions():
    assert best_regions(np.array([[0.1, 0.7, 0.7], [0.7, 0.2, 0.1]])).tolist() == [1, 0]
    assert best_regions(np.zeros((3, 0))).tolist() == best_regions(np.zeros((0, 3))).tolist() == []


# -- computed vectors -------------------------------------------------------------------------------------------------
def test_regions_stay_with_their_stories():
    """Check stories in several encoder chunks, stories without words, and images without regions."""
    asked = []

    def encode(images):
        asked.append([image.place for image in images])
        return np.array([[len(asked), k] for k in range(len(images))], dtype=float)

    count = STORIES_AT_ONCE + 2
    boxes = [[{"boxes": [[0, 0, 5, 5]] * (i % 3)}, {"boxes": [[1, 1, 4, 4]]}] for i in range(count)]
    text, rows = np.eye(2), [[0, 1, 0][: i % 4] for i in range(count)]
    cells = [[cell(i), cell(i + 50)] for i in range(count)]
    found = list(encode_stories(text, rows, boxes, cells, encode, top_k=10, min_score=0.0))
    assert len(asked) == 2
    assert asked[1][0].startswith(f"images[{STORIES_AT_ONCE}]")
    seen = [vector.tolist() for story in found for vector in story.regions]
    assert seen == [[float(pass_), float(k)] for pass_, places in enumerate(asked, 1) for k in range(len(places))]
    for i, story in enumerate(found):
        assert story.text.tolist() == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]][: i % 4]
        assert story.spots.image == [0] * (i % 3) + [1]
        assert story.spots.region == [*range(i % 3), 0]
        assert story.cosines().shape == (min(i % 4, 3), i % 3 + 1)
        best, cosines = story.best()
        assert cosines.tolist() == story.cosines().max(axis=1, initial=-math.inf).tolist()
        assert len(best) == i % 4


def test_stories_are_seen_a_few_at_a_time():
    asked = []

    def encode(images):
        asked.append(len(images))
        return np.ones((len(images), 3))

    cells = [[cell()]] * (2 * STORIES_AT_ONCE)
    found = encode_stories(
        np.zeros((0, 3)), [[]] * len(cells), region_source("whole"), cells, encode, top_k=1, min_score=0
    )
    next(found)
    assert asked == [STORIES_AT_ONCE]
    assert [story.text.shape for story in found] == [(0, 3)] * (len(cells) - 1)


# -- given ------------------------------------------------------------------------------------------------------------
def test_every_given_vector_is_checked_also_of_regions_that_are_left_out():
    broken = {**DOG, "images": [[[1.0, 0.0], [math.nan, 0.0]]], "scores": [[0.9, 0.1]]}
    for limits in ({"top_k": 1, "min_score": 0.0}, {"top_k": 9, "min_score": 0.5}):
        with pytest.raises(ValueError, match=r"^`f\['images'\]\[0\]`.*row 1"):
            read_evidence(broken, ["dog"], "f", unit="noun", **limits)


@cache
def loaded(name):
    settings = {"groovist": {"theta": 0.5, "concreteness": None}, "rovist_vg": {"idf": None}}[name]
    return vlgauge.load(name, keep_in_memory=True, **settings)


@pytest.mark.parametrize("name", ["groovist", "rovist_vg"])
@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"images": [[[1.0, 0.0]]]}, r".*'text'.*'images'"),
        (
            {"text": {}, "images": [[[1.0, 0.0]]]},
            r".*got none",
        ),
        ({**DOG, "images": [[[1.0, 0.0]]] * 2}, r".*got 2.*1 images"),
        ({**DOG, "images": [[[1.0]]]}, r".*previous ones"),
    ],
)
def test_both_metrics_refuse_the_same_features(name, features, message):
    words = {"groovist": "noun_phrases", "rovist_vg": "nouns"}[name]
    call = {"predictions": ["x"], words: [["dog"]], "images": [[np.zeros((4, 4, 3), np.uint8)]]}
    with pytest.raises(ValueError, match=rf"^`features\[0\].*` {message}"):
        loaded(name).compute(**call, features=[features])
