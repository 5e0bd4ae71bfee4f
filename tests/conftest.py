"""Environment of every test: no network, a separate cache folder, no profile settings from outside."""

import atexit
import functools
import gc
import math
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

import pytest
from browser import browser
from packaging.version import Version
from script_modules import script_module

import vlgauge_metrics
from vlgauge.checkpoints import files
from vlgauge.core.lean_imports import lean_import
from vlgauge.core.pool import pool

# Before anything imports evaluate, which reads them once. One folder per worker process.
_HOME = tempfile.mkdtemp(prefix="vlgauge-tests-")
if "PYTEST_XDIST_WORKER" in os.environ:
    # The main process has set its folder. Reading the published paraphrases takes three seconds, so workers share them.
    _paraphrases = Path(os.environ["VLGAUGE_HOME"], "paraphrases")
    _paraphrases.mkdir(exist_ok=True)
    with suppress(OSError):  # Windows may not allow links
        Path(_HOME, "paraphrases").symlink_to(_paraphrases)
os.environ.update(
    HF_EVALUATE_OFFLINE="1",
    HF_HUB_OFFLINE="1",
    HF_UPDATE_DOWNLOAD_COUNTS="0",
    HF_HOME=_HOME,
    VLGAUGE_HOME=_HOME,
    MPLBACKEND="Agg",
    TOKENIZERS_PARALLELISM="false",
)
for _name in ("HF_DATASETS_CACHE", "HF_HUB_CACHE", "HF_METRICS_CACHE", "HF_MODULES_CACHE", "VLGAUGE_PROFILE"):
    os.environ.pop(_name, None)

# As many workers as processors, each with as many threads, wait for one another more than they work.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    # Exit functions registered later run before. A regular shutdown of all libraries takes ten seconds.
    atexit.register(os._exit, 0)

TESTS = Path(__file__).resolve().parent
# Files that start first, in this order: browser tests, which compute while other tests wait, then the longest files.
FIRST = ("browser", "started", "ray", "picker", "distributed", "killed_processes", "signatures", "data_set", "reports")
FIRST += ("hub", "tokenizers", "hostile_data_sets", "lean_imports", "limits", "data_sets", "coming_from")
FIRST += ("torch_runtime", "bombs", "score_tab", "assemble", "coco_table", "demo", "command", "hostile_media")
FIRST += ("damaged_files",)
PLACE = {f"test_{name}.py": place for place, name in enumerate(FIRST)}

# An audit hook detects every socket, including those of code that imported the class before a test began, and cannot be
# removed.
REFUSE_SOCKETS = """
import sys
import urllib3.util.connection  # makes a socket while it is imported, to see whether there is IPv6

attempts = []
watching = True

def refuse_sockets(event, arguments):
    if not watching or event[:7] != "socket.":  # each file that is opened is an event, too
        return
    made = event == "socket.__new__" and arguments[1] != 1  # AF_UNIX
    if made or event in ("socket.getaddrinfo", "socket.gethostbyname"):
        attempts.append((event, *map(str, arguments[1:])))
        raise OSError(f"the network is forbidden here: {event}")

sys.addaudithook(refuse_sockets)
"""
_GUARD: dict = {}


def pytest_configure(config):
    """Import evaluate without the parts that take four seconds, before a test file imports it completely."""
    if not config.getoption("numprocesses", None):  # with workers, each of them imports it
        lean_import("evaluate")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Start long files first, so that none runs alone at the end, and set the timeout of slow tests to an hour."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(3600))
    items.sort(key=lambda item: PLACE.get(item.path.name, len(PLACE)))


# Marker -> minimum package versions of its tests, which an installation may lack.
NEWER = {
    "streaming": {"datasets": "5.0", "huggingface_hub": "1.0"},
    "fetching": {"huggingface_hub": "1.0"},
    "sending": {"huggingface_hub": "1.4"},
}


def pytest_runtest_setup(item):
    """Skip tests that the minimum versions of an installation do not support. Calls raise an error in this case."""
    for marker, packages in NEWER.items():
        for package, least in packages.items():
            if item.get_closest_marker(marker) and Version(version(package)) < Version(least):
                pytest.skip(f"{marker} needs {package} {least}")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Disable garbage collection, because all tests and their imports last as long as the process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # the little garbage, too, which takes a second to find
        gc.enable()
        gc.set_threshold(20_000, 20, 20)
        atexit.register(gc.unfreeze)  # otherwise extension modules report at exit that their types still exist


@pytest.fixture
def use_metrics(monkeypatch):
    """Return a function that makes a folder the only folder of metrics, until the test ends."""
    imported = {name: module for name, module in sys.modules.items() if name.startswith("vlgauge_metrics.")}

    def forget():
        for name in [name for name in sys.modules if name.startswith("vlgauge_metrics.")]:
            del sys.modules[name]

    def use(folder):
        monkeypatch.setattr(vlgauge_metrics, "__path__", [str(folder)])
        forget()

    yield use
    forget()
    sys.modules.update(imported)


