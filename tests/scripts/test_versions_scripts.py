"""Packages that are installed for the tests of versions, and reports about installs with other packages."""

import re
from configparser import ConfigParser
from types import SimpleNamespace

import pytest
from folders import ROOT
from script_modules import script_module


@pytest.fixture(scope="module")
def versions():
    return script_module("run_versions.py")


def test_groups_have_extras_and_tests_that_are_there(versions):
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", "utf-8")
    extras = {name.replace("_", "-") for name in config["options.extras_require"]}
    for group in versions.GROUPS.values():
        assert set(group.extras) <= extras
        assert all((ROOT / path).exists() for path in (*group.tests, *group.ignored))


def test_tools_of_the_tests_are_no_extras_and_have_no_lowest_version(versions):
    assert "trl" in versions.GROUPS["all"].extras
    assert "hypothesis" in versions.TOOLS
    assert not [tool for tool in versions.TOOLS if "vlgauge" in tool]


@pytest.mark.parametrize("code", [0, 1])
def test_the_table_says_what_was_installed_and_how_the_tests_ended(versions, monkeypatch, tmp_path, capsys, code):
    ran = []

    def run(command, **_):
        ran.append(" ".join(map(str, command)))
        listed = '[{"name": "NumPy", "version": "2.0.0"}, {"name": "pyarrow", "version": "21.0.0"}]'
        return SimpleNamespace(returncode=code, stdout=listed if "list" in command else "...\n9 passed in 1.0s\n")

    monkeypatch.setattr(versions.subprocess, "run", run)
    monkeypatch.setattr(versions, "FOLDER", tmp_path)
    assert versions.main(["lowest", "light"]) == code
    text = (tmp_path / "tested.md").read_text()
    assert "## lowest, light\n\nExtras `explain`, `meteor`, `video`: 9 passed.\n" in text
    assert "| numpy | 2.0.0 |\n| pyarrow | 21.0.0 |\n" in text
    installs = [words for words in ran if "--resolution" in words]
    assert len(installs) == 1
    (tools,) = [words for words in ran if "--constraint" in words]
    assert tools.partition("--constraint ")[2].split()[0] == str(tmp_path / "lowest-light.txt")
    assert (tmp_path / "lowest-light.txt").read_text() == "numpy==2.0.0\npyarrow==21.0.0\n"
    assert re.search(r"--resolution lowest-direct -e.*\[explain,meteor,video\]$", installs[0])
    assert [words for words in ran if "-m pytest" in words and "--ignore=tests/families/base/test_images.py" in words]
    capsys.readouterr()


def test_what_an_install_changes_is_told(monkeypatch, capsys):
    together = script_module("resolve_together.py")
    assert (
        together.describe_change({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "1.9", "d": "4"})
        == "b 2 to 1.9, c 3 to none"
    )
    assert together.describe_change({"a": "1"}, {"a": "1", "d": "4"}) == "nothing"
    asked = []

    def resolve(requirements, python, known=None):
        asked.append(list(requirements))
        if requirements == ["lost"]:
            return "no such package"
        if known is None:
            return {"trl": "1.0", "datasets": "4.0"}
        assert known.read_text() == "trl==1.0\ndatasets==4.0\n"
        return "no way" if "[" in requirements[1] else {"trl": "1.0", "datasets": "5.0"}

    monkeypatch.setattr(together, "resolve", resolve)
    assert together.main(["trl", "lost"]) == 1
    told = capsys.readouterr()
    assert (
        "| trl | 1.0 | datasets 4.0 to 5.0 | **cannot be installed with it** | **cannot be installed with it** |\n"
        in told.out
    )
    assert "| lost | not resolved here |  |  |  |\n" in told.out
    assert told.err == "trl: no way\nlost: no such package\n"
    assert asked[:2] == [["trl"], ["trl==1.0", "."]]
