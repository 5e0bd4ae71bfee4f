"""Work ends when its visitor stops it or goes away."""

import asyncio
import http.client
import json
import threading
from contextlib import closing, contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import gradio as gr
import pytest

from vlgauge.workbench import scoring, stopping
from vlgauge.workbench.visitors import VISITOR, FairQueue, TimeUsed, visitor_of

CALL = {"data": ["bleu", "A dog ran.", ["A dog sat."], None, None, None, "", "embedded"]}


class Endless:
    """Work without end, which tells when it began and that it was ended."""

    def __init__(self):
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self, *args, **kwargs):
        self.begun.set()
        try:
            while True:
                sum(range(100))
        finally:
            self.ended.set()


@pytest.fixture
def endless():
    return Endless()


def begun_in_thread(function):
    told = []

    def call():
        try:
            told.append(function())
        except gr.Error as error:
            told.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread, told


def test_what_is_stopped_ends_and_says_so(endless):
    works = []
    thread, told = begun_in_thread(stopping.stoppable(endless, works.append))
    assert endless.begun.wait(60)
    works[0].stop()
    thread.join(60)
    assert endless.ended.is_set()
    assert (str(told[0]), told[0].print_exception) == ("'Stopped.'", False)
    assert not stopping._AT_WORK


def test_a_library_that_loses_the_exception_is_told_again(endless, monkeypatch):
    monkeypatch.setattr(stopping, "AGAIN_SECONDS", 0.1)
    works = []

    def deaf():
        try:
            endless()
        except stopping.Stopped:
            works[0].n_lost = 1
        endless()

    thread, told = begun_in_thread(stopping.stoppable(deaf, works.append))
    assert endless.begun.wait(60)
    works[0].stop()
    thread.join(60)
    assert works[0].n_lost == 1
    assert str(told[0]) == "'Stopped.'"


def test_what_ended_is_not_stopped_any_more():
    works = []
    assert stopping.stoppable(lambda: 3, works.append)() == 3
    works[0].stop()
    assert sum(range(10**6)) == 499999500000  # nothing is raised here


def test_stopping_at_any_moment_leaves_the_next_score_right():
    """Also where the exception strikes as the work ends by itself."""
    captions = [f"A dog ran {number} times." for number in range(300)]

    def score():
        return scoring.metric_of("bleu").compute(predictions=captions, references=[[one] for one in captions[::-1]])

    expected = score()
    for delay in range(20):
        works = []
        thread, told = begun_in_thread(stopping.stoppable(score, works.append))
        thread.join(delay * 0.004)
        while not works:
            thread.join(0.001)
        works[0].stop()
        thread.join(60)
        assert str(told[0]) == "'Stopped.'" or told[0] == expected
        assert score() == expected


