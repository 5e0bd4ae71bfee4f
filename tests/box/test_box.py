"""Child processes that read what others made: what they may not do, and what a lost one costs."""

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from box_of_tests import box_of_jobs

import vlgauge
from vlgauge.box import Beyond, Garbled, Paused, bounds, children, frames, reading, scratch, visitor, visitors
from vlgauge.errors import UsageError
from vlgauge.files import TooMuch

JOBS = Path(__file__).resolve().parents[1] / "helpers" / "box_jobs.py"
linux = pytest.mark.skipif(sys.platform != "linux", reason="the walls are those of Linux")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder like those of libraries, which a child may read, with the jobs."""
    folder = tmp_path_factory.mktemp("of") / "site-packages"
    folder.mkdir()
    (folder / JOBS.name).write_bytes(JOBS.read_bytes())
    return folder


@pytest.fixture(scope="module")
def box(installed):
    with pytest.MonkeyPatch.context() as patched:
        made = box_of_jobs(installed, patched)
        yield made
        made.close()


def do(box, deed, content=b"abc", **settings):
    return box.run("do", {"do": deed, **settings}, content, what="`x`", most=10_000)


def test_an_answer_has_a_head_and_bytes(box):
    assert do(box, "nothing") == [({"part": {"n": 3}}, b"abc")]
    assert do(box, "nothing", b"")[0].body == b""


@linux
@pytest.mark.parametrize("deed", ["passwd", "write", "listen", "resolve", "program", "fork", "kill"])
def test_what_no_file_needs_is_closed(box, deed):
    walls = box.holds()
    if not all(walls.values()):
        pytest.skip(f"this kernel does not hold all walls: {walls}")
    with pytest.raises(OSError, match=r"Permission denied|not permitted|Name or service|resolution|failure"):
        do(box, deed)


def test_a_file_that_was_not_given_is_not_opened(box, tmp_path):
    if not box.holds()["files"]:
        pytest.skip("this kernel does not hold files")
    (tmp_path / "own.txt").write_text("x")
    with pytest.raises(OSError, match="Permission denied"):
        do(box, "nothing", path=str(tmp_path / "own.txt"))


@pytest.mark.parametrize("deed", ["thread", "touch", "print"])
def test_what_libraries_do_is_open(box, deed):
    assert do(box, deed)[0].body == b"abc"


def test_no_token_is_in_its_environment(box, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    box.close()
    with pytest.raises(ValueError, match="OMP_NUM_THREADS") as told:
        do(box, "environment")
    assert "TOKEN" not in str(told.value)


@pytest.mark.parametrize("deed", ["die", "at once", pytest.param("fill", marks=linux)])
def test_a_lost_child_costs_one_sentence_and_the_next_job_gets_another(box, deed):
    with pytest.raises(Beyond, match=r"^`x` cannot be read within 512 MB and 10 s$"):
        do(box, deed)
    assert do(box, "nothing")[0].body == b"abc"


@pytest.mark.parametrize("deed", ["sleep", "spin"])
def test_a_late_child_is_ended(box, deed):
    begun = time.monotonic()
    with bounds(seconds=0.25), pytest.raises(Beyond, match=r"^`x` cannot be read within 512 MB and 0.25 s$"):
        do(box, deed)
    assert time.monotonic() - begun < 10


def test_time_in_which_others_have_the_processors_does_not_count(monkeypatch):
    now, in_line = [100.0], [7.0]
    monkeypatch.setattr(children.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(children.walls, "seconds_in_line", lambda process: in_line[0])
    job = children._Watched(SimpleNamespace(process=SimpleNamespace(pid=1)), 1, 10.0)
    late = []
    for now[0], in_line[0] in ((109, 7), (111, 7), (111, 12), (116, 12), (129, 90), (131, 90)):
        late.append(job.is_late())
    assert late == [False, True, False, True, False, True]


def test_a_job_that_nobody_can_watch_is_not_done_and_the_next_one_is(box, monkeypatch):
    do(box, "nothing")
    end = time.monotonic() + 20
    while children._watch.is_running and time.monotonic() < end:
        time.sleep(0.01)

    class NoThread:
        def __init__(self, **_):
            pass

        def start(self):
            raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(children.threading, "Thread", NoThread)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            do(box, "nothing")
    assert (children._watch.jobs, children._watch.is_running) == ({}, False)
    with bounds(seconds=0.1), pytest.raises(Beyond):
        do(box, "sleep")


@linux
def test_time_in_line_is_that_of_all_threads():
    begun = children.walls.seconds_in_line(os.getpid())
    assert begun >= 0
    assert children.walls.seconds_in_line(2**30) == 0


@linux
def test_memory_is_watched_from_outside(box, monkeypatch):
    # As where the platform holds no limit of address space.
    monkeypatch.setattr(children.walls, "memory_of", lambda process: (2**40, 2**40))
    with pytest.raises(Beyond):
        do(box, "sleep")


@pytest.mark.parametrize(
    ("deed", "kind", "why"),
    [
        ("value", UsageError, "^`x` must be y$"),
        ("too much", TooMuch, "^too much$"),
        ("os", OSError, "^gone$"),
        ("odd", UsageError, "k"),
    ],
)
def test_what_a_job_raises_is_raised_here(box, deed, kind, why):
    with pytest.raises(kind, match=why) as told:
        do(box, deed)
    assert type(told.value) is kind


def test_an_answer_is_bounded_in_length_and_depth(box):
    for job, settings in (("flood", {}), ("deep", {"depth": 20}), ("deep", {"depth": 500})):
        with pytest.raises(Beyond):
            box.run(job, settings, what="`x`", most=5 * 2**20)
    assert len(box.run("deep", {"depth": 3}, what="`x`", most=10)) == 1


def test_what_is_taken_may_be_refused(box):
    def refuse(part):
        raise Garbled("no rows")

    with pytest.raises(Beyond):
        box.run("do", {"do": "nothing"}, what="`x`", most=10, take=refuse)


def test_a_child_asks_for_parts_and_is_told_why_not(box):
    def asked(question):
        if question["start"] != 3:
            raise OSError("no")
        return {"from": question["start"]}, b"part"

    assert box.run("fetch", {}, what="`x`", most=100, asked=asked) == [({"part": {"from": 3}}, b"part")]

    def refused(question):
        raise ValueError("the server is silent")

    with pytest.raises(ValueError, match="the server is silent"):
        box.run("fetch", {}, what="`x`", most=100, asked=refused)
    with pytest.raises(Beyond):  # nobody answers
        box.run("fetch", {}, what="`x`", most=100)


def test_the_time_of_who_is_asked_does_not_count(box):
    def slow(question):
        time.sleep(0.8)
        return {}, b""

    with bounds(seconds=0.5):
        assert box.run("fetch", {}, what="`x`", most=100, asked=slow)


def test_many_threads_ask_and_one_that_breaks_children_harms_no_other(box):
    def one(number):
        deed = "die" if number % 5 == 0 else "nothing"
        try:
            return do(box, deed, bytes([number]))[0].body
        except Beyond:
            return None

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(one, range(15)))
    assert answers == [None if number % 5 == 0 else bytes([number]) for number in range(15)]


def test_one_visitor_holds_one_child_and_queues(box):
    before, most, now, guard = set(), 0, 0, threading.Lock()

    def one(_):
        nonlocal most, now

        def asked(question):
            nonlocal most, now
            with guard:
                now += 1
                most = max(most, now)
            time.sleep(0.05)
            with guard:
                now -= 1
            return {}, b""

        with visitor("somebody"):
            box.run("fetch", {}, what="`x`", most=100, asked=asked)

    with ThreadPoolExecutor(4) as threads:
        before.update(threads.map(one, range(6)))
    assert most == 1


def test_three_lost_children_pause_a_visitor_and_no_other(box, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(visitors.time, "monotonic", lambda: clock[0])
    with visitor("hostile"):
        for _ in range(3):
            with pytest.raises(Beyond):
                do(box, "die")
        with pytest.raises(Paused, match=r"^3 files of yours could not be read .* try again in 60 s$"):
            do(box, "nothing")
    with visitor("other"):
        assert do(box, "nothing")
    clock[0] += 61
    with visitor("hostile"):
        assert do(box, "nothing")


def test_who_was_ended_meanwhile_is_replaced(box):
    do(box, "nothing")
    for child in box._free:
        child.process.kill()
        child.process.wait()
    assert do(box, "nothing")[0].body == b"abc"


@linux
def test_a_killed_parent_leaves_no_orphan(installed):
    code = f"""
