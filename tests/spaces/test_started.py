"""Spaces as the Hub starts them, in a browser: an app in its own folder and process, a page from a file server."""

import functools
import http.server
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import assemble
import pytest
from browser import watched
from script_modules import script_module

from vlgauge.explain.examples import ROLES, examples_of

pytestmark = pytest.mark.browser
read_scores = script_module("make/score_examples.py").read_scores
START_SECONDS = 120
# Ends a process even if the tests are killed before they end it.
LIMIT = ["timeout", "280"] if shutil.which("timeout") else []


@contextmanager
def started(folder, log, **variables):
    """Start the app of a Space, yield its URL, and end it with the processes that it started."""
    environment = {**os.environ, **variables, "PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1,localhost"}
    # The Hub sets SYSTEM=spaces as well, with which the page of Gradio loads fonts and asks the Hub about the Space.
    environment |= {"SPACE_ID": f"people/{folder.name}", "GRADIO_SERVER_NAME": "127.0.0.1"}
    options = {"stdout": log.open("wb"), "stderr": subprocess.STDOUT, "start_new_session": True}
    with (
        options["stdout"],
        subprocess.Popen([*LIMIT, sys.executable, "app.py"], cwd=folder, env=environment, **options) as app,
    ):
        try:
            yield address_in(log, app)
        finally:
            os.killpg(app.pid, signal.SIGTERM)
            try:
                app.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(app.pid, signal.SIGKILL)


def address_in(log, app):
    """Wait until the app prints its URL, and return it."""
    end = time.monotonic() + START_SECONDS
    while True:
        printed = log.read_text("utf-8")
        if found := re.search(r"http://127\.0\.0\.1:\d+", printed):
            return found[0]
        assert app.poll() is None, printed
        assert time.monotonic() < end, printed
        time.sleep(0.1)


@contextmanager
def served(folder):
    """Serve the files of a folder, and yield the URL."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *message):
            """Print nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def check_score(result, name, example):
    """Check that a result shows the score of an example, to its last digit."""
    text = result.locator(".big").inner_text().replace("\N{MINUS SIGN}", "-")
    rounding = 0.51 * 10 ** -len(text.partition(".")[2])
    assert float(text) == pytest.approx(read_scores(name)[""][example.id], abs=rounding)


@pytest.mark.skipif(importlib.util.find_spec("gradio") is None, reason="gradio is not installed")
def test_a_gradio_space_scores_its_example(chromium, tmp_path):
    """Check the Space of all metrics. `test_served.py` has the app of a metric, and `test_command.py` its process."""
    folder = tmp_path / "workbench"
    assemble.write_folder(assemble.assemble_space("workbench"), folder)
    (example,) = [one for one in examples_of("groovist") if one.shows == "subtle"]
    with (
        started(folder, tmp_path / "log.txt", GRADIO_TEMP_DIR=str(tmp_path / "gradio")) as address,
        watched(chromium, address, 1280) as page,
    ):
        field, result = page.get_by_label("Story", exact=True), page.locator(".res")
        page.get_by_text(f"Subtle example: {example.title}").wait_for()
        check_score(result, "groovist", example)
        # The first result was computed with the page. Another text is scored, and then the example.
        own = field.input_value()
        field.fill("We ran home.")
        page.locator("#go").click()
        page.get_by_text("Your own example").wait_for()
        field.fill(own)
        page.locator("#go").click()
        page.get_by_text(f"Subtle example: {example.title}").wait_for()
        check_score(result, "groovist", example)
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == set(assemble.assemble_space("workbench"))


def test_a_static_space_shows_the_score_of_each_example(chromium, tmp_path):
    assemble.write_folder(assemble.assemble_space("cider", kind="static"), tmp_path)
    examples = [one for one in examples_of("cider") if not one.config]
    assert [one.shows for one in examples] == list(ROLES)
    with served(tmp_path) as address, watched(chromium, address, 1280) as page:
        for example in examples:
            page.locator(f".card.{example.shows}").click()
            result = page.locator(".res:visible")
            result.get_by_text(f"example: {example.title}").or_(
                result.get_by_text(f"Limitation: {example.title}")
            ).wait_for()
            check_score(result, "cider", example)
        lines = page.request.get(f"{address}/examples/examples.jsonl").text().splitlines()
    found = {row["id"]: row["score"] for row in map(json.loads, lines)}
    assert found == pytest.approx(read_scores("cider")[""], rel=1e-5)
