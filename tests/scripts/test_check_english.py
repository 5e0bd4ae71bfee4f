"""The count of odd English in docstrings and comments."""

import pytest
from script_modules import script_module

check = script_module("check_english.py")


@pytest.mark.parametrize(
    ("text", "is_docstring", "expected"),
    [
        ("Return the mean; NaN if there is none.", True, ["semicolon in a summary"]),
        ("Return the mean.\n\nIt is exact; no sampling.", True, []),
        ("What the mean is.", True, ["start of a summary"]),
        ("the mean, where there is one", False, ["where for if"]),
        ("next to the mean, beside the sum", False, ["beside"]),
        ("Use `beside` and ``data set`` as names.", True, []),
        ("The data set of a picture.", True, ["term", "term"]),
        ("a path that is no file", False, ["is no"]),
        ("there is no file", False, []),
    ],
)
def test_hits_by_pattern(text, is_docstring, expected):
    assert check.hits_of(text, is_docstring) == expected


def test_docstrings_and_comments_of_a_file(tmp_path):
    file = tmp_path / "file.py"
    file.write_text('"""Module."""\n\n\ndef mean():\n    """Return it."""\n    return 1  # a number\n')
    assert list(check.texts_of(file)) == [(1, "Module.", True), (5, "Return it.", True), (6, "a number", False)]


def test_a_rate_above_the_limit_fails(tmp_path, monkeypatch, capsys):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "file.py").write_text('"""Nobody is beside it."""\n')
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["check_english.py", "--list"])
    assert check.main() == 1
    assert "shared/file.py:1: beside: Nobody is beside it." in capsys.readouterr().out
