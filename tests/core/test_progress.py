"""The progress bar of long work, and messages on a terminal before the wait begins."""

import io
import os
import subprocess
import sys
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from folders import ROOT

import vlgauge
from vlgauge import scenes
from vlgauge.cli import main
from vlgauge.core import progress
from vlgauge.core.pool import pool
from vlgauge.core.progress import announce, check_progress, lines_in_logs, progress_bar, progress_chosen, with_size


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
    assert check_progress(setting) is setting


@pytest.mark.parametrize("setting", ["False", 0, 1.0])
def test_other_settings_are_refused(setting):
    with pytest.raises(ValueError, match=rf"^`progress`.*got {setting!r}"):
        check_progress(setting)


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


# -- in a log ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def clock(monkeypatch):
    """Lines after a second and then every thirty, of a clock that `clock.now` sets."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress, "monotonic", lambda: clock.now)
    monkeypatch.setattr(progress, "FIRST_LINE_SECONDS", 1.0)
    return clock


def logged(clock, capsys, setting=None, total=9000):
    """Return the lines of a step of a minute and a half with one hundred items per second."""
    with progress_bar(total, "Scoring", setting) as advance:
        for _ in range(90):
            clock.now += 1.0
            advance(100)
    return capsys.readouterr().err.splitlines()


def test_log_has_a_line_soon_and_then_every_half_minute(clock, capsys):
    with lines_in_logs():
        assert logged(clock, capsys) == [f"Scoring: {done} of 9,000" for done in ("100", "3,100", "6,100")]
        assert logged(clock, capsys, total=0) == ["Scoring: 100", "Scoring: 3,100", "Scoring: 6,100"]
        with progress_bar(9, "Short") as advance:
            clock.now += 0.9
            advance(9)
        assert capsys.readouterr().err == ""


def test_log_is_empty_unless_a_command_writes_it(clock, capsys):
    assert logged(clock, capsys) == []
    with lines_in_logs(False):
        assert logged(clock, capsys) == []
    with lines_in_logs():
        assert logged(clock, capsys, setting=False) == []


def test_terminal_has_its_bar_in_place_of_lines(clock, monkeypatch):
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    with lines_in_logs():
        assert shown_on_terminal(None, monkeypatch)


def test_log_names_what_is_loaded_and_takes_long(capsys):
    with lines_in_logs():
        announce("Loading CLIP")
        announce("Loading rovist_nr", logged=False)
        with progress_chosen(False):
            announce("Loading CLIP")
    assert capsys.readouterr().err == "Loading CLIP ...\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [([], ["Scoring stories: 1 of 3"]), (["-q"], []), (["--no-progress"], [])],
)
def test_command_writes_lines_unless_it_is_to_be_quiet(clock, capsys, monkeypatch, tmp_path, words, expected):
    (tmp_path / "a.txt").write_text("We left. We came.\n" * 3)
    monkeypatch.setattr(progress, "monotonic", lambda: next(seconds))
    seconds = count(step=2.0)
    assert main(["score", "rovist_nr", str(tmp_path / "a.txt"), *words]) == 0
    assert capsys.readouterr().err.splitlines() == expected


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [
        (1_960_000, "CLIP, 2.0 MB"),
        (12_600_000, "CLIP, 13 MB"),
        (1_234, "CLIP, 1,234 bytes"),
        (None, "CLIP, size unknown"),
    ],
)
def test_size_of_what_is_loaded(n_bytes, words):
    assert with_size("CLIP", n_bytes) == words


@pytest.mark.skipif(not find_spec("open_clip"), reason="open_clip is not installed")
def test_encoder_is_announced_once_by_the_metric_that_asks_for_it(capsys):
    pool.unload()
    metric = vlgauge.load("clip_s", profile="embedded", progress=True)
    image = scenes.draw_scene(scenes.scenes(1, seed=0, split="test")[0]).image
    for _ in range(2):
        metric.compute(predictions=["a red circle"], images=[image])
    assert capsys.readouterr().err.count("Loading CLIP vlgauge-toy-clip, ") == 1


# -- on a terminal ----------------------------------------------------------------------------------------------------
# An import of `evaluate` ends the process here.
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


MARK = b"-- end --"


def on_a_terminal(*arguments):
    """Return the output of a command on a terminal before it imports `evaluate`."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", ENDS_AT_EVALUATE, *arguments]
    package = str(Path(vlgauge.__file__).parents[1])
    with os.fdopen(ours, "rb", buffering=0) as screen:
        environment = {**os.environ, "PYTHONPATH": package}
        ended = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=theirs, cwd=ROOT, env=environment, check=False
        )
        # Linux may drop the output of a terminal that is closed before it is read, so a mark ends the reading.
        os.write(theirs, MARK)
        shown = b""
        while not shown.endswith(MARK):
            shown += screen.read(10_000)
        os.close(theirs)
    assert ended.returncode == 7
    return shown.removesuffix(MARK).decode()


def test_terminal_tells_what_is_loaded_before_the_wait():
    pytest.importorskip("pty")
    assert on_a_terminal("score", "rovist_nr", "examples/stories.csv", "--predictions", "story") == (
        "Loading rovist_nr ...\r\n"
    )


def test_no_progress_is_silent_on_a_terminal():
    pytest.importorskip("pty")
    assert on_a_terminal("score", "rovist_nr", "examples/stories.csv", "--predictions", "story", "--no-progress") == ""