import sys, time
sys.path.insert(0, {str(JOBS.parent)!r})
from box_of_tests import box_of_jobs
box = box_of_jobs({str(installed)!r})
box.run("do", {{"do": "touch"}}, what="x", most=10)
print(box._free[0].process.pid, box._free[0].process.args[4], flush=True)
box.run("do", {{"do": sys.argv[1]}}, what="x", most=10)
time.sleep(60)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(vlgauge.__file__).parents[1])}
    parents = [
        subprocess.Popen([sys.executable, "-c", code, deed], stdout=subprocess.PIPE, text=True, env=environment)
        for deed in ("nothing", "sleep", "spin")
    ]
    told = [parent.stdout.readline().split() for parent in parents]
    time.sleep(0.3)
    for parent in parents:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    end = time.monotonic() + 20
    for number, place in told:
        common = Path(place).parent
        assert common.name.startswith("vlgauge-box-")
        for left in (Path(f"/proc/{number}"), common):
            while left.exists() and time.monotonic() < end:
                time.sleep(0.05)
            assert not left.exists()


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_without_a_folder_a_job_is_one_sentence_and_the_next_one_runs(box, monkeypatch, number):
    box.close()

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(scratch.tempfile, "mkdtemp", refuse)
        box.start()  # says nothing: the job does
        with pytest.raises(OSError, match=r"set TMPDIR to one$") as told:
            do(box, "nothing")
    assert told.value.errno == number
    assert os.strerror(number) in str(told.value)
    assert do(box, "nothing")


