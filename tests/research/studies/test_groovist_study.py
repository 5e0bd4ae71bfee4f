"""The experiments of GROOViST: random pairs, ablations, agreement with ratings."""

import math

import numpy as np
import pytest
from coloured_study import COLOURS, NAMES, coloured_stories, loader

from vlgauge.inputs.text.story_idf import fit_idf
from vlgauge.research.studies import groovist as study
from vlgauge.stats import bootstrap_interval


@pytest.fixture
def data():
    return coloured_stories()


# -- random pairs -----------------------------------------------------------------------------------------------------
def test_random_stories_are_others_and_differ():
    drawn = study.random_stories(7, 5, seed=1)
    for i, others in enumerate(drawn):
        assert i not in others
        assert len(set(others)) == 5
        assert set(others) <= set(range(7))
    assert drawn == study.random_stories(7, 5, seed=1) != study.random_stories(7, 5, seed=2)
    counts = np.bincount(np.ravel([study.random_stories(5, 2, seed=seed) for seed in range(300)]))
    assert counts.min() > 500


@pytest.mark.parametrize("n_random", [0, 4, -1])
def test_number_of_random_stories(n_random):
    with pytest.raises(ValueError, match=rf"^`n_random` must be an integer of at .*, got {n_random}"):
        study.random_stories(4, n_random, 0)


def test_best_of_the_random_ones_counts():
    found = study.random_pairs([1.0, 0.2, math.nan, 0.5], [[0.1, 0.4], [0.3, math.nan], [0.9], [math.nan]])
    assert (found.n, found.wins) == (2, 0.5)
    assert (found.own, found.random) == (pytest.approx(0.6), pytest.approx(0.35))
    assert found.difference == pytest.approx(0.25)
    assert found.test.n_items == 2
    assert found.intervals["difference"] == bootstrap_interval([1.0 - 0.4, 0.2 - 0.3])
    assert found.intervals["wins"] == bootstrap_interval([1.0, 0.0])
    assert study.random_pairs([0.5, 0.5], [[0.5], [0.4]]).wins == 0.5  # a tie is not a win
    nothing = study.random_pairs([math.nan], [[1.0]])
    assert (nothing.n, math.isnan(nothing.own)) == (0, True)
    assert set(nothing.intervals.values()) == {None}


def test_pairs_are_scored_as_the_metric_scores_them(data):
    load, seen = loader(), []
    pairs = study.compare_pairs(load, data, n_random=2, seed=3, advance=seen.append)
    assert sum(seen) == len(data.stories)
    assert "|theta:0.3@given" in pairs.signature
    others = study.random_stories(4, 2, seed=3)
    changes = [
        ({}, {}),
        ({"penalize": False}, {"penalize": False}),
        ({"concreteness": None}, {"weigh": lambda text: 1}),
    ]
    for settings, changed in changes:
        metric, found = load(**settings), pairs.scores(**changed)
        assert found.signature == pairs.signature
        for i in (0, 3):
            for j, score in zip([i, *others[i]], [found.own[i], *found.random[i]], strict=True):
                expected = metric.compute(predictions=[data.stories[j]], images=[data.images[i]])["groovist"]
                assert score == pytest.approx(expected, rel=1e-12)


def test_scores_by_hand(data):
    """Check hand-computed scores.

    A primary color in the text is (1, 0, 0), and in an image (1, -1, -1) / sqrt(3).
    """
    pairs = study.compare_pairs(loader(theta=2.0), data, n_random=0)
    scaled = 2.5 / math.sqrt(3)
    assert pairs.scores(weigh=lambda text: 1.0, penalize=False).own[:3] == pytest.approx([scaled] * 3)
    assert pairs.scores(weigh=lambda text: 3.0).own[:3] == pytest.approx([3 * (scaled - 2)] * 3)


@pytest.mark.parametrize("settings", [{"penalize": False}, {"normalize": "tanh"}, {"concreteness": None}])
def test_pairs_are_scored_by_the_settings_of_the_metric(data, settings):
    found = study.compare_pairs(loader(**settings), data, n_random=0).scores()
    expected = loader(**settings)().compute(predictions=data.stories, images=data.images)["groovist_scores"]
    assert found.own == pytest.approx(expected, rel=1e-12)
    assert found.random == [[]] * 4


def test_given_regions_stay_with_their_images(data):
    # The left third of each image has another color, and only the boxes of every second story contain it.
    other = NAMES[1:] + NAMES[:1]
    for images, name in zip(data.images, other, strict=True):
        for image in images:
            image.paste(COLOURS[name], (0, 0, 2, 6))
    boxes = [[{"boxes": [[0, 0, 2, 6]] if i % 2 else [[2, 0, 6, 6]]}] * 2 for i in range(len(NAMES))]
    with_regions = study.Stories(data.stories, data.images, boxes)
    pairs = study.compare_pairs(loader(), with_regions, n_random=1, seed=2)
    assert "|regions:given|" in pairs.signature
    found, others = pairs.scores(), study.random_stories(len(NAMES), 1, seed=2)
    for i, ((j,), own, random) in enumerate(zip(others, found.own, found.random, strict=True)):
        for story, score in ((i, own), (j, random[0])):
            given = {"images": [data.images[i]], "regions": [boxes[i]]}
            expected = loader()().compute(predictions=[data.stories[story]], **given)["groovist"]
            assert score == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found.own[0] > 0.1 > found.own[1]  # its boxes show only the color of the first story


def test_ablations_are_the_settings_of_the_metric(data):
    load, idf = loader(), fit_idf(data.stories, lowercase=True)
    found = study.ablations(load, data, idf, n_random=1)
    assert list(found) == [name for name, *_ in study.ABLATIONS]
    for name, units, weights, penalize in study.ABLATIONS:
        settings = {"units": units, "penalize": penalize}
        settings |= {"concreteness": "idf", "idf": data.stories} if weights == "idf" else {}
        settings |= {"concreteness": None} if weights is None else {}
        expected = load(**settings).compute(predictions=data.stories, images=data.images)["groovist_scores"]
        assert found[name].own == pytest.approx(expected, rel=1e-12), name
    full = study.random_pairs(found["GROOViST"].own, found["GROOViST"].random)
    assert full.wins == 1.0


def test_parts_of_the_data_as_the_paper_has_them():
    t, p = [1.0, 0.9, 2.0, math.nan, 0.1], [0.2325, 0.2324, 0.5, 0.1, 0.1]
    assert study.parts_of_data(t, p, [3.0, 3.0, 2.9, 4.0, 2.0]) == {
        "all stories": [True] * 5,
        "T >= 1.0": [True, False, True, False, False],
        "T < 1.0": [False, True, False, False, True],
        "P >= 0.2325, rating >= 3.0": [True, False, False, False, False],
        "P < 0.2325, rating >= 3.0": [False, True, False, True, False],
    }
