"""Objects of captions in the variants of CHAIR: by hand, and the known mistakes of each variant."""

from functools import partial

import pytest

import vlgauge
from vlgauge.core.catalog import folder_module

formula = folder_module("chair", "formula")
objects = folder_module("chair", "objects")
TABLE, MENDED = objects.mscoco_table(), objects.mscoco_table(True)


def named(caption, variant="2018"):
    mended = variant == "fixed"
    forms = partial(objects.forms_fixed, table=MENDED) if mended else objects.forms_2018
    found, _ = objects.find_mentions(caption, MENDED if mended else TABLE, forms, mended=mended)
    return [(one.word, one.node) for one in found]


def test_table():
    assert (len(TABLE), len(set(TABLE.values()))) == (403, 80)
    assert TABLE["puppy"] == "dog"
    assert " motor bike" in TABLE
    assert "motor bike" not in TABLE
    assert MENDED["motor bike"] == "motorcycle"


@pytest.mark.parametrize("variant", ["2018", "fixed"])
def test_both(variant):
    assert named("Two puppies and a hot dog on a couch.", variant) == [
        ("puppy", "dog"),
        ("hot dog", "hot dog"),
        ("couch", "couch"),
    ]
    assert named("a baby bird on a passenger train", variant) == [("bird", "bird"), ("train", "train")]
    assert named("the seat of the toilet", variant) == [("toilet", "toilet")]
    assert named("a bow tie", variant) == [("tie", "tie")]
    assert named("", variant) == []


@pytest.mark.parametrize(
    ("caption", "released", "fixed"),
    [
        ("a bus", [], [("bus", "bus")]),
        ("two buses", [("bus", "bus")], [("bus", "bus")]),
        ("a wine glass", [("wine glass", "wine glass")], [("wine glass", "wine glass")]),
        ("a tennis racket", [("racket", "tennis racket")], [("tennis racket", "tennis racket")]),
        ("a motor bike", [], [("motor bike", "motorcycle")]),
        ("a stove top oven", [("stove", "oven"), ("oven", "oven")], [("stove top oven", "oven")]),
        ("an iPhone", [], [("iphone", "cell phone")]),
    ],
)
def test_mistakes_of_2018_and_their_mending(caption, released, fixed):
    assert named(caption) == released
    assert named(caption, "fixed") == fixed


@pytest.mark.parametrize(
    ("word", "found"),
    [
        *(("bus", "bu"), ("buses", "bus"), ("glass", "glas"), ("this", "thi"), ("children", "child")),
        *(("scissors", "scissors"), ("doggies", "doggies"), ("knives", "knife"), ("mothers-in-law", "mother-in-law")),
        *(("dogs'", "dog's"), ("s", "s"), ("analyses", "analysis"), ("", "")),
    ],
)
def test_singular_of_2018(word, found):
    assert objects.singular_2018(word) == found


def test_opera_takes_the_lemmas_that_it_is_given():
    lemmas = {"busses": "bus", "hot": "hot", "dogs": "dog"}
    found, words = objects.find_mentions("busses hot dogs", TABLE, lambda tokens: [lemmas[one] for one in tokens])
    assert [one.node for one in found] == ["bus", "hot dog"]
    assert words == ["bus", "hot dog"]
    assert [(one.start, one.end) for one in found] == [(0, 1), (1, 3)]


def test_counts_by_hand():
    mentions = objects.find_mentions("a dog and a puppy by a cat", TABLE, objects.forms_2018)[0]
    counts = formula.counts_of([one.node for one in mentions], frozenset({"dog", "chair"}), 8)
    # Three mentions, the cat invented; of dog and chair the dog is found; dog and cat are named.
    assert counts == (1, 3, 1, 2, 2, 8)


def test_objects_that_no_caption_can_name_are_told():
    chair = vlgauge.load("chair", keep_in_memory=True)
    rows = {"predictions": ["a dog", "a cat"], "objects": [["dogs", "dog"], ["tree"]]}
    with pytest.warns(UserWarning, match=r"^`objects`.*2 names.*'dogs'"):
        assert chair.compute(**rows)["chair_recall"] == pytest.approx(1 / 3)