def test_a_folder_that_somebody_removed_is_made_anew(box):
    do(box, "nothing")
    shutil.rmtree(scratch._common.path)
    assert do(box, "nothing")
    assert Path(scratch._common.path).is_dir()


FORKED = """
import os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
from vlgauge.box import children, scratch
sys.path.insert(0, {helpers!r})
from box_of_tests import box_of_jobs
box = box_of_jobs({installed!r})
asked, answered = threading.Event(), threading.Event()
def answer(question):
    asked.set()
    assert answered.wait(60)
    return {{"from": 1}}, b"part"
found = []
def fetch():
    found.append(box.run("fetch", {{}}, what="x", most=100, asked=answer)[0].body)
thread = threading.Thread(target=fetch)
thread.start()
assert asked.wait(60)  # a job is under way
before = scratch._common.path
number = os.fork()
if number == 0:
    assert box.run("do", {{"do": "nothing"}}, b"abc", what="x", most=10)[0].body == b"abc"
    assert scratch._common.path != before
    sys.exit(7)
_, status = os.waitpid(number, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
assert os.path.isdir(before)
answered.set()
thread.join()
assert bytes(found[0]) == b"part"
assert box.run("do", {{"do": "nothing"}}, b"abc", what="x", most=10)[0].body == b"abc"
print("well", before)
"""


@linux
def test_a_fork_while_a_job_runs_has_children_of_its_own(installed):
    code = FORKED.format(helpers=str(JOBS.parent), installed=str(installed))
    environment = {**os.environ, "PYTHONPATH": str(Path(vlgauge.__file__).parents[1])}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (told.returncode, told.stderr) == (0, "")
    word, folder = told.stdout.split()
    assert (word, Path(folder).exists()) == ("well", False)


def test_a_pipe_that_cannot_be_wider_stays_as_it_is(monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_):
        raise PermissionError

    reading_end, writing_end = os.pipe()
    with os.fdopen(reading_end, "rb") as stream:
        os.close(writing_end)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            frames.widen(stream)
            assert fcntl.fcntl(stream.fileno(), fcntl.F_GETPIPE_SZ) == 2**20
        monkeypatch.setattr(fcntl, "fcntl", refuse)
        frames.widen(stream)


def test_frames_that_are_none_are_refused():
    import io

    for data in (b"\xff" * 12, frames._LENGTHS.pack(2, 0) + b"[]", frames._LENGTHS.pack(3, 0) + b"{x}"):
        with pytest.raises(Garbled):
            frames.receive(io.BytesIO(data), 100)
    with pytest.raises(EOFError):
        frames.receive(io.BytesIO(b"\x00"), 100)
    with pytest.raises(Garbled):
        frames.bounded_json(json.dumps("x")[:-1].encode(), 3)
    with pytest.raises(Garbled):
        frames.bounded_json(b"[" * 100_000, 3)


def test_a_way_of_reading_is_one_of_two():
    with pytest.raises(ValueError, match="`reading` must be one of 'direct', 'boxed', got 'fast'"), reading("fast"):
        pass
    with pytest.raises(ValueError, match=r"`reading` must be one of .* got array"), reading(np.zeros(2)):
        pass
