"""The layers: which package imports which, and where heavy libraries are imported."""

import ast
import re
from collections import defaultdict
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import evaluate.module
import pytest
from folders import METRICS, ROOT, TESTS
from importlinter.application.use_cases import lint_imports
from importlinter.cli import configuration

from vlgauge.core.catalog import metric_names

PACKAGE = ROOT / "shared" / "vlgauge"
WORKBENCH = ROOT / "spaces" / "workbench"
MODULES = sorted([*PACKAGE.rglob("*.py"), *WORKBENCH.rglob("*.py")])
EXPLANATIONS = sorted(METRICS.glob("*/explanation.py"))
SCRIPTS = sorted({*METRICS.glob("*/*.py")} - {*EXPLANATIONS})
FILES = [*MODULES, *SCRIPTS, *EXPLANATIONS]

# Packages of the library that no metric imports.
ABOVE_METRICS = {"cli", "research", "api", "explain", "integrations", "leaderboard"}

# Library -> files and folders of the repository that may import it.
HOMES = {
    "torch": (
        "shared/vlgauge/checkpoints",
        "shared/vlgauge/models",
        "shared/vlgauge/research/training",
        "shared/vlgauge/integrations",
        "shared/vlgauge/cli/info.py",
    ),
    "spacy": ("shared/vlgauge/inputs/text/english.py",),
    "gradio": ("spaces/workbench",),
    "ray": ("shared/vlgauge/integrations/ray.py",),
}
ARCHITECTURE = ROOT.parent / "shared" / "specs" / "architecture.md"


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path):
    text = path.read_text("utf-8")
    try:
        return ast.parse(text)
    except SystemError:  # Python 3.11 adds up the depths that all threads parse at once, and here a server may run
        return ast.parse(text)


@cache
def nodes_by_kind(path):
    found = defaultdict(list)
    for node in ast.walk(tree_of(path)):
        found[type(node)].append(node)
    return found


def nodes_of(path, *kinds):
    return [node for kind in kinds for node in nodes_by_kind(path)[kind]]


def imports(path):
    """Yield (statement, names of the modules) without relative imports."""
    for node in nodes_of(path, ast.Import):
        yield node, [alias.name for alias in node.names]
    for node in nodes_of(path, ast.ImportFrom):
        if not node.level:
            yield node, [f"{node.module}.{alias.name}" for alias in node.names]


def late_imports(path):
    """Return the modules of the package that are imported below the top level, without a comment that says why."""
    lines = path.read_text("utf-8").splitlines()
    inner = [
        names
        for node, names in imports(path)
        if node.col_offset and node not in of_types_only(path) and "  # " not in lines[node.lineno - 1]
    ]
    return [name for names in inner for name in names if name.split(".")[0].startswith("vlgauge")]


@cache
def of_types_only(path):
    """Return the statements that only type checkers read."""
    tests = [node for node in nodes_of(path, ast.If) if name_in(node.test) == "TYPE_CHECKING"]
    return {inner for test in tests for statement in test.body for inner in ast.walk(statement)}


def test_packages_import_only_lower_layers(capsys):
    configuration.configure()
    kept = lint_imports(config_filename=str(ROOT / "setup.cfg"), cache_dir=None)
    assert kept, capsys.readouterr().out


def test_the_contract_contains_every_metric():
    """Check for `__init__.py`, because import-linter ignores folders without it."""
    assert [name for name in metric_names() if not (METRICS / name / "__init__.py").is_file()] == []


def layers():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", "utf-8")
    lines = config["importlinter:contract:layers"]["layers"].split("\n")[1:]
    return [[name.removeprefix("vlgauge.") for name in line.split(" | ")] for line in lines]


def layers_shown(text):
    """Return the layers of a block in a page: the names at the beginning of each line, before two spaces."""
    return [re.split(r"  +", line)[0].split(" | ") for line in text.splitlines()]


def test_contributing_shows_the_layers_of_the_contract():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Layers")[2]
    assert layers_shown(text.split("```\n")[1]) == layers()


@pytest.mark.skipif(not ARCHITECTURE.is_file(), reason="needs ../shared")
def test_the_layers_are_those_of_the_architecture():
    text = ARCHITECTURE.read_text("utf-8").partition("### `shared/vlgauge/`")[2]
    assert layers_shown(text.split("```\n")[1]) == layers()


def test_every_folder_has_a_layer_and_the_top_has_no_other_files():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    named = {name for line in layers() for name in line}
    assert named - folders == {"vlgauge_workbench", "vlgauge_metrics"}
    assert folders <= named
    assert len(folders) <= 13
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py", "version.py"}


def test_tests_mirror_the_packages():
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} | {
        "metrics",
        "workbench",
        "scripts",
        "spaces",
    }
    assert folders - packages == {"examples", "golden", "helpers", "project", "robustness"}
    assert {path.name for path in TESTS.glob("*.py")} == {"conftest.py"}


@cache
def known_modules():
    return {module_name(path) for path in MODULES}


def name_in(node):
    """Return the last part of a name, or "" if the node is not a name."""
    return getattr(node, "attr", getattr(node, "id", ""))


