"""A terminal tells what is loaded before the wait begins."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT

import vlgauge

# Whoever imports the host library here ends the process at once.
ENDS_AT_EVALUATE = """
import os, sys
class End:
    def find_spec(self, name, path=None, target=None):
        if name == "evaluate":
            os._exit(7)
sys.meta_path.insert(0, End())
from vlgauge.cli import main
main(sys.argv[1:])
"""


def on_a_terminal(*arguments):
    """What a command shows on a terminal before it imports the host library."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", ENDS_AT_EVALUATE, *arguments]
    package = str(Path(vlgauge.__file__).parents[1])
    with os.fdopen(ours, "rb", buffering=0) as screen:
        environment = {**os.environ, "PYTHONPATH": package}
        ended = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=theirs, cwd=ROOT, env=environment, check=False
        )
        os.close(theirs)
        try:
            shown = screen.read(10_000)
        except OSError:  # Linux ends the reading of a closed terminal so
            shown = b""
    assert ended.returncode == 7
    return shown.decode()


def test_terminal_tells_what_is_loaded_before_the_wait():
    pytest.importorskip("pty")
    assert on_a_terminal("score", "rovist_nr", "examples/stories.csv", "--predictions", "story") == (
        "Loading rovist_nr ...\r\n"
    )


def test_no_progress_is_silent_on_a_terminal():
    pytest.importorskip("pty")
    assert on_a_terminal("score", "rovist_nr", "examples/stories.csv", "--predictions", "story", "--no-progress") == ""
