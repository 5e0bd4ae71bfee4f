"""One of two runs writes, and the next run removes the incomplete files of a killed one."""

import signal
import subprocess
import sys

import pytest

from vlgauge.core.run_locks import RunInProgressError, exclusive_run
from vlgauge.core.writing import atomic_write, parts_of

AT_WORK = """
import sys, time
from pathlib import Path
from vlgauge.core.run_locks import exclusive_run
from vlgauge.core.writing import atomic_write
output, folder = Path(sys.argv[1]), len(sys.argv) < 3
with exclusive_run(output, "OUT", folder=folder), atomic_write(output / "rows" if folder else output) as part:
    part.write_text("half")
    print("at work", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def at_work(tmp_path):
    """A run in another process: of a folder, or with a word more of a file."""
    started = []

    def start(*words):
        process = subprocess.Popen([sys.executable, "-c", AT_WORK, *words], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "at work\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_second_of_two_runs_is_refused_in_a_sentence(tmp_path, at_work):
    at_work(str(tmp_path / "out"))
    before = names(tmp_path / "out")
    message = r"^OUT"
    with pytest.raises(RunInProgressError, match=message), exclusive_run(tmp_path / "out", "OUT"):
        raise AssertionError
    assert names(tmp_path / "out") == before


def test_two_runs_of_one_process_are_told_apart(tmp_path):
    with exclusive_run(tmp_path, "OUT"), pytest.raises(RunInProgressError), exclusive_run(tmp_path, "OUT"):
        raise AssertionError
    with exclusive_run(tmp_path, "OUT"):
        pass


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_the_lock_of_a_killed_run_is_free_and_what_it_left_goes(tmp_path, at_work):
    out = tmp_path / "out"
    process = at_work(str(out))
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(parts_of(out / "rows")) == 1
    (out / "mine.part").touch()
    with exclusive_run(out, "OUT"):
        assert names(out) == [".run.lock", "mine.part"]
    assert names(out) == ["mine.part"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_of_a_file_only_what_it_left_itself_goes(tmp_path, at_work):
    process = at_work(str(tmp_path / "weights"), "file")
    with pytest.raises(RunInProgressError, match="weights"):
        exclusive_run(tmp_path / "weights", "--out", folder=False).__enter__()
    process.kill()
    process.wait()
    with (
        atomic_write(tmp_path / "weights.md") as card,
        atomic_write(tmp_path / "another") as another,
        exclusive_run(tmp_path / "weights", "--out", folder=False, others=[tmp_path / "weights.md"]),
    ):
        assert names(tmp_path) == sorted([another.name, ".weights.run.lock"])
        card.touch()
    assert names(tmp_path) == ["another", "weights.md"]


def test_a_folder_in_which_nothing_came_goes_again(tmp_path):
    with pytest.raises(KeyError), exclusive_run(tmp_path / "deep" / "out", "OUT"):
        raise KeyError
    assert names(tmp_path / "deep") == []
    (tmp_path / "empty").mkdir()
    with exclusive_run(tmp_path / "empty", "OUT"):
        pass
    assert names(tmp_path) == ["deep", "empty"]
