"""Requirements of every metric in metrics/, and tests that violations are detected.

The checks are functions of a folder. Each is run on every metric, and on copies of a demo metric with one fault.
"""

import re
import shutil
import socket

import pytest
from folders import ROOT
from metric_checks import (
    SETUP,
    STORY_DEMO,
    check_bounds,
    check_card,
    check_class,
    check_description,
    check_doctests,
    check_facts,
    check_family,
    check_files,
    check_hint,
    check_imports,
    check_names_are_free,
    check_result,
    check_result_depends_on_nothing_else,
    check_sandbox,
    check_settings,
    check_signatures,
    load_afresh,
)
from script_modules import script_module

from vlgauge.core import catalog

FOLDERS = {name: catalog.metric_folder(name) for name in catalog.metric_names()}
pytestmark = pytest.mark.usefixtures("no_sockets")

CHECKS = [
    *(check_class, check_imports, check_hint, check_files, check_names_are_free, check_signatures, check_settings),
    *(check_family, check_description, check_facts, check_result, check_result_depends_on_nothing_else),
    *(check_doctests, check_card, check_sandbox),
]


# -- on every metric --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", FOLDERS)
def test_metric(name, check):
    check(FOLDERS[name])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sound_demo_model(check):
    check(STORY_DEMO)


def test_all_load_in_a_fresh_process_without_network_or_heavy_packages(run_python, tmp_path):
    faulty = []
    for line, name in (("import torch", "torch"), ("import socket\n_S = socket.socket()", "socket")):
        faulty.append(shutil.copytree(STORY_DEMO, tmp_path / name / STORY_DEMO.name))
        script = faulty[-1] / f"{STORY_DEMO.name}.py"
        script.write_text(script.read_text("utf-8").replace("import Any\n", f"import Any\n{line}\n"), "utf-8")
    *found, importing, opening = load_afresh(run_python, [*FOLDERS.values(), *faulty], tmp_path)
    assert found == list(FOLDERS)
    assert "dependencies['torch']" in importing
    assert "the network is forbidden" in opening


def test_sockets_are_refused_here(no_sockets):
    socket.socket(socket.AF_UNIX).close()
    with pytest.raises(OSError, match="forbidden here"):
        socket.create_connection(("localhost", 9))
    assert no_sockets
    no_sockets.clear()


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"range": "0 to 1"}, "`range` as"),
        ({"range": "[0, 1]; long [0, S]"}, "add `bounds`"),
        ({"range": "[0, 1]", "bounds": [0, 1]}, "omit `bounds`"),
        ({"range": "[0, 1]; released [0, 2]", "bounds": [0, 1]}, "must contain"),
        ({"range": "(-inf, 1]", "bounds": [0, 1]}, "must contain"),
        ({"bounds": [0, 1]}, "requires `range`"),
    ],
)
def test_bounds_of_a_card_agree_with_its_range(stated, message):
    for fine in (
        {},
        {"range": "[0, 1]"},
        {"range": "[0, S]", "bounds": [0, 9]},
        {"range": "(0, 4/3]", "bounds": [None, 2]},
    ):
        check_bounds({"key": "m", **fine})
    with pytest.raises(AssertionError, match=message):
        check_bounds({"key": "m", **stated})


# -- around the metrics -----------------------------------------------------------------------------------------------
def test_packages_of_setup_cfg_are_the_folders():
    folders = {path.parent.relative_to(ROOT / "shared") for path in (ROOT / "shared" / "vlgauge").rglob("*.py")}
    expected = {".".join(folder.parts) for folder in folders} | {"vlgauge_metrics", "vlgauge_workbench"}
    assert SETUP["options"]["packages"].split() == sorted(expected)


def test_every_metric_has_an_extra_and_is_in_all():
    extras = SETUP["options.extras_require"]
    assert set(FOLDERS) <= set(extras)
    everything = re.search(r"vlgauge\[(.*)\]", extras["all"])[1].split(", ")
    assert {name.replace("_", "-") for name in FOLDERS} <= set(everything)


def test_the_table_of_the_readme_is_that_of_the_cards(tmp_path):
    made = script_module("metric_table.py")
    table = made.table()
    assert table in (ROOT / "README.md").read_text("utf-8"), "run: make format"
    assert [table.count(f"\n| [{name}](") for name in FOLDERS] == [1] * len(FOLDERS)
    (tmp_path / "README.md").write_text("# No table\n")
    assert made.main(tmp_path / "README.md") == 2
