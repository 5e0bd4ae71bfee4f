"""Files that a release uploads."""

import subprocess
from pathlib import Path

import pytest
from script_modules import script_module

import vlgauge

SOURCE = f"git+https://github.com/vlgauge/vlgauge@v{vlgauge.__version__}"


@pytest.fixture
def check(monkeypatch):
    """The script, whose programs only record their calls."""
    script, calls = script_module("check_release.py"), []

    def run(*words):
        calls.append(words)
        if words[0] == "build":
            out = Path(words[words.index("--outdir") + 1])
            out.mkdir(parents=True)
            (out / "vlgauge.whl").write_bytes(b"wheel")
        return subprocess.CompletedProcess(words, script.codes.get(words[0], 0), "out", "err")

    script.codes, script.calls = {}, calls
    monkeypatch.setattr(script, "_run", run)
    return script


@pytest.fixture
def root(tmp_path):
    (tmp_path / "CHANGELOG.md").write_text(f"## [Unreleased]\n\n## [{vlgauge.__version__}] - 2026-12-01\n")
    script = tmp_path / "metrics" / "one" / "one.py"
    script.parent.mkdir(parents=True)
    script.write_text(f'from vlgauge.families import base  # From: "vlgauge[one] @ {SOURCE}"\n')
    return tmp_path


def test_a_release_is_built_and_told(check, root, capsys):
    (root / "build" / "release").mkdir(parents=True)
    (root / "build" / "release" / "old.whl").write_bytes(b"")
    assert check.main([], root=root) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.split()[:4] == ["vlgauge.whl", "0.0", "MB", "sha256"]
    assert [call[0] for call in check.calls] == ["build", "twine"]
    assert check.calls[1][-1].endswith("vlgauge.whl")


def test_all_faults_are_told_at_once(check, root, capsys):
    (root / "CHANGELOG.md").write_text("## [Unreleased]\n")
    (root / "metrics" / "one" / "one.py").write_text(f'# From: "vlgauge[one] @ {SOURCE}9"\n')
    check.codes |= {"build": 1, "twine": 1}
    assert check.main([], root=root) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2] for line in told] == [
        f"CHANGELOG.md must have {vlgauge.__version__} as its newest release, got no release",
        f"each `# From:` must name {SOURCE}, others are in metrics/one/one.py",
        "the build failed: err",
        "the index would not take it: out",
    ]


def test_another_version_is_named(check, root):
    (root / "CHANGELOG.md").write_text("## [9.9.9] - 2030-01-01\n")
    (fault,) = check.version_faults(root)
    assert fault.endswith("as its newest release, got 9.9.9")


def test_what_is_not_dated_yet_is_told_and_is_no_release(check, root, capsys):
    (root / "CHANGELOG.md").write_text(f"## [Unreleased]\n\nBecomes {vlgauge.__version__}.\n\n### Added\n")
    assert check.main([], root=root) == 0
    assert f"CHANGELOG.md has no date yet for {vlgauge.__version__}; " in capsys.readouterr().out
    assert check.main(["--dated"], root=root) == 1
    assert "got no release" in capsys.readouterr().err
    (root / "CHANGELOG.md").write_text("## [Unreleased]\n\nBecomes 9.9.9.\n\n## [9.9.8] - 2026-01-01\n")
    assert check.main([], root=root) == 1


def test_there_is_one_option(check, capsys):
    assert check.main(["--upload"]) == 2
    assert "--dated, got --upload" in capsys.readouterr().err
