"""ALOHa of given objects: by hand, against all matchings, and the released rule compared with the paper's rule."""

import itertools
import math

import numpy as np
import pytest

from vlgauge.core.catalog import folder_module

formula = folder_module("aloha", "formula")
NAMES = [f"w{i}" for i in range(12)]
TABLE = np.random.default_rng(0).uniform(-0.2, 1.0, (12, 12))


def similarity(mine, theirs):
    return TABLE[np.ix_([int(one[1:]) for one in mine], [int(one[1:]) for one in theirs])]


def table_of(rows):
    return lambda mine, theirs: np.array(rows)


def test_by_hand():
    # Greedy matching assigns "a" to "x" and leaves 0.1 for "b". The sum 0.8 + 0.7 is larger.
    found = formula.matches_of(["a", "b"], ["x", "y"], table_of([[0.9, 0.8], [0.7, 0.1]]))
    assert [(one.object, one.reference, one.similarity) for one in found] == [("a", "y", 0.8), ("b", "x", 0.7)]
    assert formula.aloha_score(found, "paper") == 0.7


def test_an_object_too_many():
    found = formula.matches_of(["a", "b"], ["x"], table_of([[0.9], [0.7]]))
    assert [one.similarity for one in found] == [0.9, 0.0]
    assert formula.aloha_score(found, "paper") == 0.0
    assert formula.aloha_score(found, "released") == 0.9


@pytest.mark.parametrize(
    ("mine", "theirs", "paper", "released"),
    [([], [["x"]], 1.0, -math.inf), ([["a"]], [], 0.0, -math.inf), ([], [], 1.0, -math.inf)],
)
def test_without_objects(mine, theirs, paper, released):
    assert formula.best_matching(mine, theirs, similarity, "paper")[0] == paper
    assert formula.best_matching(mine, theirs, similarity, "released")[0] == released


def plain_best(mine, theirs):
    """Return the lowest similarity in the matching with the largest sum, over all choices and all matchings."""
    best = -math.inf
    for choice, others in itertools.product(itertools.product(*mine), itertools.product(*theirs)):
        own, their = sorted(set(choice)), sorted(set(others))
        size = min(len(own), len(their))
        pairings = [
            list(zip(rows, columns, strict=True))
            for rows in itertools.combinations(range(len(own)), size)
            for columns in itertools.permutations(range(len(their)), size)
        ]
        values = similarity(own, their)
        pairs = max(pairings, key=lambda pairs: sum(values[pair] for pair in pairs))
        least = min([values[pair] for pair in pairs] + [0.0] * (len(own) - size))
        best = max(best, least)
    return best


@pytest.mark.parametrize("seed", range(25))
def test_equals_the_definition(seed):
    rng = np.random.default_rng(seed)

    def groups():
        return [list(rng.choice(NAMES, rng.integers(1, 3), replace=False)) for _ in range(rng.integers(1, 4))]

    mine, theirs = groups(), groups()
    assert formula.best_matching(mine, theirs, similarity)[0] == pytest.approx(plain_best(mine, theirs), rel=1e-12)


def test_choices():
    assert formula.choices([["a", "b"], ["c"], ["d", "e", "f"]]) == 6
