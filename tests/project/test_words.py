"""One term per concept: words that the table in CONTRIBUTING excludes, in text that users read."""

import ast
import inspect
import re

import pytest
from folders import METRICS, ROOT

import vlgauge
from vlgauge.core.catalog import metric_names
from vlgauge.core.validation import setting_names

CODE = sorted([*(ROOT / "shared" / "vlgauge").rglob("*.py"), *METRICS.glob("*/*.py")])
PAGES = sorted([*METRICS.glob("*/README.md"), ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
# A row is never called example, item, sample or data point. "of an example" refers to a bundled example.
ROW = re.compile(
    r"\b(?:(?:per|each|every)\s+(?:example|sample|item)|(?:of|for)\s+an?\s+(?:sample|item)|data ?points?)\b",
    re.IGNORECASE,
)
# Text that may become such a phrase when its parts are joined. Most files have none and need not be parsed.
PARTS = re.compile(r"\b(?:per|each|every|an?)\W[\Wnrf]*(?:example|sample|item)|data[\Wnrf]*point", re.IGNORECASE)
# Settings for which the table has other names.
SETTINGS = {"mode", "authors", "reference", "samples", "examples", "n_examples", "items", "model_path", "ckpt"}
KEYS = re.compile(r"_per_(?:item|example|sample)|_(?:items|examples|samples)$")
TOLD = {"warn", "refuse", "check_choice", "add_argument"}


def told(path):
    """Yield the texts that code shows to users: messages, help, and the inputs and outputs of a metric."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        roots = []
        if isinstance(node, ast.Raise) and node.exc is not None:
            roots = [node.exc]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in TOLD:
            roots = [node]
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("_INPUTS", "_DESCRIPTION"):
            roots = [node.value]
        for part in (part for root in roots for part in ast.walk(root)):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.lineno, part.value


def test_messages_and_help_call_a_row_a_row():
    paths = [path for path in CODE if PARTS.search(path.read_text("utf-8"))]
    found = [f"{path.name}:{line}: {text[:80]!r}" for path in paths for line, text in told(path) if ROW.search(text)]
    assert found == []


def test_pages_call_a_row_a_row():
    found = []
    for path in PAGES:
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        found += [f"{path.name}: {' '.join(match[0].split())}" for match in ROW.finditer(text)]
    assert found == []


@pytest.mark.parametrize("name", metric_names())
def test_settings_and_keys_have_the_words_of_the_table(name):
    metric = vlgauge.load(name, profile="embedded", keep_in_memory=True)
    assert SETTINGS.isdisjoint(setting_names(type(metric)))
    assert SETTINGS.isdisjoint(inspect.signature(metric._compute).parameters)
    keys = re.findall(rf"\b{name}\w*", metric.inputs_description.partition("\nReturns:\n")[2])
    assert keys
    assert [key for key in keys if KEYS.search(key)] == []


@pytest.mark.parametrize(
    "text", ["one score per example", "of each sample", "the words of an item", "2 data points", "datapoint"]
)
def test_what_is_looked_for(text):
    assert ROW.search(text)
    assert PARTS.search(text.replace(" ", '\\n"\n    f"'))
    assert not ROW.search("for example, that of an example of clip_s; the samples of a bootstrap; items are drawn")