def names_imported(path):
    """Return the full names of the modules of the package that a module imports, including lazy imports."""
    own = parts_of(path)
    package = own[:-1]
    known, found, skipped = known_modules(), set(), of_types_only(path)
    for node in nodes_of(path, ast.Import, ast.ImportFrom, ast.Call):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            home = ".".join([*start, *([node.module] if node.module else [])])
            found |= {f"{home}.{alias.name}" if f"{home}.{alias.name}" in known else home for alias in node.names}
        elif name_in(node.func).endswith("import_module"):
            found |= {word.value for word in node.args if isinstance(word, ast.Constant)}
    return found & known


def parts_of(path):
    """Return the parts of the name of a module, including "__init__"."""
    if WORKBENCH in path.parents:
        return ("vlgauge_workbench", *path.relative_to(WORKBENCH).with_suffix("").parts)
    return path.relative_to(PACKAGE.parent).with_suffix("").parts


def module_name(path):
    parts = parts_of(path)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_modules_import_each_other_in_a_circle():
    graph = {module_name(path): names_imported(path) - {module_name(path)} for path in MODULES}
    # Remove modules that import only removed ones, until only cycles and the modules that lead to them are left.
    while gone := {name for name, others in graph.items() if not others & graph.keys()}:
        graph = {name: others for name, others in graph.items() if name not in gone}
    reached = set().union(*graph.values()) & graph.keys()
    while (inner := {name for name in reached if any(name in graph[other] for other in reached)}) != reached:
        reached = inner
    assert {name: sorted(graph[name] & reached) for name in sorted(reached)} == {}


def test_an_import_inside_a_function_says_why():
    found = {name_of(path): late_imports(path) for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}


def test_warnings_are_of_the_line_of_the_user():
    warning = [path for path in FILES if re.search(r"warnings\s*\.|stacklevel", path.read_text("utf-8"))]
    found = {name_of(path): ast.unparse(tree_of(path)) for path in warning}
    assert [path for path, source in found.items() if re.search(r"\bwarnings\.warn\(|stacklevel", source)] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_metric_scripts_import_one_thing_a_line_and_nothing_above_them(path):
    for _, names in imports(path):
        parts = names[0].split(".")
        assert len(names) == 1
        assert parts[0] not in ("metrics", "scripts", "tests")
        assert parts[0] != "vlgauge" or parts[1] not in ABOVE_METRICS


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_metric_scripts_do_not_import_what_explains_them(path):
    found = [node.module for node in nodes_of(path, ast.ImportFrom) if node.level]
    assert "explanation" not in found


@pytest.mark.parametrize("path", EXPLANATIONS, ids=name_of)
def test_explanations_import_nothing_above_them_and_no_script(path):
    for _, names in imports(path):
        parts = names[0].split(".")
        assert parts[0] not in ("metrics", "scripts", "tests", "evaluate")
        assert parts[0] != "vlgauge" or parts[1] not in ABOVE_METRICS - {"explain"}
    relative = [node for node in nodes_of(path, ast.ImportFrom) if node.level]
    others = {one.stem for one in path.parent.glob("*.py")}
    # Only `evaluate` loads the script: a relative import would create a second class.
    assert {node.module for node in relative} <= others - {path.parent.name}


def test_nothing_in_the_package_imports_metrics_or_scripts():
    names = {name_of(path): [name for _, found in imports(path) for name in found] for path in MODULES}
    upwards = ("metrics.", "scripts.", "tests.", "vlgauge_metrics.")
    assert {path: found for path, found in names.items() if any(f"{name}.".startswith(upwards) for name in found)} == {}


def test_heavy_libraries_are_imported_where_they_are_at_home():
    strays = []
    for path in FILES:
        skipped = of_types_only(path)
        used = {name.split(".")[0] for node, names in imports(path) if node not in skipped for name in names}
        for library in used & HOMES.keys():
            homes = [ROOT / home for home in HOMES[library]]
            if not any(path == home or home in path.parents for home in homes):
                strays.append((library, name_of(path)))
    assert strays == []


def names_in(path):
    """Return the attributes that code uses, and the functions that it defines."""
    return {node.attr for node in nodes_of(path, ast.Attribute)} | {
        node.name for node in nodes_of(path, ast.FunctionDef)
    }


def private_names_of_the_host():
    """Return the private attributes of a metric that belong to `evaluate`.

    `_info` and `_compute` are excluded because modules define them.
    """
    used_or_made = names_in(Path(evaluate.module.__file__))
    return {name for name in used_or_made if name.startswith("_") and not name.startswith("__")} - {"_info", "_compute"}


def test_private_names_of_the_host_stay_in_one_file():
    private = private_names_of_the_host()
    touched = {}
    for path in FILES:
        names = names_in(path)
        imported = {name for _, found in imports(path) for name in found if re.match(r"evaluate\..*\b_", name)}
        if names & private or imported:
            touched[name_of(path)] = names & private | imported
    assert "_module_info" in touched.pop("shared/vlgauge/families/base/evaluate_adapter.py")
    assert touched == {}
