"""The floors: which room imports which, in the package and beside it."""

import ast
import re
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import evaluate.module
import pytest
from folders import METRICS, ROOT
from importlinter.application.use_cases import lint_imports
from importlinter.cli import configuration

PACKAGE = ROOT / "shared" / "vlgauge"
MODULES = sorted(PACKAGE.rglob("*.py"))
SCRIPTS = sorted(METRICS.glob("*/*.py"))
FILES = [*MODULES, *SCRIPTS]

# Rooms that no metric needs: the ways in, and what looks at metrics from outside.
ABOVE_METRICS = {"cli", "explain", "integrations", "leaderboard", "prefetching", "row_sources"}
ABOVE_METRICS |= {"studies", "training", "workbench"}

# Library -> where it may be imported, files and folders of the package.
HOMES = {
    "torch": ("torch_use.py", "weights", "encoders", "regions/detectors.py", "training", "integrations", "cli/info.py"),
    "spacy": ("text/english.py",),
    "gradio": ("workbench",),
    "ray": ("integrations/ray.py",),
}


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path):
    return ast.parse(path.read_text("utf-8"))


def imports(tree):
    """(statement, names of the modules), relative ones left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield node, [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node, [f"{node.module}.{alias.name}" for alias in node.names]


def late_imports(tree):
    """Modules of the package that are imported inside a function."""
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    found = [name for function in functions for _, names in imports(function) for name in names]
    return [name for name in found if name.split(".")[0] == "vlgauge"]


def of_types_only(tree):
    """Statements that no run executes."""
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    return {inner for test in tests for statement in test.body for inner in ast.walk(statement)}


def test_rooms_import_only_what_stands_below(capsys):
    configuration.configure()
    kept = lint_imports(config_filename=str(ROOT / "setup.cfg"), cache_dir=None)
    assert kept, capsys.readouterr().out


def test_contributing_shows_the_floors_of_the_contract():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", "utf-8")
    floors = config["importlinter:contract:floors"]["layers"].split("\n")[1:]
    # Rooms in brackets are still to be built.
    built = [[room for room in floor.split(" | ") if not room.startswith("(")] for floor in floors]
    shown = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("```\n")[1].splitlines()
    assert [line.split("  ")[0].split(" | ") for line in shown] == [floor for floor in built if floor]


def test_nothing_of_the_package_is_imported_inside_a_function():
    found = {name_of(path): late_imports(tree_of(path)) for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}


def test_warnings_are_of_the_line_of_the_user():
    warning = [path for path in FILES if re.search("warn|stacklevel", path.read_text("utf-8"))]
    found = {name_of(path): ast.unparse(tree_of(path)) for path in warning}
    assert [path for path, source in found.items() if re.search(r"\bwarnings\.warn\(|stacklevel", source)] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_metric_scripts_import_one_thing_a_line_and_nothing_above_them(path):
    for _, names in imports(tree_of(path)):
        parts = names[0].split(".")
        assert len(names) == 1
        assert parts[0] not in ("metrics", "scripts", "tests")
        assert parts[0] != "vlgauge" or parts[1] not in ABOVE_METRICS


def test_nothing_in_the_package_imports_metrics_or_scripts():
    names = {name_of(path): [name for _, found in imports(tree_of(path)) for name in found] for path in MODULES}
    upwards = ("metrics.", "scripts.", "tests.", "vlgauge.metrics.")
    assert {path: found for path, found in names.items() if any(f"{name}.".startswith(upwards) for name in found)} == {}


def test_heavy_libraries_are_imported_where_they_are_at_home():
    strays = []
    for path in FILES:
        tree = tree_of(path)
        skipped = of_types_only(tree)
        used = {name.split(".")[0] for node, names in imports(tree) if node not in skipped for name in names}
        for library in used & HOMES.keys():
            homes = [PACKAGE / home for home in HOMES[library]]
            if not any(path == home or home in path.parents for home in homes):
                strays.append((library, name_of(path)))
    assert strays == []


def private_names_of_the_host():
    """Attributes of a metric that are the host's own affair; `_info` and `_compute` are for us to write."""
    tree = tree_of(Path(evaluate.module.__file__))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    made = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return {name for name in used | made if name.startswith("_") and not name.startswith("__")} - {"_info", "_compute"}


def test_private_names_of_the_host_stay_in_one_file():
    private = private_names_of_the_host()
    touched = {}
    for path in FILES:
        tree = tree_of(path)
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        imported = {name for _, found in imports(tree) for name in found if re.match(r"evaluate\..*\b_", name)}
        if names & private or imported:
            touched[name_of(path)] = names & private | imported
    assert "_module_info" in touched.pop("shared/vlgauge/base/host.py")
    assert touched == {}
