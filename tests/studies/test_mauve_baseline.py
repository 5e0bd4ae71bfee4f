"""MAUVE through a package of the user's, here one that only has its signature."""

import builtins
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from vlgauge.studies.mauve_baseline import mauve_baseline

RNG = np.random.default_rng(0)
MANY = RNG.normal(size=(100, 3))


@pytest.fixture
def asked(monkeypatch):
    """What the package was called with."""
    found = {}

    def compute_mauve(p_features=None, q_features=None, p_text=None, seed=25, verbose=True, num_buckets="auto"):
        found.update(p=p_features, q=q_features, seed=seed, verbose=verbose, num_buckets=num_buckets)
        return SimpleNamespace(mauve=np.float64(0.75))

    module = ModuleType("mauve")
    module.compute_mauve = compute_mauve
    monkeypatch.setitem(sys.modules, "mauve", module)
    return found


def test_vectors_and_seed_reach_the_package(asked):
    result = mauve_baseline(MANY, MANY + 1.0, num_buckets=7)
    assert (result, type(result)) == (0.75, float)
    assert np.array_equal(asked["p"], MANY)
    assert np.array_equal(asked["q"], MANY + 1.0)
    assert (asked["seed"], asked["verbose"], asked["num_buckets"]) == (25, False, 7)


def test_small_sides_are_warned_of(asked):
    with pytest.warns(UserWarning, match=r"fewer than 100 on a side it has few values, got \(100, 3\) and \(99, 3\)"):
        mauve_baseline(MANY, MANY[:99])


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        (MANY, MANY[:, :2], r"must be vectors of one width, \(n, d\) and \(m, d\), got \(100, 3\) and \(100, 2\)"),
        (MANY, [], "must be vectors of one width"),
        (MANY, [[1.0, np.nan, 2.0]], "`q_features` must be finite, got nan"),
    ],
)
def test_vectors_that_are_refused(asked, p, q, message):
    with pytest.raises(ValueError, match=message):
        mauve_baseline(p, q)
    assert not asked


def test_the_package_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.delitem(sys.modules, "mauve", raising=False)
    real = builtins.__import__

    def without(name, *rest):
        if name == "mauve":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="MAUVE needs the package mauve-text, not installed here; run: pip install"):
        mauve_baseline(MANY, MANY)
