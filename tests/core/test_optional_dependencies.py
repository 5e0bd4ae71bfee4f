"""An unsupported version and a missing package have different messages."""

import sys
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from unittest.mock import patch

import pytest

from vlgauge.api.row_sources import hub
from vlgauge.core import optional_dependencies
from vlgauge.core.errors import MissingExtraError
from vlgauge.core.optional_dependencies import check_version, not_importable
from vlgauge.leaderboard.exporters import eval_results
from vlgauge.models.sentences.loading import load_sentence_model

MISSING = 'this needs more packages; run: pip install "vlgauge[clip]"'


def imported(code):
    try:
        exec(code, {})
    except ImportError as error:
        return error
    raise AssertionError


def test_a_version_is_compared_as_a_version():
    with patch.object(optional_dependencies, "version", return_value="4.10.0"):
        check_version("x", "4.9", "this")
        with pytest.raises(MissingExtraError, match=r'^this requires x 4\.11 or newer, got 4\.10\.0; run.*"x>=4\.11"'):
            check_version("x", "4.11", "this")
    with patch.object(optional_dependencies, "version", side_effect=PackageNotFoundError):
        check_version("x", "4.9", "this")


@pytest.mark.parametrize("code", ["import not_there_at_all", "import not_there_at_all.part"])
def test_a_missing_package_is_told_as_before(code):
    assert not_importable(MISSING, imported(code)) == MISSING


def test_a_package_that_was_taken_away_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "json", None)
    assert not_importable(MISSING, imported("import json")) == MISSING


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("from json import not_in_this_version", "cannot import name 'not_in_this_version' from 'json'"),
        ("import json.not_in_this_version", "No module named 'json.not_in_this_version'"),
    ],
)
def test_another_version_is_told_as_one(code, why):
    told = not_importable(MISSING, imported(code))
    assert told.startswith(f"this needs more packages (the installed version or build is not compatible: {why}")
    assert told.endswith('); run: pip install --upgrade "vlgauge[clip]"')


def test_what_caused_it_counts():
    error = ImportError("our own words")
    error.__cause__ = imported("import not_there_at_all")
    assert not_importable(MISSING, error) == MISSING


@pytest.mark.skipif(not find_spec("sentence_transformers"), reason="sentence_transformers is not installed")
def test_a_module_of_another_version_is_not_told_as_a_missing_extra(monkeypatch, tmp_path):
    """Check the message for sentence-transformers 5.1, which has the modules at another path."""
    monkeypatch.setitem(sys.modules, "sentence_transformers.sentence_transformer.modules", None)
    with pytest.raises(ImportError, match=r"sentence_transformer.*--upgrade"):
        load_sentence_model(tmp_path, "mean", "cpu")


def test_what_only_some_calls_need_is_said_by_them():
    with patch.object(optional_dependencies, "version", return_value="1.3.9"):
        with pytest.raises(MissingExtraError, match=r"huggingface_hub.*1\.4.*1\.3\.9"):
            eval_results([])
        with pytest.raises(MissingExtraError, match=r"5\.0.*1\.3\.9"):
            hub.search("words")


def test_an_import_that_fails_is_no_fault_of_the_data_set():
    with pytest.raises(ImportError, match="of a version"), hub.in_words("owner/name"):
        raise ImportError("of a version")
