"""The wheel contains everything and works without the sources."""

import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes

import pytest
from folders import ROOT

import vlgauge

SOURCES = ("LICENSE", "README.md", "metrics", "pyproject.toml", "setup.cfg", "shared", "spaces/workbench")


def sources():
    """Return the paths of the files that the wheel is built from.

    In a clone these are the files that git knows, so that no file is forgotten.
    """
    listed = subprocess.run(["git", "ls-files", *SOURCES], capture_output=True, text=True, cwd=ROOT, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [path for path in listed.stdout.splitlines() if (ROOT / path).exists()]
    paths = [path for name in SOURCES for path in [ROOT / name, *(ROOT / name).rglob("*")] if path.is_file()]
    return [str(path.relative_to(ROOT)) for path in paths if path.suffix != ".pyc"]


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """Return a copy of the sources."""
    folder = tmp_path_factory.mktemp("source")
    for path in sources():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    return folder


@pytest.fixture(scope="session")
def names(source):
    return sorted(script.stem for script in source.glob("metrics/*/*.py") if script.stem == script.parent.name)


@pytest.fixture(scope="session")
def built(source, tmp_path_factory):
    """Return the folder of the sdist and the wheel, built by the hooks that every front end calls."""
    folder = tmp_path_factory.mktemp("built")
    hooks = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["build-system"]["build-backend"]
    code = f"import {hooks} as hooks; hooks.build_sdist({str(folder)!r}); hooks.build_wheel({str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=source, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def wheel(built):
    """Return the folder of the unpacked wheel."""
    (file,) = built.glob("*.whl")
    assert file.name == f"vlgauge-{vlgauge.__version__}-py3-none-any.whl"
    zipfile.ZipFile(file).extractall(built / "unpacked")
    return built / "unpacked"


@pytest.fixture(scope="session")
def run_wheel(wheel, run_python, tmp_path_factory):
    """`run_wheel(code)`: output of a fresh process in an empty folder that can import only the wheel."""
    empty = tmp_path_factory.mktemp("empty")

    def run(code):
        return run_python(code, cwd=empty, PYTHONPATH=str(wheel), HF_HOME=str(empty / "home"))

    return run


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_wheel_has_every_file_of_the_package_and_of_the_metrics(source, wheel):
    assert files_below(wheel / "vlgauge") == files_below(source / "shared" / "vlgauge")
    assert files_below(wheel / "vlgauge_workbench") == files_below(source / "spaces" / "workbench") - {"README.md"}
    assert files_below(wheel / "vlgauge_metrics") == files_below(source / "metrics") - {"ruff.toml"}


def test_wheel_has_nothing_else_at_the_top(wheel):
    assert {path.name for path in wheel.iterdir()} == {
        "vlgauge",
        "vlgauge_metrics",
        "vlgauge_workbench",
        f"vlgauge-{vlgauge.__version__}.dist-info",
    }


def test_metadata_name_extras_command_and_licence(wheel, names):
    (folder,) = wheel.glob("*.dist-info")
    metadata = message_from_bytes((folder / "METADATA").read_bytes())
    assert {name.replace("_", "-") for name in names} <= set(metadata.get_all("Provides-Extra"))
    assert metadata["Version"] == vlgauge.__version__
    assert metadata.get_payload().startswith("# vlgauge")
    assert "vlgauge = vlgauge.__main__:main" in (folder / "entry_points.txt").read_text()
    assert (folder / "licenses" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_metrics_of_the_wheel_load_score_and_are_explained(run_wheel, wheel, names):
    code = f"""
import json, vlgauge, vlgauge.core.catalog
from vlgauge.explain import explain
for name in {names!r}:
    assert vlgauge.load(name).name == name
files = []
for name, row in (("rovist_nr", ["The dog ran home.", "The dog ran home."]), ("trm", ["a dog", "a cat"])):
    columns = dict(predictions=[row], references=[["a bird", "two"]])
    own = {{key: columns[key] for key in (["predictions", "references"] if name == "trm" else ["predictions"])}}
    result = vlgauge.load(name, keep_in_memory=True).compute(**own, return_details=True)
    assert name == "trm" or result["rovist_nr_scores"] == [0.5]
    explained = explain(name, columns, result)
    assert explained.html()
    files.append(sys.modules[type(explained).__module__].__file__)
print(json.dumps([vlgauge.__file__, str(vlgauge.core.catalog.metrics_root()), *files]))
"""
    explanations = [str(wheel / "vlgauge_metrics" / name / "explanation.py") for name in ("rovist_nr", "trm")]
    expected = [str(wheel / "vlgauge" / "__init__.py"), str(wheel / "vlgauge_metrics"), *explanations]
    assert json.loads(run_wheel(code)) == expected


def test_the_sdist_has_what_the_wheel_is_built_of(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {path for path in sources() if path.startswith(("metrics/", "shared/"))} - {"metrics/ruff.toml"}
    assert wanted - held == set()


def test_import_is_light(run_wheel):
    code = "import vlgauge; print([m for m in ('datasets', 'evaluate', 'numpy', 'torch') if m in sys.modules])"
    assert run_wheel(code) == "[]\n"


def test_list_names_every_metric_and_is_light(run_wheel, names):
    code = """
import atexit, runpy
atexit.register(lambda: print("heavy:", [m for m in ("datasets", "evaluate", "torch") if m in sys.modules]))
sys.argv = ["vlgauge", "list"]
runpy.run_module("vlgauge", run_name="__main__")
"""
    output = run_wheel(code)
    assert [line.split()[0] for line in output.splitlines()[2:-1]] == names
    assert output.endswith("heavy: []\n")
