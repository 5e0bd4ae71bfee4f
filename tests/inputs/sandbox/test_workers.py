"""Worker processes that decode untrusted files: their limits, and the cost of a lost worker."""

import contextlib
import errno
import gc
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from idle_workers import stop_idle

import vlgauge
from vlgauge.core.errors import NetworkError, UsageError
from vlgauge.core.files import FileLimitError
from vlgauge.inputs.images import sandboxed
from vlgauge.inputs.sandbox import EvictedError, SandboxError, messages, run, stream, use_sandbox, workers
from vlgauge.inputs.tables.parquet import parquet_rows

HELPERS = Path(__file__).resolve().parents[2] / "helpers"
pytestmark = pytest.mark.usefixtures("tasks")
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")


def do(deed, content=b"abc", **how):
    (part,) = run("sandbox_tasks:do", {"deed": deed}, content, subject="`x`", **how)
    return part


def count(n, **settings):
    return stream("sandbox_tasks:count", {"n": n, **settings}, subject="`x`", most_bytes=10)


def test_a_result_has_facts_and_bytes():
    part = do("nothing")
    assert (part.facts["n"], part.body) == (3, b"abc")
    assert do("nothing", b"").body == b""


@pytest.mark.parametrize("deed", ["thread", "touch", "print"])
def test_libraries_may_do_what_they_need(deed):
    assert do(deed).body == b"abc"


def test_the_environment_is_a_list(monkeypatch):
    for name in ("HF_TOKEN", "OPENAI_API_KEY", "https_proxy", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, "secret")
    stop_idle()
    with pytest.raises(ValueError, match="OMP_NUM_THREADS") as told:
        do("environment")
    known = {*workers._PASSED, *workers._SET, "HOME", "TMPDIR", "TEMP", "PYTHONPATH", "HF_HOME"}
    assert {*str(told.value).split()} <= known | {"USE_TORCH", "USE_TF", "USE_JAX", "LC_CTYPE"}


@pytest.mark.parametrize("deed", ["die", "abort", *(pytest.param(one, marks=linux) for one in ("at once", "fill"))])
def test_a_lost_worker_costs_one_sentence_and_the_next_call_gets_another(deed):
    with pytest.raises(SandboxError, match=r"^`x`.*512.*10 s"):
        do(deed)
    assert do("nothing").body == b"abc"


def table_before_year_1():
    out = io.BytesIO()
    pq.write_table(pa.table({"x": pa.array([-(2**45)], pa.timestamp("s"))}), out)
    return parquet_rows(out.getvalue(), "FILE", "a.parquet")


def image_without_size():
    return sandboxed.decode({"bytes": b"x"}, "x", max_pixels=1)


@pytest.mark.parametrize("read", [table_before_year_1, image_without_size])
def test_errors_that_are_kept_block_no_later_call(monkeypatch, read):
    """The frames of an error hold everything that was in use when it was raised."""
    monkeypatch.setattr(workers, "_turns", threading.BoundedSemaphore(1))
    monkeypatch.setattr(sandboxed, "_TASKS", "sandbox_tasks")
    with pytest.raises((UsageError, KeyError)) as kept:
        read()
    assert workers._turns.acquire(timeout=1), kept
    workers._turns.release()
    assert do("nothing").body == b"abc"


@linux
def test_files_are_limited_like_memory():
    with pytest.raises(OSError, match="too large"):
        do("fill the disk")


@pytest.mark.parametrize("deed", ["sleep", "spin"])
def test_a_late_worker_is_killed(deed):
    do("nothing")
    begun = time.monotonic()
    with pytest.raises(SandboxError, match=r"^`x`.*512.*0\.2 s"):
        do(deed, seconds=0.2)
    assert time.monotonic() - begun < 30  # not a measure of speed: separates tasks that hang from tasks that finish


def test_no_task_takes_more_than_a_minute(monkeypatch):
    waited = []
    monkeypatch.setattr(workers._Worker, "deadline", lambda self, seconds: waited.append(seconds) or use_sandbox())
    do("nothing", seconds=1000)
    assert waited[-1] == 60


@linux
def test_time_on_processors_is_limited_without_the_parent(monkeypatch):
    monkeypatch.setattr(workers, "_wall_clock", lambda seconds: 50)
    with pytest.raises(SandboxError):
        do("spin", seconds=0.2)


def test_a_task_that_nobody_can_watch_is_not_done_and_the_next_one_is(monkeypatch):
    do("nothing")

    class NoTimer(threading.Timer):
        def start(self):
            raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(workers.threading, "Timer", NoTimer)
        with pytest.raises(RuntimeError, match="new thread"):
            do("nothing")
    assert do("nothing")


