"""The dataset picker with a Hub on this machine: in a browser from typing to the files, and by calls."""

import json
import threading
import time
from contextlib import contextmanager

import pytest
from browser import unfold, watched
from folders import GOLDEN
from gradio_loops import close_at_once, loops_of_gradio_left_open
from hub_data_sets import TOKEN, Repository, hub_of_data_sets
from made_data_sets import N_ROWS, repositories

from vlgauge.api.row_sources.hub import HubRows
from vlgauge_workbench import about, runs, scoring, stopping

FRAMES_TOO_WIDE = """() => [...document.querySelectorAll('iframe')].filter(
  one => one.contentDocument.documentElement.scrollWidth > one.offsetWidth).length"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Yield the URL of a workbench with the limits of a Space and with a separate Hub."""
    import vlgauge_workbench

    home = tmp_path_factory.mktemp("home")
    results = {"results.jsonl": (GOLDEN / "leaderboard" / "results.jsonl").read_bytes()}
    made = repositories("http://127.0.0.1:9") | {"org/results": Repository({"c" * 40: results}, gated=True)}
    with pytest.MonkeyPatch.context() as patched, hub_of_data_sets(home, **made):
        patched.setenv("GRADIO_TEMP_DIR", str(home / "gradio"))
        patched.setenv("NO_PROXY", "127.0.0.1,localhost")
        with loops_of_gradio_left_open():
            page = vlgauge_workbench.app("clip_s", is_space=True)
            vlgauge_workbench.launch(page, server_name="127.0.0.1", quiet=True, prevent_thread_lock=True)
        try:
            yield page.local_url
        finally:
            close_at_once(page)


@contextmanager
def tab(chromium, address, width=1280, scheme="light"):
    """Yield the tab, and check that it sends no requests to other machines and that no script fails."""
    with watched(chromium, address, width, scheme) as page:
        page.get_by_role("tab", name="Dataset", exact=True).click()
        yield page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(FRAMES_TOO_WIDE) == 0


def named(page, name):
    """Request a dataset by its full name, which is pasted."""
    box = page.get_by_label("Dataset", exact=True)
    box.click()
    box.fill(name)
    box.press("Enter")


def opened(page, name):
    """Open a dataset by its full name, and wait until its columns are shown."""
    named(page, name)
    chosen(page, "caption")


def chosen(page, title):
    """Wait until this column is selected in a list, which then shows the first value of the column."""
    page.wait_for_function(
        "title => [...document.querySelectorAll('input')].some(one => one.value.startsWith(`${title}: `))", arg=title
    )


def score(page):
    page.locator("#score-data-set").click()


def frame(page):
    return page.frame_locator("iframe.vlgauge-page:visible").first


def status(page, text):
    page.wait_for_function(
        "text => [...document.querySelectorAll('textarea')].some(one => one.value.includes(text))", arg=text
    )


@pytest.mark.browser
def test_from_typing_to_the_files_that_are_kept(address, chromium):
    with tab(chromium, address) as page:
        box = page.get_by_label("Dataset", exact=True)
        box.click()
        box.fill("")
        box.press_sequentially("pict", delay=20)
        page.get_by_role("option", name="org/pictures").click()
        page.get_by_text("A green picture. | All is green.").first.wait_for()
        score(page)
        frame(page).get_by_text(f"{N_ROWS} of {N_ROWS} rows were scored").wait_for()
        with page.expect_download() as kept:
            page.locator("a[download='scores.jsonl']").click()
        rows = [json.loads(line) for line in kept.value.path().read_text("utf-8").splitlines()]
        assert [row["id"] for row in rows] == list(range(N_ROWS))
        assert all(isinstance(row["clip_s"], float) for row in rows)
        page.get_by_placeholder("Filter...").fill("yellow")
        page.wait_for_function(
            "![...document.querySelectorAll('.every-row td')].some(one => one.innerText === 'A green square.')"
        )
        page.locator(".every-row").get_by_text("A yellow square.").first.wait_for(state="attached")
        # Another metric clears the scores.
        page.locator(".pick:visible").click()
        page.get_by_role("option", name="ROUGE-L").click()
        page.wait_for_function("!document.querySelector('iframe.vlgauge-page')")
        page.wait_for_timeout(500)
        assert page.locator(".toast-body").count() == 0


