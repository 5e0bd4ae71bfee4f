"""Work ends at its next report of progress if its client stops it or disconnects, and the next score is correct."""

import asyncio
import contextlib
import http.client
import json
import threading
from urllib.parse import urlsplit

import gradio as gr
import pytest

import vlgauge
from vlgauge_workbench import scoring, stopping

CALL = {"data": ["bleu", "A dog ran.", ["A dog sat."], None, None, None, "", "embedded", ""]}


class Batches:
    """Work in batches, each of which waits until it is released."""

    def __init__(self):
        self.n_done, self.ended, self.stopped = 0, threading.Event(), None
        self.begun, self._gate = threading.Event(), threading.Semaphore(0)

    def let(self, n):
        self._gate.release(n)

    def __call__(self, *args, **kwargs):
        self.stopped = stopping._WORK.get().stopped
        self.begun.set()
        try:
            for done in range(1, 10_001):
                self._gate.acquire()
                self.n_done += 1
                stopping.report(done, 10_000)
        finally:
            self.ended.set()


@pytest.fixture
def batches():
    made = Batches()
    yield made
    made.let(10_000)


async def begun(handler, batches):
    """Return the next value of a handler in a task, once its work has begun."""
    task = asyncio.ensure_future(anext(handler))
    while not batches.begun.is_set():
        await asyncio.sleep(0.001)
    return task


@pytest.mark.parametrize("how", ["closed", "cancelled"])
def test_one_batch_at_most_follows_a_stop(batches, how):
    async def stop():
        handler = stopping.stoppable(batches)()
        task = await begun(handler, batches)
        batches.let(3)
        assert await task == gr.skip()  # it is running
        if how == "cancelled":
            task = asyncio.ensure_future(anext(handler))
            await asyncio.sleep(0)
            task.cancel()
        ends = asyncio.ensure_future(handler.aclose() if how == "closed" else asyncio.wait([task]))
        while not batches.stopped.is_set():
            await asyncio.sleep(0.001)
        assert not ends.done()  # it waits for the thread
        before = batches.n_done
        batches.let(10_000)
        await ends
        assert batches.ended.is_set()
        return batches.n_done - before

    assert asyncio.run(stop()) <= 1


def test_what_has_ended_is_the_last_value_and_what_failed_is_raised():
    async def values(function, *args):
        return [one async for one in stopping.stoppable(function)(*args)]

    assert asyncio.run(values(divmod, 7, 2)) == [(3, 1)]
    with pytest.raises(ZeroDivisionError):
        asyncio.run(values(divmod, 7, 0))


def test_what_is_done_is_told_meanwhile(batches):
    async def told():
        handler = stopping.stoppable(batches, lambda work: (work.done, work.total))()
        task = await begun(handler, batches)
        batches.let(3)
        while batches.n_done < 3:
            await asyncio.sleep(0.001)
        first = await task
        batches.let(10_000)
        await handler.aclose()
        return first

    assert asyncio.run(told()) == (3, 10_000)


def test_work_that_waits_for_a_metric_can_be_stopped():
    lock, waits = threading.RLock(), threading.Event()

    def wait():
        waits.set()
        with stopping.turn_at(lock):
            raise AssertionError

    async def stop():
        handler = stopping.stoppable(wait)()
        task = asyncio.ensure_future(anext(handler))
        while not waits.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    with lock:
        assert asyncio.run(stop())


# -- Metrics ----------------------------------------------------------------------------------------------------------
WORDS = ("a dog", "two cats", "the bird", "some people", "a horse", "one boat")
N_ROWS = 2_100
CAPTIONS = [f"{WORDS[row % 6]} near {WORDS[row // 6 % 6]} number {row}" for row in range(N_ROWS)]
SETS = [CAPTIONS[row : row + 3] for row in range(60)]
COLUMNS = {"predictions": CAPTIONS, "references": [[one] for one in [*CAPTIONS[7:], *CAPTIONS[:7]]]}


@pytest.mark.parametrize("name", ["rouge_l", "cider", "bleu", "chrf", "chair", "meteor", "trm"])
def test_a_metric_reports_blocks_and_scores_right_after_a_stop(name):
    columns = {"predictions": SETS, "references": SETS[::-1]} if name == "trm" else COLUMNS
    expected = vlgauge.load(name, profile="embedded").compute(**columns)
    told = []

    def report(done, total):
        told.append((done, total))
        if len(told) == stop_at:
            raise stopping.Cancelled

    metric = vlgauge.load(name, profile="embedded", progress=report)
    for stop_at in (1, 2):
        told.clear()
        with pytest.raises(stopping.Cancelled):
            metric.compute(**columns)
        assert len(told) == stop_at
    stop_at = None
    assert repr(metric.compute(**columns)) == repr(expected)  # including NaN
    assert all(0 < done <= total for done, total in told)


# -- Through the server -----------------------------------------------------------------------------------------------
def posted(served, path, call):
    with contextlib.closing(http.client.HTTPConnection(urlsplit(served).netloc, timeout=60)) as connection:
        connection.request("POST", path, json.dumps(call), {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())


@contextlib.contextmanager
def open_stream(served, event):
    """Yield the stream of events of a call."""
    with contextlib.closing(http.client.HTTPConnection(urlsplit(served).netloc, timeout=60)) as connection:
        connection.request("GET", f"/gradio_api/call/score/{event}")
        with connection.getresponse() as stream:
            yield stream


@pytest.mark.parametrize("how", ["gone", "cancelled"])
def test_a_call_that_nobody_waits_for_ends_at_its_next_batch(served, page_number, monkeypatch, batches, how):
    monkeypatch.setattr(scoring, "score_example", batches)
    event = posted(served, "/gradio_api/call/score", CALL)["event_id"]
    with open_stream(served, event):
        assert batches.begun.wait(60)
        batches.let(3)
        if how == "cancelled":
            number = page_number("score")
            call = {"session_hash": event, "fn_index": number, "event_id": event}
            cancelling = threading.Thread(target=posted, args=(served, "/gradio_api/cancel", call))
            cancelling.start()
            assert batches.stopped.wait(60)
    assert batches.stopped.wait(60)
    before = batches.n_done
    batches.let(10_000)
    assert batches.ended.wait(60)
    assert batches.n_done - before <= 1
    if how == "cancelled":
        cancelling.join(60)
    monkeypatch.undo()
    with open_stream(served, posted(served, "/gradio_api/call/score", CALL)["event_id"]) as stream:
        assert b"event: complete" in stream.read()