def pytest_sessionfinish():
    shutil.rmtree(_HOME, ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def libraries_are_searched_once():
    """Exclude the imports of a test file from later garbage collection, which many of its tests request."""
    before = len(sys.modules)
    yield
    if len(sys.modules) - before > 100:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def plain_models_outlive_a_file():
    """Restore models that a test file removed from the pool to test their loading."""
    plain = ("english", "punkt", "sentence", "tokens")
    before = {key: encoder for key, encoder in pool.encoders.items() if key[0] in plain}
    yield
    for key, encoder in before.items():
        pool.get(key, lambda encoder=encoder: encoder)


@pytest.fixture(scope="session", autouse=True)
def silence_demo_warnings():
    """Suppress the warnings of the demo models, because their first use depends on the order of the tests."""
    from vlgauge.models.clip import demo

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        demo.warn_of_demo("CLIP")
        demo.warn_of_demo("sentence-order model")


@pytest.fixture(scope="session", autouse=True)
def no_step_is_long():
    """Disable progress lines, because the steps that are long enough for one depend on the machine."""
    from vlgauge.core import progress

    progress.FIRST_LINE_SECONDS = math.inf


@pytest.fixture(scope="session", autouse=True)
def files_are_settled_soon():
    """Treat files as settled after 50 ms, as with a fine-grained disk clock, so that new files are hashed once."""
    files._SETTLED_NS = 50_000_000


@pytest.fixture(scope="session", autouse=True)
def scripts_are_read_once():
    """Cache the scripts of this checkout, which do not change. Otherwise each load reads, hashes and copies them."""
    loading = lean_import("evaluate").loading
    read = loading.evaluation_module_factory
    read_once = functools.cache(lambda path: read(path))

    def read_where_it_may_change(path, **others):
        of_checkout = Path(path).parent in (TESTS.parent / "metrics", TESTS / "helpers" / "demo_metrics")
        return read_once(path) if of_checkout else read(path, **others)

    loading.evaluation_module_factory = read_where_it_may_change


@contextmanager
def refused_sockets():
    """Block every socket except AF_UNIX, and fail at the end if a test caught the error."""
    if not _GUARD:
        exec(REFUSE_SOCKETS, _GUARD)
    _GUARD["watching"] = True
    try:
        yield _GUARD["attempts"]
    finally:
        _GUARD["watching"] = False
        attempts = _GUARD["attempts"].copy()
        _GUARD["attempts"].clear()
    assert not attempts


@pytest.fixture
def no_sockets():
    """Guard that fails the test if it creates a socket."""
    with refused_sockets() as attempts:
        yield attempts


@pytest.fixture(scope="session")
def without_sockets():
    """Function for `with without_sockets(): ...`, which fails if the block creates a socket."""
    return refused_sockets


@pytest.fixture
def shared_folder():
    """Reference material next to the checkout, which is optional."""
    folder = TESTS.parents[1] / "shared"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder


@pytest.fixture
def rows_folder(tmp_path):
    """Folder for the rows of metrics (`cache_dir`), which must be empty at the end of the test."""
    folder = tmp_path / "rows"
    yield folder
    assert [path.name for path in folder.rglob("*") if path.is_file()] == []


@pytest.fixture
def load_demo():
    """`load_demo(name, **settings)` loads one of the small metrics in tests/helpers/demo_metrics."""
    import evaluate

    return lambda name, **settings: evaluate.load(str(TESTS / "helpers" / "demo_metrics" / name), **settings)


@pytest.fixture(scope="session")
def run_python():
    """`run_python(code, cwd=..., **environment)`: output of a fresh process that can open no socket."""
    import vlgauge

    package = str(Path(vlgauge.__file__).parents[1])

    def run(code, *, cwd, **environment):
        # A regular exit takes up to 0.7 s if torch is loaded.
        end = "import os\nassert not attempts, attempts\nsys.stdout.flush()\nos._exit(0)"
        guarded = f"{REFUSE_SOCKETS}\n{code}\n{end}"
        command = [sys.executable, "-c", guarded]
        variables = {**os.environ, "PYTHONPATH": package, **environment}
        finished = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=variables, check=False)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    return run


@pytest.fixture(scope="module")
def chromium():
    """One browser for the tests of a file. Two at once would share an event loop, which disturbs other test files."""
    with browser() as found:
        yield found


@pytest.fixture
def story_demo(load_demo, rows_folder):
    """Demo metric of stories, with its rows on disk."""
    return load_demo("story_demo", cache_dir=str(rows_folder))


@pytest.fixture
def set_demo(load_demo, rows_folder):
    """Demo metric of caption sets."""
    return load_demo("set_demo", cache_dir=str(rows_folder))


@pytest.fixture
def image_demo(load_demo, rows_folder):
    """Demo metric of images."""
    return load_demo("image_demo", cache_dir=str(rows_folder))


@pytest.fixture
def run_demo(monkeypatch):
    """The script as a module, whose changes of the environment are undone afterwards."""
    for name in ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"):
        monkeypatch.setenv(name, "1")
    return script_module("run_demo.py")