@pytest.mark.browser
def test_stop_ends_the_reading_and_the_scoring(address, chromium, monkeypatch):
    gate, rows, read = threading.Event(), HubRows.rows, []
    begun, ended = threading.Event(), threading.Event()

    def slow(self, titles, start=0, stop=None):
        for number, row in enumerate(rows(self, titles, start, stop), start):
            if len(titles) > 2:
                read.append(number)
                assert number != 8 or gate.wait(60)
            yield row

    def endless(*given):
        begun.set()
        try:
            while True:
                stopping.report(1, 2)
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(HubRows, "rows", slow)
    monkeypatch.setattr(runs, "BATCH", 4)
    with tab(chromium, address) as page:
        opened(page, "org/pictures")
        score(page)
        status(page, "8 of ")
        assert page.locator("#score-data-set").is_disabled()
        page.get_by_role("button", name="Stop").click()
        page.wait_for_function(
            "[...document.querySelectorAll('button')].find(one => one.innerText === 'Stop').disabled"
        )
        gate.set()
        status(page, "Stopped; the rows before row 9 are scored")
        frame(page).get_by_text("9 of 9 rows were scored").wait_for()
        assert read[-1] == 8
        page.get_by_role("button", name="Continue from row 9").click()
        frame(page).get_by_text(f"{N_ROWS} of {N_ROWS} rows were scored").wait_for()
        page.get_by_role("button", name="Continue").wait_for(state="hidden")
        monkeypatch.setattr(runs, "score_checked", endless)
        score(page)
        status(page, "Scoring them")
        assert begun.wait(60)
        page.get_by_role("button", name="Stop").click()
        assert ended.wait(60)
        status(page, "Stopped during scoring, so there are no scores")


@pytest.mark.browser
def test_what_cannot_be_opened_is_told_and_a_token_opens_it(address, chromium):
    with tab(chromium, address) as page:
        for name, told in (
            ("org/scripted", "which is a script; scripts are not run"),
            ("org/private", "which is unknown or private"),
            ("org/gated", "which is gated; accept its terms"),
            ("no name", "must be OWNER/NAME of a dataset of the Hub"),
        ):
            named(page, name)
            page.get_by_text(told).first.wait_for()
        score(page)
        page.get_by_text("must be opened, or a file uploaded, first").first.wait_for()
        token = page.get_by_label("Your token")
        unfold(page, "Token for gated and private datasets", token)
        token.fill(TOKEN)
        opened(page, "org/gated")
        page.get_by_label("at most 200 here").fill("10000")
        score(page)
        page.get_by_text("must be at most 200 here, got 10,000").first.wait_for()
        # Another run can follow a failed one.
        page.get_by_label("at most 200 here").fill("10")
        page.get_by_label("From row").fill("99")
        score(page)
        page.get_by_text("there is no row from this number on").first.wait_for()
        page.get_by_label("From row").fill("0")
        score(page)
        frame(page).get_by_text("rows were scored").first.wait_for()


@pytest.mark.browser
def test_a_leaderboard_of_a_results_data_set(address, chromium):
    with tab(chromium, address) as page:
        page.get_by_role("tab", name="Leaderboard").click()
        results = page.get_by_label("Results on the Hub")
        unfold(page, "Your own results", results)
        results.fill("org/results")
        page.get_by_role("button", name="Read", exact=True).click()
        page.get_by_text("accept the terms").first.wait_for()
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Read", exact=True).click()
        # The previous table has a column with this name, too.
        page.get_by_text("Teller | two").first.wait_for()
        page.get_by_label("Model contains").fill("nobody")
        page.get_by_text("No record matches").wait_for()


def test_two_visitors_at_once_get_the_numbers_of_one(address):
    from gradio_client import Client

    words = {"metric": "clip_s", "dataset": "org/pictures", "split": "test", "rows": 2, "api_name": "/score_dataset"}
    with loops_of_gradio_left_open():
        clients = [Client(address, verbose=False) for _ in range(2)]
        alone = clients[0].predict(**words | {"rows": 4})
        jobs = [client.submit(**words, first_row=2 * i) for i, client in enumerate(clients)]
        at_once = [job.result(timeout=120) for job in jobs]
        for client in clients:
            client.close()
    assert [one["id"] for one in alone["scores"]] == list(range(4))
    found = [row for one in at_once for row in one["scores"]]
    assert [row["id"] for row in found] == [row["id"] for row in alone["scores"]]
    # Batches of two and of four have different float32 rounding errors.
    expected = [row["score"] for row in alone["scores"]]
    assert [row["score"] for row in found] == pytest.approx(expected, abs=1e-5)


def test_the_call_of_the_last_tab_scores_a_data_set(address, capsys):
    code = about.dataset_call(scoring.metric_of("clip_s"), address).replace("OWNER/NAME", "org/pictures")
    code = code.replace("'reference'", "'refs'").replace("rows=100", "rows=3")
    with loops_of_gradio_left_open():
        exec(compile(code, "about", "exec"), {})
    assert "'id': 'org/pictures'" in capsys.readouterr().out
