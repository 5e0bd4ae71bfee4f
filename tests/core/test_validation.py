"""Every setting accepts numbers and bools of numpy like those of Python, and warnings name the line of the user."""

import re
import threading
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import vlgauge
from vlgauge.core.catalog import metric_names
from vlgauge.core.progress import check_progress
from vlgauge.core.validation import check_bool, check_float, check_int, plain_number, setting_parameters, warn
from vlgauge.families.ngram.meteor import meteor_matrices
from vlgauge.families.style import StyleTable
from vlgauge.stats import bootstrap_interval, paired_test

# A number in 32 bits that is exact in both forms.
NUMBERS = {
    "bool": [(True, np.bool_(True)), (False, np.bool_(False))],
    "int": [(1, np.int32(1)), (1, np.int64(1)), (1, np.uint8(1))],
    "float": [(0.5, np.float32(0.5)), (0.5, np.float64(0.5)), (1, np.int64(1))],
}
OF_VIDEOS = ("n_frames", "emscore_batch_size")


def numeric_settings():
    """Yield every setting of every metric with a number in its annotation, with the kind of number."""
    for name in metric_names():
        cls = type(vlgauge.load(name, profile="embedded"))
        for setting, parameter in setting_parameters(cls).items():
            kind = re.search(r"\b(bool|int|float)\b", str(parameter.annotation))
            if kind and (name, setting) != ("chrf", "word_order"):  # 0 or 2
                yield name, setting, kind[0]


CASES = list(numeric_settings())


def test_settings_of_all_kinds_are_found():
    assert {("clip_s", "w", "float"), ("rovist_nr", "n", "int"), ("groovist", "penalize", "bool")} <= set(CASES)
    assert {name for name, _, _ in CASES} <= set(metric_names())


@pytest.mark.parametrize(("name", "setting", "kind"), CASES, ids="-".join)
def test_setting_takes_numbers_of_numpy(name, setting, kind):
    config = "video" if setting in OF_VIDEOS else None
    for plain, other in NUMBERS[kind]:
        loaded = [
            vlgauge.load(name, config, profile="embedded", keep_in_memory=True, **{setting: value})
            for value in (plain, other)
        ]
        assert loaded[0].signature_fields() == loaded[1].signature_fields()
        kept = [getattr(metric, setting) for metric in loaded]
        assert kept[0] == kept[1]
        assert type(kept[0]) is type(kept[1])


@pytest.mark.parametrize(("name", "setting"), [case[:2] for case in CASES if case[2] != "bool"], ids="-".join)
def test_truth_value_of_numpy_is_no_number(name, setting):
    config = "video" if setting in OF_VIDEOS else None
    with pytest.raises(ValueError, match=rf"^`{setting}` .*, got (np\.)?True"):
        vlgauge.load(name, config, profile="embedded", keep_in_memory=True, **{setting: np.bool_(True)})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int8(3), 3),
        (np.float32(0.2), float(np.float32(0.2))),
        (np.bool_(True), True),
        (np.longdouble(0.5), 0.5),
        ("3", "3"),
        (None, None),
    ],
)
def test_plain_number(value, expected):
    assert plain_number(value) == expected
    assert type(plain_number(value)) is type(expected)


def test_arrays_stay_arrays():
    array = np.ones(1)
    assert plain_number(array) is array


@pytest.mark.parametrize("value", [np.bool_(True), np.nan, np.float32(np.inf), "1", None, np.array(1.0), -1.0])
def test_what_is_no_number(value):
    with pytest.raises(ValueError, match=r"^`theta`.*at least 0"):
        check_float("theta", value, "a number of at least 0", 0.0)


@pytest.mark.parametrize("value", [np.bool_(True), np.float64(2.0), np.array([1]), np.int64(0)])
def test_what_is_no_whole_number(value):
    with pytest.raises(ValueError, match=r"^`n`.*at least 1"):
        check_int("n", value, 1)


def test_what_is_no_truth_value():
    with pytest.raises(ValueError, match=r"^`scale`.*got np\.int64.*1"):
        check_bool("scale", np.int64(1))


def test_progress_takes_a_truth_value_of_numpy():
    assert check_progress(np.bool_(False)) is False


def test_public_functions_take_numbers_of_numpy():
    scores = [0.1, 0.4, 0.3, 0.9]
    how = {"level": np.float32(0.5), "resamples": np.int64(50), "seed": np.int32(3)}
    assert bootstrap_interval(scores, **how) == bootstrap_interval(scores, level=0.5, resamples=50, seed=3)
    how = {"resamples": np.int64(50), "seed": np.int32(3)}
    assert paired_test(scores, scores[::-1], **how) == paired_test(scores, scores[::-1], resamples=50, seed=3)
    (one,), (other,) = (list(meteor_matrices([["a b", "b c"]], workers=n)) for n in (1, np.int64(1)))
    assert one.tolist() == other.tolist()
    table = StyleTable.fit(["a dog", "a cat"], ["dogs", "cats"])
    assert table.top_ngrams("dogs", np.int64(1), np.int64(2), "paper", np.int64(1)) == (
        table.top_ngrams("dogs", 1, 2, "paper", 1)
    )


class Passing:
    """Code of this package between the user and a warning."""

    def __init__(self, name):
        scope = {"__name__": name}
        source = "def call(function, *rest):\n    return function(*rest)\n"
        exec(compile(source, f"<{name}>", "exec"), scope)
        self.call = scope["call"]


@pytest.mark.parametrize("depth", [0, 1, 5])
@pytest.mark.parametrize(
    "name",
    [
        *("vlgauge.inputs.text.words", "vlgauge_metrics.trm.trm", "vlgauge_workbench.scoring"),
        *("evaluate.module", "evaluate_modules.metrics.trm.ab12.trm"),
    ],
)
def test_a_warning_is_of_the_line_of_the_user_at_any_depth(name, depth):
    between = [Passing(name).call] * depth
    with pytest.warns(UserWarning, match="look here") as caught:
        between[0](*between[1:], warn, "look here") if between else warn("look here")
    assert [(warning.filename, warning.category) for warning in caught] == [(__file__, UserWarning)]


def test_a_warning_at_the_end_of_a_context_is_of_the_line_that_opened_it():
    scope = {"__name__": "vlgauge.inputs.images.animations", "warn": warn, "contextmanager": contextmanager}
    exec("@contextmanager\ndef told():\n    yield\n    warn('left')\n", scope)
    with pytest.warns(UserWarning, match="left") as caught, scope["told"]():
        pass
    assert caught[0].filename == __file__


def test_a_warning_is_shown_once_for_each_line(recwarn):
    warnings.simplefilter("default")
    for _ in range(3):
        warn("again")
    warn("again")
    assert len(recwarn) == 2
    assert recwarn[0].lineno < recwarn[1].lineno


def test_package_called_like_ours_is_the_users():
    with pytest.warns(UserWarning, match="mine") as caught:
        Passing("vlgauge_study.run").call(warn, "mine")
    assert caught[0].filename == "<vlgauge_study.run>"


def test_a_warning_without_any_line_of_the_user_is_shown_all_the_same():
    def run():
        thread = threading.Thread(target=Passing("vlgauge.core.pool").call, args=(warn, "alone"))
        thread.start()
        thread.join()

    with pytest.warns(UserWarning, match="alone") as caught:
        run()
    assert [warning.filename for warning in caught] == [threading.__file__]
