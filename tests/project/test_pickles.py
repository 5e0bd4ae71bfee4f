"""Nothing is unpickled."""

import ast
import re

from folders import METRICS, ROOT


def pickling(script):
    """Yield the names that a script uses from the modules that unpickle, other than the error to catch."""
    text = script.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if re.search("pickle|joblib|dill", text) else ():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in ("joblib", "dill"))
        elif isinstance(node, ast.ImportFrom) and node.module in ("pickle", "joblib", "dill"):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pickle":
            yield node.attr


def test_nothing_is_unpickled():
    scripts = [*(ROOT / "shared" / "vlgauge").rglob("*.py"), *(METRICS).rglob("*.py")]
    assert len(scripts) > 20
    found = {(name, script.name) for script in scripts for name in pickling(script)}
    # The reader of plain pickles resolves no class and no function; see tests/checkpoints/test_pickles.py.
    readers = {("Unpickler", "pickles.py")}
    assert found <= {("UnpicklingError", script.name) for script in scripts} | readers
