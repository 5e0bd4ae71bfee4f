"""Another organization in place of ours, on a copy of the files that git tracks in this checkout."""

import shutil
import subprocess

import pytest
from folders import ROOT
from script_modules import script_module

rename = script_module("rename_organisation.py")


@pytest.fixture(scope="module")
def listed():
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout of git")
    told = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in told.split("\0") if (ROOT / name).is_file() and (ROOT / name).stat().st_size < 1_000_000]


@pytest.fixture
def copy(listed, tmp_path):
    for name in listed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A", "-f"], cwd=tmp_path, check=True)
    return tmp_path


OWN = {"scripts/rename_organisation.py", "tests/scripts/test_rename_organisation.py"}  # these have both names


def texts(root, listed):
    return {name: (root / name).read_bytes() for name in listed if name not in OWN}


def test_every_place_is_renamed_and_can_be_named_back(copy, listed, capsys):
    before = texts(copy, listed)
    assert rename.main(["some-group"], root=copy) == 0
    assert "would be changed; add --write" in capsys.readouterr().out
    assert texts(copy, listed) == before
    assert rename.main(["some-group", "--write"], root=copy) == 0
    after = texts(copy, listed)
    left = ("com/vlgauge/vlgauge", "com/vlgauge\\", "vlgauge.github", "co/vlgauge", "co/spaces/vlgauge", '"vlgauge/trm')
    assert [name for name, content in after.items() for part in left if part.encode() in content] == []
    for name, part in (
        ("setup.cfg", "https://github.com/some-group/vlgauge"),
        ("shared/vlgauge/families/base/metric.py", 'REPOSITORY = "https://github.com/some-group/vlgauge"'),
        ("metrics/trm/trm.py", 'evaluate.load("some-group/trm"'),
        ("metrics/trm/trm.py", "git+https://github.com/some-group/vlgauge@v"),
        ("README.md", "https://some-group.github.io/vlgauge/start.html"),
        ("spaces/builder/assemble.py", 'ORG = "some-group"'),
        ("shared/vlgauge/leaderboard/exporters.py", 'ORGANIZATION = "some-group"'),
        (".github/workflows/spaces.yml", "vars.HF_ORG || 'some-group'"),
    ):
        assert part.encode() in after[name], name
    assert rename.main(["vlgauge", "--old", "some-group", "--write"], root=copy) == 0
    assert texts(copy, listed) == before


def test_folders_of_the_package_keep_their_name():
    text = "`shared/vlgauge/data`, vlgauge/rovist_c/models.py, from vlgauge import trm, ~/.cache/vlgauge/trm"
    assert rename.rename_in_text(text, "vlgauge", "people", ["trm", "rovist_c"]) == (text, 0)
    assert rename.rename_in_text('load("vlgauge/trm")', "vlgauge", "people", ["trm"]) == ('load("people/trm")', 1)


@pytest.mark.parametrize("name", ["a/b", "", "größe", "-a"])
def test_a_name_that_is_none_is_refused(name, capsys):
    assert rename.main([f"--old={name}", "people"]) == 2
    assert f"got {name!r}" in capsys.readouterr().err
