"""User errors survive pickling, are built-in exceptions, too, and are distinct from bugs."""

import errno
import pickle
import subprocess
import sys

import pytest

import vlgauge
from vlgauge.core.errors import (
    MissingExtraError,
    MissingFileError,
    NetworkError,
    UsageError,
    UsageIndexError,
    UsageTypeError,
    WeightsNotFoundError,
    as_option,
    as_setting,
    describe,
    is_of_item,
    is_of_user,
    naming_arguments,
    short_reason,
)

CLASSES = {
    UsageError: ValueError,
    UsageTypeError: TypeError,
    UsageIndexError: IndexError,
    MissingFileError: FileNotFoundError,
    MissingExtraError: ImportError,
    WeightsNotFoundError: FileNotFoundError,
    NetworkError: OSError,
}
RAISE_IN_ANOTHER_PROCESS = """
import pickle, sys
from vlgauge.core.errors import *
import vlgauge.core.errors as errors
found = []
for name in sys.argv[1:]:
    found.append(getattr(errors, name).about("images", "must be a list, got None", "pass images=[...]"))
found.append(errors.NetworkError("the server is busy", 503))
sys.stdout.buffer.write(pickle.dumps(found))
"""


def test_the_class_is_public():
    assert vlgauge.UsageError is UsageError


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_class_is_a_usage_error_and_a_builtin_one(kind):
    assert issubclass(kind, UsageError)
    assert issubclass(kind, ValueError)
    assert issubclass(kind, CLASSES[kind])
    assert str(kind("`x` must be 1")) == "`x` must be 1"
    assert (kind("").argument, kind("").remedy) == (None, None)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_about_and_with_message(kind):
    error = kind.about("w", "must be positive, got -1")
    assert (type(error), str(error), error.argument, error.remedy) == (kind, "`w` must be positive, got -1", "w", None)
    error = kind.about("w", "must be positive, got -1", "leave it out").with_message("clip_s: no")
    assert (type(error), str(error), error.argument, error.remedy) == (kind, "clip_s: no", "w", "leave it out")


def test_errors_of_another_process_arrive_whole():
    words = [sys.executable, "-c", RAISE_IN_ANOTHER_PROCESS, *(kind.__name__ for kind in CLASSES)]
    *found, network = pickle.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
    assert [type(one) for one in found] == list(CLASSES)
    assert {str(one) for one in found} == {"`images` must be a list, got None; pass images=[...]"}
    assert {(one.argument, one.remedy) for one in found} == {("images", "pass images=[...]")}
    assert (str(network), network.status) == ("the server is busy", 503)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UsageError("no"), "no"),
        (NetworkError("the server is busy", 503), "the server is busy"),
        (WeightsNotFoundError("none"), "none"),
        (FileNotFoundError(errno.ENOENT, "No such file", "rows.csv"), "rows.csv: No such file"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "the disk is full, or the target of standard output",
        ),
        (MemoryError(), "there is not enough memory"),
        (MemoryError("1 TB"), "1 TB"),
    ],
    ids=repr,
)
def test_what_users_can_fix(error, text):
    assert is_of_user(error)
    assert describe(error) == text


@pytest.mark.parametrize(
    "error",
    [KeyError("scores_of_rows"), TypeError("x"), ValueError("x"), IndexError(), ImportError("x"), OSError("x")],
    ids=repr,
)
def test_bugs(error):
    assert not is_of_user(error)


def test_what_is_missing_for_every_item_is_of_none():
    everywhere = {MissingExtraError, WeightsNotFoundError, NetworkError}
    assert {kind for kind in CLASSES if not is_of_item(kind("it"))} == everywhere
    assert not is_of_item(ValueError("bug"))


def test_a_front_end_calls_the_argument_by_its_own_name():
    error = UsageError.about("images[0][2]", "must be an image, got 1", "pass a path")
    assert error.in_words("`Pictures` 3") == "`Pictures` 3 must be an image, got 1; pass a path"
    assert error.with_message("row 4: no image").in_words("`Pictures` 3") == "row 4: no image"
    assert UsageError("`x` must be 1").in_words("`y`") == "`x` must be 1"


def test_a_front_end_names_other_arguments_in_its_own_words():
    assert (as_option("id"), as_option("id", "COLUMN")) == ("`id`", 'id="COLUMN"')
    assert (as_setting("df"), as_setting("n", None), as_setting("profile", "embedded")) == (
        "`df`",
        "n=None",
        'profile="embedded"',
    )
    with naming_arguments(lambda name, value, is_setting: f"{name}/{value}/{is_setting}"):
        assert (as_option("id", 1), as_setting("df")) == ("id/1/False", "df/Ellipsis/True")
    assert as_option("id") == "`id`"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError(" two\n lines\t"), "two lines"),
        (OSError("e" * 201), "e" * 200),
        (AssertionError(), "AssertionError"),
        (KeyError(" "), "' '"),
        (RuntimeError("\n"), "RuntimeError"),
    ],
)
def test_short_reason(error, expected):
    assert short_reason(error) == expected
