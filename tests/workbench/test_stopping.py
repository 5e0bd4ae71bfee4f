"""Work ends when its visitor stops it or goes away."""

import http.client
import json
import threading
from contextlib import closing, contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import gradio as gr
import pytest
from browser import watched

from vlgauge.row_sources.tables import UploadedRows
from vlgauge.workbench import runs, scoring, stopping
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


def test_a_library_that_loses_the_exception_is_told_again(endless):
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


@pytest.mark.browser
def test_stop_ends_the_scoring(served, chromium, monkeypatch, endless, tmp_path):
    monkeypatch.setattr(runs, "score_checked", endless)
    (tmp_path / "rows.csv").write_text("predictions,references\n" + "A dog ran.,A dog sat.\n" * 20)
    with watched(chromium, f"{served}?metric=bleu", 1280, "light") as page:
        page.get_by_role("tab", name="Data set", exact=True).click()
        page.get_by_text("File", exact=True).first.click()
        panel = page.get_by_role("tabpanel").filter(visible=True)
        panel.locator("input[type=file]").first.set_input_files(tmp_path / "rows.csv")
        page.get_by_text("A dog ran.").first.wait_for(state="attached")
        page.locator("#score-data-set").click()
        status(page, "Scoring them")
        assert endless.begun.wait(60)
        panel.get_by_role("button", name="Stop", exact=True).click()
        assert endless.ended.wait(60)
        status(page, "Stopped while they were scored: there are no scores")


@pytest.mark.browser
def test_stop_at_row_5_of_5000_reads_no_other_row(served, chromium, monkeypatch, tmp_path):
    stopped, read = threading.Event(), []
    rows, stop = UploadedRows.rows, runs.Run.stop

    def slow(self, titles, start=0):
        for number, row in enumerate(rows(self, titles, start), start):
            if "references" in titles and len(titles) == 2:
                read.append(number)
                if number == 5:
                    assert stopped.wait(60)
            yield row

    monkeypatch.setattr(UploadedRows, "rows", slow)
    monkeypatch.setattr(runs, "BATCH", 1)
    monkeypatch.setattr(runs.Run, "stop", lambda self: (stop(self), stopped.set()))
    (tmp_path / "rows.csv").write_text("predictions,references\n" + "A dog ran.,A dog sat.\n" * 5000)
    with watched(chromium, f"{served}?metric=bleu", 1280, "light") as page:
        page.get_by_role("tab", name="Data set", exact=True).click()
        page.get_by_text("File", exact=True).first.click()
        panel = page.get_by_role("tabpanel").filter(visible=True)
        panel.locator("input[type=file]").first.set_input_files(tmp_path / "rows.csv")
        page.get_by_label("Number of rows, of 5,000; empty for all").fill("5000")
        read.clear()
        page.locator("#score-data-set").click()
        status(page, "5 of 5,000 rows read")
        panel.get_by_role("button", name="Stop", exact=True).click()
        status(page, "Stopped; the rows before row 6 are scored")
        page.frame_locator("iframe.vlgauge-page").first.get_by_text("6 of 6 rows were scored").wait_for()
        assert read[-1] == 5
        panel.get_by_role("button", name="Go on from row 6").wait_for()


def status(page, text):
    page.wait_for_function(
        "text => [...document.querySelectorAll('textarea')].some(one => one.value.includes(text))", arg=text
    )


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


def test_two_models_work_of_two_visitors(built, monkeypatch):
    queue = built()._queue
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
    models.current_concurrency = 1
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
