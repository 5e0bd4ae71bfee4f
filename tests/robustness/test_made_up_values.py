"""Made-up settings and rows, sampled from a seed: each gives a result or a sentence that names the error."""

import inspect
import random
import time
import warnings

import numpy as np
import pytest
from metric_checks import ROWS, class_of, family_of

import vlgauge
from vlgauge.core import catalog
from vlgauge.core.catalog import metric_folder
from vlgauge.core.validation import HOST_KEYWORDS, setting_names

MOST_SECONDS = 10  # not a speed test: separates calls that hang from calls that end
MOST_CHARACTERS = 4300  # the longest path, and a sentence


# -- values -----------------------------------------------------------------------------------------------------------
class Unshown:
    """An object without a representation."""

    def __repr__(self):
        raise RuntimeError("no")


def deep_list():
    value = []
    for _ in range(5000):
        value = [value]
    return value


# Built once, because it takes longer than all other values.
DEEP = deep_list()


def made_up_values():
    """Return values that are invalid, or almost always so.

    They are new each time, so that no call can change the values of the next.
    """
    plain = [None, True, -1, 0, 3, 10**400, -(10**5000), float("nan"), float("inf"), 1e-320, "", " ", "\ud800", "\0"]
    texts = ["a dog", "x" * 100_000, "../..", "https://example.org/x", "/dev/zero", "\x1b[2J", b"x", b"", bytearray(2)]
    lists = [[], [[]], [[[]]], [None], [""], ["\ud800"], [["a"], ["b"]], ["a", ["b"]], DEEP, (), range(3), set()]
    mappings = [{}, {"path": 3}, {"bytes": 4}, {"bytes": None}, {3: 4}, {"a": DEEP}, [{"groovist": 10**400}]]
    arrays = [
        np.array([1, 2]),
        np.array(3),
        np.ma.masked,
        np.zeros((0, 3)),
        np.array([None]),
        np.full((4, 4, 3), np.nan),
    ]
    objects = [object(), Unshown(), len, int, iter([1]), np.float32(2), np.array(["a"]), 1j, [Unshown()], [[Unshown()]]]
    return [*plain, *texts, *lists, *mappings, *arrays, *objects]


N_VALUES = len(made_up_values())
METRICS = catalog.metric_names()


def loaded(name, **settings):
    return vlgauge.load(name, **{"profile": "embedded", "keep_in_memory": True, "progress": False, **settings})


def outcome(call):
    """Return the message of the error that a call raises, or "" if it returns a result."""
    start = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
        said = ""
    except (ValueError, TypeError, OSError) as error:
        said = str(error)
        assert "`" in said
        assert len(said) < MOST_CHARACTERS
    assert time.monotonic() - start < MOST_SECONDS
    return said


def settings_of(name):
    return [setting for setting in setting_names(type(loaded(name))) if setting not in HOST_KEYWORDS]


@pytest.mark.parametrize("name", METRICS)
def test_made_up_settings(name):
    for setting in settings_of(name):
        for number in random.Random(f"{name}.{setting}").sample(range(N_VALUES), 4):
            outcome(lambda: loaded(name, **{setting: made_up_values()[number]}))  # noqa: B023


def keywords_of(metric):
    """Return the names of the columns and of the per-call inputs."""
    own = list(inspect.signature(metric._compute).parameters)
    return [*dict.fromkeys([*(column.name for column in metric.columns), *own])]


def check_columns(name, count):
    """Check values for every keyword argument: as the whole, as its last row, and inside it.

    None of them affects the next call.
    """
    family = family_of(class_of(metric_folder(name))).__name__
    metric = loaded(name, **({"config_name": "demo"} if family == "StyleMetric" else {}))
    fine = {column: ROWS[family][column] for column in ROWS[family] if column in keywords_of(metric)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = repr(metric.compute(**fine))
        for keyword in keywords_of(metric):
            rows = fine.get(keyword, [None] * len(ROWS[family]["predictions"]))[:-1]
            for number in random.Random(f"{name}:{keyword}").sample(range(N_VALUES), count):
                whole, cell, inner = (made_up_values()[number] for _ in range(3))
                for given in (whole, [*rows, cell], [*rows, [inner]]):
                    outcome(lambda: metric.compute(**{**fine, keyword: given}))  # noqa: B023
        assert repr(metric.compute(**fine)) == expected


@pytest.mark.parametrize("name", METRICS)
def test_made_up_columns(name):
    check_columns(name, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_all_made_up_columns(name):
    check_columns(name, N_VALUES)
