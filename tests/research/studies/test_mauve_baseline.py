"""MAUVE through a user-supplied package, here a stub that only has its signature."""

import builtins
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import vlgauge
from vlgauge.research.studies.mauve_against_humans import mauve_against_humans
from vlgauge.research.studies.mauve_baseline import mauve_with_curve

RNG = np.random.default_rng(0)
MANY = RNG.normal(size=(100, 3))


@pytest.fixture
def asked(monkeypatch):
    """Arguments of the calls of the package."""
    found = {"curve": np.array([[1.0, 0.0], [0.0, 1.0]]), "calls": []}

    def compute_mauve(p_features=None, q_features=None, p_text=None, seed=25, verbose=True, num_buckets="auto"):
        found.update(p=p_features, q=q_features, seed=seed, verbose=verbose, num_buckets=num_buckets)
        found["calls"].append((p_features[:, 0].tolist(), q_features[:, 0].tolist()))
        return SimpleNamespace(mauve=np.float64(0.75), divergence_curve=found["curve"])

    module = ModuleType("mauve")
    module.compute_mauve = compute_mauve
    monkeypatch.setitem(sys.modules, "mauve", module)
    return found


def test_vectors_and_seed_reach_the_package(asked):
    result = mauve_with_curve(MANY, MANY + 1.0, num_buckets=7).value
    assert (result, type(result)) == (0.75, float)
    assert np.array_equal(asked["p"], MANY)
    assert np.array_equal(asked["q"], MANY + 1.0)
    assert (asked["seed"], asked["verbose"], asked["num_buckets"]) == (25, False, 7)


def test_small_sides_are_warned_of(asked):
    with pytest.warns(UserWarning, match=r"than 100.*100.*99"):
        mauve_with_curve(MANY, MANY[:99])


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        (MANY, MANY[:, :2], r"got \(100, 3\) and \(100, 2\)"),
        (MANY, [], "shapes"),
        (MANY, [[1.0, np.nan, 2.0]], r"^`q_features`.*got nan"),
    ],
)
def test_vectors_that_are_refused(asked, p, q, message):
    with pytest.raises(ValueError, match=message):
        mauve_with_curve(p, q)
    assert not asked["calls"]


def test_the_package_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.delitem(sys.modules, "mauve", raising=False)
    real = builtins.__import__

    def without(name, *rest):
        if name == "mauve":
            raise ModuleNotFoundError(name, name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"MAUVE.*mauve"):
        mauve_with_curve(MANY, MANY)


@pytest.mark.parametrize("curve", [[[1.0, 0.0], [np.nan, 1.0]], [0.0, 1.0], [[0.0, 1.0, 1.0]], ()])
def test_a_curve_that_cannot_be_drawn_is_none(asked, curve):
    asked["curve"] = curve
    assert mauve_with_curve(MANY, MANY).curve is None


# -- next to human captions -------------------------------------------------------------------------------------------
def encode(texts):
    return np.array([[float(text), 1.0] for text in texts])


@pytest.fixture
def against_people():
    metric = vlgauge.load("mmd_bert", encoder=encode, progress=False)

    def compare(predictions, references):
        with pytest.warns(UserWarning, match="MAUVE") as warned:
            rows = mauve_against_humans(predictions, references, metric)
        return rows, [str(one.message) for one in warned]

    return compare


def test_people_and_the_model_take_turns_at_equal_sizes(asked, against_people):
    predictions = [["1", "2", "3"], ["4"], ["5", "6"], []]
    references = [["11", "12", "13", "14", "15"], ["21", "22", "23", "24"], ["31"], ["41", "42"]]
    rows, warned = against_people(predictions, references)
    shown = [(row.source, row.images, row.candidates, row.references, row.mauve) for row in rows]
    assert shown[0] == ("model", 3, 6, 10, 0.75)
    # The image with one reference is not used. The image with one candidate uses one human caption.
    assert shown[1:] == [("people", 2, 3, 5, 0.75), ("model, human set sizes", 2, 3, 5, 0.75)]
    (everything, ours), (others, people), (same, as_many) = asked["calls"]
    assert (everything, ours) == ([11, 12, 13, 14, 15, 21, 22, 23, 24, 31], [1, 2, 3, 4, 5, 6])
    assert others == same
    assert as_many == [1, 2, 4]
    assert set(people) < {11, 12, 13, 14, 15, 21, 22, 23, 24}
    assert not set(people) & set(others)
    assert rows[0].curve == [[1.0, 0.0], [0.0, 1.0]]
    assert "skips 1 of 4 images, which lack candidates or references" in warned[0]


def test_without_a_second_reference_there_is_no_line_of_people(asked, against_people):
    rows, warned = against_people([["1"], ["2"]], [["3"], ["4"]])
    assert [row.source for row in rows] == ["model"]
    assert "MAUVE has no reference line, because it requires two references of an image" in warned[0]


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        ([["a"], []], [[], ["b"]], "got no common image"),
        ([["a"]], [["b"], ["c"]], "got 1"),
        ([["a"]], ["b"], r"^`references\[0\]`.*got str"),
    ],
)
def test_corpora_that_are_refused(asked, predictions, references, message):
    with pytest.raises(ValueError, match=message):
        mauve_against_humans(predictions, references, None)
    assert not asked["calls"]
