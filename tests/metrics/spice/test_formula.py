"""SPICE of given graphs: by hand, and against the definition as plain loops."""

import math
import random

import pytest

from vlgauge.core.catalog import folder_module

formula = folder_module("spice", "formula")
SYNONYMS = {"cab": {"1"}, "taxi": {"1", "2"}, "car": {"2", "3"}, "auto": {"3"}, "red": {"4"}, "scarlet": {"4"}}


def synsets(word):
    return frozenset(SYNONYMS.get(word, ()))


def words(tuples):
    return [[sorted(concept.words) for concept in parts] for parts in tuples]


def test_similar_objects_become_one():
    # "taxi" shares a synset with "cab", "car" one with "taxi": all three are one, "dog" is not.
    found = formula.merge_tuples([("cab",), ("taxi",), ("car",), ("dog",)], synsets)
    assert words(found) == [[["cab", "car", "taxi"]], [["dog"]]]


def test_the_most_similar_object_is_taken():
    # car-taxi 1/3, car-auto 1/2: "car" joins "auto", which comes later.
    found = formula.merge_tuples([("taxi",), ("auto",), ("car",)], synsets)
    assert words(found) == [[["taxi"]], [["auto", "car"]]]


def test_attributes_and_relations_are_merged_between_the_same_objects_only():
    graph = [("cab", "red"), ("taxi", "scarlet"), ("dog", "red"), ("cab", "be near", "dog"), ("taxi", "near", "dog")]
    found = formula.merge_tuples([*graph, ("dog", "near", "cab")], synsets)
    assert words(found) == [
        [["cab", "taxi"]],
        [["cab", "taxi"], ["red", "scarlet"]],
        [["dog"]],
        [["dog"], ["red"]],
        [["cab", "taxi"], ["near"], ["dog"]],
        [["dog"], ["near"], ["cab", "taxi"]],
    ]


def test_by_hand():
    candidate = formula.merge_tuples([("cab", "red"), ("cab", "chase", "dog")], synsets)
    references = formula.merge_tuples([("taxi", "scarlet"), ("dog", "big"), ("cat",)], synsets)
    # All tuples of cab, (cab, red), dog and (cab, chase, dog) match except the relation. The references have 5 tuples.
    hits = formula.match_tuples(candidate, references)
    assert hits == [True, True, True, False]
    assert formula.f_score(sum(hits), len(candidate), len(references)) == (0.75, 0.6, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((0, 3, 4), (0.0, 0.0, 0.0)), ((0, 0, 4), (0.0, 0.0, 0.0)), ((3, 3, 2), (1.0, 1.5, 1.2))],
)
def test_corners(counts, expected):
    assert formula.f_score(*counts) == pytest.approx(expected)


def test_references_that_say_nothing():
    assert all(math.isnan(part) for part in formula.f_score(0, 3, 0))


def plain_score(candidate, references):
    """Compute F1 of tuples of words as the paper defines it, for graphs without similar words to merge."""

    def similar(one, other):
        return one == other or bool(synsets(one) & synsets(other))

    hits = 0
    for one in candidate:
        hits += any(
            len(one) == len(other) and all(similar(a, b) for a, b in zip(one, other, strict=True))
            for other in references
        )
    return 2 * hits / (len(candidate) + len(references)) if hits else 0.0


@pytest.mark.parametrize("seed", range(20))
def test_equals_the_definition_where_nothing_merges(seed):
    rng = random.Random(seed)
    apart = [("cab", "auto", "dog", "cat"), ("taxi", "dog", "bird", "cat")]

    def graph(objects):
        names = rng.sample(objects, rng.randint(1, 4))
        attributes = {(rng.choice(names), rng.choice(("red", "big", "old"))) for _ in range(rng.randint(0, 3))}
        relations = {(rng.choice(names), rng.choice(("on", "by")), rng.choice(names)) for _ in range(rng.randint(0, 3))}
        return [*((name,) for name in names), *sorted(attributes), *sorted(relations)]

    mine, theirs = graph(apart[0]), graph(apart[1])
    candidate, references = formula.merge_tuples(mine, synsets), formula.merge_tuples(theirs, synsets)
    assert (len(candidate), len(references)) == (len(mine), len(theirs))
    score = formula.f_score(sum(formula.match_tuples(candidate, references)), len(candidate), len(references))[2]
    assert score == pytest.approx(plain_score(mine, theirs), rel=1e-12)


def test_kinds():
    found = formula.merge_tuples([("cab", "red"), ("cab", "two"), ("cab", "big"), ("cab", "on", "road")], synsets)
    counts = {kind: sum(formula.is_kind(kind, one) for one in found) for kind in formula.KINDS}
    assert counts == {"objects": 2, "attributes": 3, "relations": 1, "colours": 1, "numbers": 1, "sizes": 1}