@pytest.mark.parametrize(
    ("deed", "kind", "why"),
    [
        ("value", UsageError, "^`x` must be y$"),
        ("too much", FileLimitError, "^too much$"),
        ("os", OSError, "^gone$"),
        ("odd", UsageError, "k"),
        ("network", NetworkError, "server is silent"),
    ],
)
def test_the_error_of_a_task_is_raised_here(deed, kind, why):
    with pytest.raises(kind, match=why) as told:
        do(deed)
    assert type(told.value) is kind


def test_an_error_keeps_its_argument():
    with pytest.raises(UsageError) as told:
        do("about")
    assert (told.value.argument, told.value.remedy) == ("x", "write z")
    with pytest.raises(NetworkError) as told:
        do("network")
    assert told.value.status == 503


def test_a_result_is_bounded():
    with pytest.raises(SandboxError):
        list(run("sandbox_tasks:flood", {}, subject="`x`", most_bytes=5 * 2**20))
    assert [len(part.facts) for part in run("sandbox_tasks:label", {"n": 2**20}, subject="`x`")] == [2**20]
    with pytest.raises(SandboxError):
        list(run("sandbox_tasks:label", {"n": 2**24}, subject="`x`"))


def test_many_threads_and_one_that_breaks_workers_harms_no_other():
    def one(number):
        try:
            return do("die" if number % 5 == 0 else "nothing", bytes([number])).body
        except SandboxError:
            return None

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(one, range(15)))
    assert answers == [None if number % 5 == 0 else bytes([number]) for number in range(15)]


def test_a_worker_is_used_again_and_replaced_if_it_or_its_folder_is_gone():
    first = do("nothing").facts
    assert do("nothing").facts == first
    workers._free[-1].process.kill()
    workers._free[-1].process.wait()
    second = do("nothing").facts
    assert second["process"] != first["process"]
    shutil.rmtree(second["scratch"])
    assert do("nothing").facts["scratch"] != second["scratch"]
    assert not Path(first["scratch"]).exists()


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_kept_worker_that_ends_before_its_task_is_replaced_once(monkeypatch, is_stream):
    first = do("nothing").facts["process"]
    sent = []

    def send(pipe, task, content):
        sent.append(task)
        if len(sent) == 1:  # after the parent has found the worker alive
            os.kill(first, signal.SIGKILL)
            time.sleep(0.2)
        messages.send(pipe, task, content)

    monkeypatch.setattr(workers, "send", send)
    if is_stream:
        assert [part.facts for part in count(2)] == [0, 1]
    else:
        assert do("nothing").facts["process"] != first
    assert len(sent) == 2


@linux
def test_a_file_above_the_memory_limit_of_the_last_task_gets_a_new_worker():
    first = do("nothing", memory=64 * 2**20).facts["process"]
    part = do("nothing", bytes(200 * 2**20), memory=2**30, most_bytes=2**28)
    assert (part.facts["n"], part.facts["process"] != first) == (200 * 2**20, True)


