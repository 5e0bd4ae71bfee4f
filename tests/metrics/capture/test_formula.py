"""CAPTURE's three stages: by hand, greedy and best matching apart, and the formula."""

import numpy as np
import pytest

from vlgauge.core.catalog import folder_module

formula = folder_module("capture", "formula")
ALIKE = {frozenset(pair) for pair in (("cab", "taxi"), ("cab", "car"), ("near", "beside"))}


def synonymous(one, other):
    return one == other or frozenset((one, other)) in ALIKE


def similarity(mine, theirs):
    return np.full((len(mine), len(theirs)), 0.5)


def one_word(*words):
    return [(word,) for word in words]


def test_equal_ones_come_first():
    # If synonyms were matched first, "cab" would match "taxi", and the other "cab" would stay unmatched.
    found = formula.match(one_word("cab"), one_word("taxi", "cab"), synonymous, None, released=True)
    assert found.pairs == ((0, 1),)


def test_greedy_and_best():
    mine, theirs = one_word("cab", "taxi"), one_word("cab2", "x")
    assert formula.match(mine, theirs, synonymous, None, released=True).pairs == ()
    # "a" matches "x" or "y". Greedy matching assigns "x", which "b" requires.
    alike = {("a", "x"), ("a", "y"), ("b", "x")}
    mine, theirs = one_word("a", "b"), one_word("x", "y")
    fits = lambda one, other: (one, other) in alike  # noqa: E731
    assert formula.match(mine, theirs, fits, None, released=True).pairs == ((0, 0),)
    assert formula.match(mine, theirs, fits, None, released=False).pairs == ((0, 1), (1, 0))


def test_all_parts_of_a_relation():
    mine, theirs = [("cab", "near", "dog")], [("taxi", "beside", "dog"), ("taxi", "on", "dog")]
    assert formula.match(mine, theirs, synonymous, None, released=True).pairs == ((0, 0),)
    assert formula.match(mine, theirs[1:], synonymous, None, released=True).pairs == ()


def test_what_is_left_adds_its_nearest():
    mine, theirs = one_word("cab", "dog", "sky"), one_word("cab", "sea")
    found = formula.match(mine, theirs, synonymous, similarity, released=True)
    assert (found.candidate, found.reference) == (1 + 2 * 0.5, 1 + 0.5)
    assert formula.match(mine, theirs[:1], synonymous, similarity, released=True).candidate == 1.0


@pytest.mark.parametrize("released", [True, False])
def test_nothing_on_one_side(released):
    for mine, theirs in (([], one_word("a")), (one_word("a"), []), ([], [])):
        found = formula.match(mine, theirs, synonymous, similarity, released=released)
        assert (found.pairs, found.candidate, found.reference) == ((), 0.0, 0.0)


def test_cosines_below_0_count_in_the_released_code_only():
    mine, theirs = one_word("cab"), one_word("sea", "sky")
    apart = lambda mine, theirs: np.array([[-0.4, -0.2]])  # noqa: E731
    assert formula.match(mine, theirs, synonymous, apart, released=True).candidate == -0.2
    assert formula.match(mine, theirs, synonymous, apart, released=False).candidate == 0.0


def test_measures():
    found = formula.Matched(((0, 0),), 1.0, 1.0)
    precision, recall, f = formula.f_measure(found, 2, 4)
    assert (precision, recall) == pytest.approx((0.5, 0.25), abs=1e-5)
    assert f == pytest.approx(2 * 0.5 * 0.25 / 0.75, abs=1e-5)
    assert formula.capture_score(1.0, 0.5, 0.0) == pytest.approx((5 + 2.5) / 12)
