"""The bar on long work, and what a terminal tells before the wait begins."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT

import vlgauge
from vlgauge import progress, scenes
from vlgauge.pool import pool
from vlgauge.progress import announce, checked_progress, progress_bar, progress_chosen, with_size


def work(setting):
    with progress_bar(4, "Doing things", setting) as advance:
        advance(1)
        advance(3)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown_on_terminal(setting, monkeypatch):
    screen = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", screen)
        work(setting)
    return "Doing things" in screen.getvalue()


def test_function_gets_done_and_total():
    calls = []
    work(lambda done, total: calls.append((done, total)))
    assert calls == [(1, 4), (4, 4)]


@pytest.mark.parametrize(("setting", "shown"), [(True, True), (False, False), (None, False)])
def test_bar_on_a_file(capsys, monkeypatch, setting, shown):
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    work(setting)
    output = capsys.readouterr()
    assert ("Doing things" in output.err) is shown
    assert output.out == ""


@pytest.mark.parametrize(("delay", "shown"), [(0.0, True), (60.0, False)])
def test_bar_on_a_terminal_comes_after_a_delay(monkeypatch, delay, shown):
    monkeypatch.setattr(progress, "DELAY_SECONDS", delay)
    assert shown_on_terminal(None, monkeypatch) is shown


@pytest.mark.parametrize("setting", [True, False])
def test_bar_forced_on_or_off_knows_no_delay(monkeypatch, setting):
    assert shown_on_terminal(setting, monkeypatch) is setting


@pytest.mark.parametrize("setting", [True, False, None, lambda done, total: None])
def test_error_of_the_work_passes(setting):
    with pytest.raises(ZeroDivisionError), progress_bar(4, "Doing things", setting):
        1 / 0  # noqa: B018


def test_error_of_the_function_passes():
    with pytest.raises(ZeroDivisionError):
        work(lambda done, total: done / 0)


@pytest.mark.parametrize("setting", [True, False, None, print])
def test_settings_that_are_understood(setting):
    assert checked_progress(setting) is setting


@pytest.mark.parametrize("setting", ["False", 0, 1.0])
def test_other_settings_are_refused(setting):
    with pytest.raises(ValueError, match=rf"^`progress` must be True, False, None or a function .*, got {setting!r}$"):
        checked_progress(setting)


@pytest.mark.parametrize(
    ("setting", "screen", "shown"),
    [
        (None, Terminal, True),
        (None, io.StringIO, False),
        (False, Terminal, False),
        (True, io.StringIO, True),
        (print, Terminal, False),
    ],
)
def test_what_is_loaded_is_said_where_bars_are_shown(monkeypatch, setting, screen, shown):
    stream = screen()
    with monkeypatch.context() as patch, progress_chosen(setting):
        patch.setattr(sys, "stderr", stream)
        announce("Loading CLIP")
    assert stream.getvalue() == ("Loading CLIP ...\n" if shown else "")


@pytest.mark.parametrize(("n_bytes", "words"), [(1_960_000, "CLIP, 2.0 MB"), (12_600_000, "CLIP, 13 MB")])
def test_size_of_what_is_loaded(tmp_path, n_bytes, words):
    file = tmp_path / "weights"
    with file.open("wb") as stream:
        stream.truncate(n_bytes)
    assert with_size("CLIP", file) == words


def test_encoder_is_announced_once_by_the_metric_that_asks_for_it(capsys):
    pytest.importorskip("open_clip")
    pool.unload()
    metric = vlgauge.load("clip_s", profile="embedded", progress=True)
    picture = scenes.draw_scene(scenes.scenes(1, seed=0, split="test")[0]).image
    for _ in range(2):
        metric.compute(predictions=["a red circle"], images=[picture])
    assert capsys.readouterr().err.count("Loading CLIP vlgauge-toy-clip, ") == 1


# -- on a terminal ----------------------------------------------------------------------------------------------------
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
