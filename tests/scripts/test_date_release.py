"""Changes on the day of a release."""

import shutil

import pytest
import yaml
from folders import ROOT
from script_modules import script_module

import vlgauge

date_release = script_module("date_release.py")
check_release = script_module("check_release.py")


@pytest.fixture
def root(tmp_path):
    for name in ("CHANGELOG.md", "CITATION.cff", *date_release.PAGES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    if "Becomes" not in (tmp_path / "CHANGELOG.md").read_text("utf-8")[:1000]:
        pytest.skip("nothing is to be released")
    return tmp_path


def test_one_command_dates_the_release(root, capsys):
    assert check_release.version_faults(root)
    assert date_release.main(["--date", "2026-12-01"], root=root) == 0
    assert f"commit them, then tag v{vlgauge.__version__}" in capsys.readouterr().out
    assert check_release.version_faults(root) == []
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    assert f"## [Unreleased]\n\n## [{vlgauge.__version__}] - 2026-12-01\n\n### Added\n" in changelog
    assert f"[{vlgauge.__version__}]: https://github.com/" in changelog
    citation = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], str(citation["date-released"])) == (vlgauge.__version__, "2026-12-01")


def test_install_lines_take_the_index_after_it(root):
    before = (root / "README.md").read_text("utf-8")
    assert 'pip install "vlgauge @ git+https://github.com/' in before  # the tag does not exist before the release
    assert date_release.main(["--date", "2026-12-01"], root=root) == 0
    after = (root / "README.md").read_text("utf-8")
    assert "pip install vlgauge\n" in after
    start = (root / "docs" / "start.md").read_text("utf-8")
    assert 'pip install "vlgauge[demo]"' in start
    assert not any("git+" in text for text in (after, start))


def test_a_release_is_dated_once(root, capsys):
    assert date_release.main([], root=root) == 0
    assert date_release.main([], root=root) == 2
    told = f"must have one part [Unreleased] that becomes {vlgauge.__version__}, got another"
    assert told in capsys.readouterr().err
    assert date_release.main(["--date", "tomorrow"], root=root) == 2


def test_a_date_that_is_there_is_replaced():
    text = date_release.date_citation("version: 0.0.1\ndate-released: 2020-01-01\nlicense: x\n", "0.1.0", "2026-12-01")
    assert text == "version: 0.1.0\ndate-released: 2026-12-01\nlicense: x\n"
