"""Scoring on a machine without a writable home folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import vlgauge

SCORE = """
import vlgauge
metric = vlgauge.load("bleu", progress=False)
print(metric.compute(predictions=["A dog ran home."], references=[["A dog ran home."]])["bleu"])
"""


COMMAND = ["-m", "vlgauge", "score", "bleu", "rows.jsonl", "--output", "s.json"]


# Both import the search for a home folder. For the command, reaching the search is sufficient.
@pytest.mark.parametrize(("home", "command"), [("file/below", ["-c", SCORE]), ("", COMMAND)])
def test_no_home_is_needed(tmp_path, home, command):
    """Check a file in place of a folder, which is not writable, even for root."""
    (tmp_path / "file").write_text("")
    (tmp_path / "work").mkdir()
    (tmp_path / "tmp").mkdir()
    rows = '{"predictions": "A dog ran home.", "references": ["A dog ran home."]}\n'
    (tmp_path / "work" / "rows.jsonl").write_text(rows)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "XDG_", "VLGAUGE_"))}
    own = {"HOME": str(tmp_path / home) if home else "/proc/none", "TMPDIR": str(tmp_path / "tmp")}
    own |= {"PYTHONPATH": str(Path(vlgauge.__file__).parents[1])}
    asked = [sys.executable, "-W", "error", *command] if command[0] == "-c" else [sys.executable, *command]
    told = subprocess.run(asked, env=kept | own, cwd=tmp_path / "work", capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr
    assert "Traceback" not in told.stderr
    assert not [one for one in os.listdir(tmp_path / "tmp") if one.startswith("vlgauge")]
    assert not (tmp_path / "work" / "~").exists()
