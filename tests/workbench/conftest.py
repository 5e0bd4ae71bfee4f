"""The workbench on the loopback. These tests are skipped if gradio is missing."""

import gc
import importlib
import json
import time
import urllib.request
import warnings
from pathlib import Path

import pytest
from folders import GOLDEN
from gradio_loops import close_at_once, collect_loops_of_gradio, loops_of_gradio_left_open

if importlib.util.find_spec("gradio") is None:
    pytest.skip("gradio is not installed", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    importlib.import_module("vlgauge_workbench")


# Event loops that Gradio left open, and their sockets.
_LEFT_OPEN = (
    r"ignore:Exception ignored in. <(socket\.socket|function BaseEventLoop):pytest.PytestUnraisableExceptionWarning"
)


def pytest_collection_modifyitems(items):
    """Ignore objects that Gradio left open, which the garbage collector may find during any test."""
    here = str(Path(__file__).parent)
    for item in items:  # of all folders: comparing the parents of 13,000 paths takes 0.16 s
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.filterwarnings(_LEFT_OPEN))


@pytest.fixture(autouse=True, scope="module")
def nothing_of_gradio_is_left():
    """Collect the garbage after each file, so that no file of tests affects the next one.

    Many tests search for garbage. Objects that exist before the file are excluded, because they would take a second.
    """
    collect_loops_of_gradio()
    gc.freeze()
    yield
    collect_loops_of_gradio()


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """Yield the URL of a workbench, which ends with the tests."""
    import vlgauge_workbench

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GRADIO_TEMP_DIR", str(tmp_path_factory.mktemp("gradio")))
        patched.setenv("NO_PROXY", "127.0.0.1,localhost")
        with loops_of_gradio_left_open():
            page = vlgauge_workbench.app(results=[str(GOLDEN / "leaderboard" / "results.jsonl")])
            vlgauge_workbench.launch(page, server_name="127.0.0.1", quiet=True, prevent_thread_lock=True)
        try:
            yield page.local_url
        finally:
            close_at_once(page)


@pytest.fixture
def wait_until():
    """`wait_until(condition)` waits at most a minute until the condition is true."""

    def wait(condition):
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, "it never came"
            time.sleep(0.02)

    return wait


@pytest.fixture(scope="session")
def built():
    """Return `built(...)`, which builds the page of a workbench without serving it. A page takes seconds."""
    import vlgauge_workbench

    def build(**options):
        with loops_of_gradio_left_open():
            return vlgauge_workbench.app(**options)

    return build


@pytest.fixture(scope="session")
def page(built):
    """Return the page without options, for tests that do not change it."""
    return built()


@pytest.fixture(scope="module")
def client(served):
    """Yield a client of the API."""
    from gradio_client import Client

    with loops_of_gradio_left_open():
        made = Client(served, verbose=False)
    yield made
    with loops_of_gradio_left_open():
        made.close()
        del made


@pytest.fixture(scope="session")
def page_number(served):
    """Return `page_number(name)`, the number of an event of the page by the name of its function."""
    with urllib.request.urlopen(f"{served}config") as answer:
        numbers = {one["api_name"]: one["id"] for one in json.load(answer)["dependencies"]}
    return numbers.__getitem__