@linux
def test_a_file_that_a_new_worker_cannot_hold_is_named(monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nulimit -v 500000\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    stop_idle()
    monkeypatch.setattr(sys, "executable", str(python))
    assert do("nothing").body == b"abc"
    stop_idle()
    with pytest.raises(SandboxError, match=r"^`x` cannot be read within 512 MB"):
        do("nothing", bytes(600_000_000))


def test_a_worker_removes_its_own_folder_only(tmp_path):
    scratch, other = tmp_path / "scratch", tmp_path / "other"
    scratch.mkdir()
    other.mkdir()
    words = [sys.executable, "-P", "-m", "vlgauge.inputs.sandbox.worker", "json", str(scratch)]
    environment = {**os.environ, "TMPDIR": str(other), "PYTHONPATH": workers.PYTHONPATH}
    subprocess.run(words, stdin=subprocess.DEVNULL, env=environment, check=True, timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@pytest.mark.parametrize("deed", ["die", "nothing"])
def test_a_task_is_sent_again_only_if_it_did_not_begin(monkeypatch, deed):
    do("nothing")
    sent = []
    monkeypatch.setattr(workers, "send", lambda *message: sent.append(message) or messages.send(*message))
    with contextlib.suppress(SandboxError):
        do(deed)
    assert len(sent) == 1


def test_a_worker_that_cannot_be_started_is_one_sentence(monkeypatch):
    assert workers._START_SECONDS <= 60
    stop_idle()
    with monkeypatch.context() as patched:
        patched.setattr(workers.sys, "executable", "/bin/false")
        with pytest.raises(UsageError, match=r"^a worker process .* started; "):
            do("nothing")
        patched.setattr(workers.sys, "executable", "/no/program")
        with pytest.raises(UsageError, match=r"started \(No such"):
            do("nothing")
    assert do("nothing")


def test_a_few_free_workers_are_kept():
    with ThreadPoolExecutor(8) as threads:
        for _ in threads.map(lambda _: [count(1) for _ in count(1)], range(8)):
            pass
    assert len(workers._free) <= workers._MOST_FREE


# -- Streams ----------------------------------------------------------------------------------------------------------
def test_a_stream_has_a_worker_of_its_own_until_it_ends():
    stop_idle()
    parts = count(3)
    assert next(parts).facts == 0
    process = do("nothing").facts["process"]
    assert next(parts).facts == 1
    assert [part.facts for part in parts] == [2]
    assert len({one.process.pid for one in workers._free} - {process}) == 1


def test_a_stream_that_is_left_ends_its_worker():
    gc.collect()
    others = list(workers._waiting)  # streams that other tests of this process still hold
    parts = count(3)
    next(parts)
    (worker,) = [one for one in workers._waiting if one not in others]
    del parts
    gc.collect()
    assert worker.process.poll() is not None
    assert worker not in workers._waiting


def test_the_time_of_the_reader_does_not_count():
    parts = stream("sandbox_tasks:count", {"n": 2}, subject="`x`", most_bytes=10, seconds=0.2)
    next(parts)
    time.sleep(1)
    assert next(parts).facts == 1


def test_each_part_of_a_stream_has_its_bounds():
    assert [part.facts for part in count(20)] == list(range(20))  # 60 bytes in all
    with pytest.raises(SandboxError):
        list(stream("sandbox_tasks:count", {"n": 20}, subject="`x`", most_bytes=2))
    parts = stream("sandbox_tasks:count", {"n": 3, "bad": 2, "deed": "sleep"}, subject="`x`", most_bytes=9, seconds=0.2)
    assert [next(parts).facts, next(parts).facts] == [0, 1]
    with pytest.raises(SandboxError):
        next(parts)


def test_the_stream_that_waited_longest_gives_way():
    streams = [count(3) for _ in range(workers._MOST_STREAMS + 1)]
    for one in streams:
        next(one)
    with pytest.raises(EvictedError):
        next(streams[0])
    assert [next(one).facts for one in streams[1:]] == [1] * workers._MOST_STREAMS


# -- Ends and forks ---------------------------------------------------------------------------------------------------
@linux
def test_a_killed_parent_leaves_no_orphan():
    code = f"""
import sys, time
from vlgauge.inputs.sandbox import run, workers
workers.PYTHONPATH += {os.pathsep + str(HELPERS)!r}
(part,) = run("sandbox_tasks:do", {{"deed": "touch"}}, subject="x")
print(part.facts["process"], part.facts["scratch"], flush=True)
list(run("sandbox_tasks:do", {{"deed": sys.argv[1]}}, subject="x"))
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
        for left in (Path(f"/proc/{number}"), Path(place)):
            while left.exists() and time.monotonic() < end:
                time.sleep(0.05)
            assert not left.exists()


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_without_a_folder_a_task_is_one_sentence_and_the_next_one_runs(monkeypatch, number):
    stop_idle()

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(workers.tempfile, "mkdtemp", refuse)
        workers.start("sandbox_tasks")  # the error is raised by the task instead
        with pytest.raises(UsageError, match=r"TMPDIR.*writable") as told:
            do("nothing")
    assert os.strerror(number) in str(told.value)
    assert do("nothing")


def test_a_worker_that_was_started_ahead_is_used():
    workers.start("sandbox_tasks")
    workers.start("sandbox_tasks")
    (worker,) = workers._free
    assert do("nothing").facts["process"] == worker.process.pid


FORKED = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks next to threads
from vlgauge.inputs.sandbox import EvictedError, run, stream, workers
workers.PYTHONPATH += {path!r}
parts = stream("sandbox_tasks:count", {{"n": 3}}, subject="x", most_bytes=10)
next(parts)
(free,) = run("sandbox_tasks:do", {{"deed": "touch"}}, subject="x")
number = os.fork()
if number == 0:
    try:
        next(parts)
        sys.exit(1)
    except EvictedError:
        pass
    (own,) = run("sandbox_tasks:do", {{"deed": "nothing"}}, b"abc", subject="x")
    assert own.facts["process"] != free.facts["process"]
    sys.exit(7)
_, status = os.waitpid(number, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
assert [part.facts for part in parts] == [1, 2]
assert os.path.isdir(free.facts["scratch"])
(again,) = run("sandbox_tasks:do", {{"deed": "nothing"}}, b"abc", subject="x")
print("well", again.body.decode())
"""


@linux
def test_a_fork_has_workers_of_its_own():
    environment = {**os.environ, "PYTHONPATH": str(Path(vlgauge.__file__).parents[1])}
    code = FORKED.format(path=os.pathsep + str(HELPERS))
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (told.returncode, told.stderr, told.stdout) == (0, "", "well abc\n")