def posted(served, path, call):
    with closing(http.client.HTTPConnection(urlsplit(served).netloc, timeout=60)) as connection:
        connection.request("POST", path, json.dumps(call), {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())


@contextmanager
def told_of(served, event):
    """What becomes of a call, while it lasts."""
    with closing(http.client.HTTPConnection(urlsplit(served).netloc, timeout=60)) as connection:
        connection.request("GET", f"/gradio_api/call/score/{event}")
        with connection.getresponse() as stream:
            yield stream


@pytest.mark.parametrize("how", ["gone", "cancelled"])
def test_a_call_that_nobody_waits_for_ends(served, monkeypatch, endless, how):
    monkeypatch.setattr(scoring, "score_example", endless)
    event = posted(served, "/gradio_api/call/score", CALL)["event_id"]
    with told_of(served, event):
        assert endless.begun.wait(60)
        assert not endless.ended.is_set()
        if how == "cancelled":
            posted(served, "/gradio_api/cancel", {"session_hash": event, "fn_index": 0, "event_id": event})
            assert endless.ended.wait(60)
    assert endless.ended.wait(60)
    monkeypatch.undo()
    with told_of(served, posted(served, "/gradio_api/call/score", CALL)["event_id"]) as stream:
        assert b"event: complete" in stream.read()


# -- Turns ------------------------------------------------------------------------------------------------------------
def event(visitor, number=0):
    return SimpleNamespace(request=SimpleNamespace(scope={VISITOR: visitor}), number=number)


def test_nobodys_second_call_is_before_anothers_first():
    queue = FairQueue(TimeUsed())
    for one in [event("a", 1), event("a", 2), event("a", 3), event("b", 1), event("c", 1), event("b", 2)]:
        queue.append(one)
    assert [(one.request.scope[VISITOR], one.number) for one in queue] == [
        ("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2), ("a", 3),
    ]  # fmt: skip
    queue.remove(queue[0])
    queue.append(event("d"))
    assert [one.request.scope[VISITOR] for one in queue][:3] == ["b", "c", "d"]


def test_who_had_much_waits_for_who_had_little(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("vlgauge.workbench.visitors.time.monotonic", lambda: now[0])
    used = TimeUsed()
    used.add("greedy", 40.0)
    queue = FairQueue(used)
    for visitor in ("greedy", "a", "a", "b"):
        queue.append(event(visitor))
    assert [one.request.scope[VISITOR] for one in queue] == ["a", "b", "a", "greedy"]
    now[0] = 30.0
    assert used.of("greedy") == 20.0
    now[0] = 1000.0
    used.add("b", 1.0)
    assert used._used.keys() == {"b"}


def test_a_page_serves_by_turns(page):
    queues = page._queue.event_queue_per_concurrency_id
    assert {"model", "hub"} <= queues.keys()
    assert all(isinstance(one.queue, FairQueue) for one in queues.values())
    assert queues["model"].concurrency_limit == 2


def test_a_page_that_nobody_asks_looks_seldom(page, monkeypatch):
    queue, slept = page._queue, []

    async def sleep(seconds):
        slept.append(seconds)
        queue.stopped = True

    monkeypatch.setattr("gradio.queueing.asyncio.sleep", sleep)
    for looks in (queue.start_processing, queue.start_progress_updates):
        monkeypatch.setattr(queue, "stopped", False)
        asyncio.run(looks())
    assert slept[0] == 0.02
    assert set(slept[1:]) == {0.1}


def test_two_models_work_of_two_visitors(page, monkeypatch):
    queue = page._queue
    models = queue.event_queue_per_concurrency_id["model"]

    def model_event(visitor):
        own = event(visitor)
        own.concurrency_id = "model"
        return own

    first, second, other = model_event("a"), model_event("a"), model_event("b")
    for one in (first, second):
        models.queue.append(one)
    assert queue.get_events() == ([first], False, "model")
    monkeypatch.setattr(queue, "active_jobs", [[first], None])
    monkeypatch.setattr(models, "current_concurrency", 1)
    assert queue.get_events() is None
    models.queue.append(other)
    assert queue.get_events() == ([other], False, "model")
    models.current_concurrency = 2
    monkeypatch.setattr(queue, "active_jobs", [None, [other]])
    assert queue.get_events() is None
    models.current_concurrency = 1
    assert queue.get_events() == ([second], False, "model")


@pytest.mark.parametrize(
    ("client", "told", "is_behind_proxy", "visitor"),
    [
        ("9.9.9.9", b"8.8.8.8", False, "9.9.9.9"),
        ("9.9.9.9", b"8.8.8.8", True, "9.9.9.9"),
        ("10.0.0.1", b"8.8.8.8", True, "8.8.8.8"),
        ("10.0.0.1", b"1.2.3.4, 8.8.8.8, 10.0.0.2", True, "8.8.8.8"),  # the first is made up
        ("10.0.0.1", b"nonsense", True, "10.0.0.1"),
        ("10.0.0.1", b"8.8.8.8", False, "10.0.0.1"),
    ],
)
def test_a_visitor_is_the_address_that_cannot_be_made_up(client, told, is_behind_proxy, visitor):
    scope = {"client": (client, 1), "headers": [(b"x-forwarded-for", told)]}
    assert visitor_of(scope, is_behind_proxy=is_behind_proxy) == visitor
