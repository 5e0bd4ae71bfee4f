"""The checks of all metrics detect deliberate faults."""

import shutil
from pathlib import Path

import pytest
from metric_checks import (
    TOY,
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
    check_settings,
    check_signatures,
)

pytestmark = pytest.mark.usefixtures("no_sockets")

CLASS_END = "    def cited(self)"
MEASURES = "    measures ="
SCORES = "for counts in letters]"
IMPORT = "from typing import Any\n"
SIBLING = "from .letters import count_letters"
FAULTS = {
    "class of another name": (check_class, "class StoryToy(", "class Storytoy("),
    "concrete base imported by name": (check_class, IMPORT, IMPORT + "from evaluate import Metric\n"),
    "comment on an import": (check_imports, IMPORT, "from typing import Any  # the host\n"),
    "comment on the import of a sibling": (check_imports, SIBLING, SIBLING + "  # ours"),
    "two imports on one line": (check_imports, IMPORT, "import evaluate, json\n"),
    "import of the folder": (check_imports, SIBLING, "from . import letters\nfrom .letters import count_letters"),
    "import from above": (check_imports, SIBLING, SIBLING + "\nfrom ..letters import count"),
    "import from a folder": (check_imports, SIBLING, SIBLING + "\nfrom .letters.all import count"),
    "import in a text": (check_imports, '"The number of letters', "'''\nimport letters\n'''\"The number of letters"),
    "quotes in a comment": (check_imports, IMPORT, '# """\n' + IMPORT),
    "hint of another version": (check_hint, "@v0.1.0", "@v0.0.9"),
    "hint of another extra": (check_hint, "[story-toy]", "[set-toy]"),
    "no hint": (check_hint, "  # From:", "  #:"),
    "any keyword in _compute": (check_signatures, "return_details: bool = False", "return_details=False, **kwargs"),
    "no return_details": (check_signatures, "return_details: bool = False", "details: bool = False"),
    "undocumented override": (check_signatures, CLASS_END, f"    def add(self, **row):\n        pass\n\n{CLASS_END}"),
    "setting that is not kept": (check_settings, "self.weight = weight", "self.factor = weight"),
    "columns of its own": (
        check_family,
        "    measures =",
        '    columns = (base.Text("predictions"),)\n    measures =',
    ),
    "no citation": (check_description, "@misc{toy, title = {A metric for tests}}", ""),
    "no address": (check_description, '("https://example.org/toy",)', "()"),
    "question that differs from the card": (check_facts, "How many letters", "How often"),
    "need that is no extra": (check_facts, MEASURES, f'    needs = ("weights",)\n{MEASURES}'),
    "for a later package": (check_facts, MEASURES, f'    requires = "9.0"\n{MEASURES}'),
    "numpy scalar": (check_result, "return self.result(", 'return {"story_toy_n": np.float64(1)} | self.result('),
    "key without prefix": (check_result, "return self.result(", 'return {"n": 1} | self.result('),
    "result that is not JSON": (check_result, '{"letters": letters}', '{"letters": set()}'),
    "score left out": (check_result, SCORES, "for counts in letters if sum(counts)]"),
    "no details": (check_result, '{"letters": letters} if return_details', "{} if return_details"),
    "global random numbers": (check_result_depends_on_nothing_else, "self.weight * sum", "np.random.rand() + sum"),
    "score by position": (
        check_result_depends_on_nothing_else,
        "for counts in letters]",
        "for counts in sorted(letters)]",
    ),
    "wrong number in an example": (check_doctests, "    11.0", "    11.5"),
    "examples without a result": (check_doctests, "    >>> ", "    > "),
    "example of another metric": (check_doctests, "vlgauge/story_toy", "vlgauge/set_toy"),
}
CARD_FAULTS = {
    "heading missing": ("## Citation\n", ""),
    "headings in another order": ("## How to Use", "## Inputs"),
    "wrong direction": ("higher is better", "lower is better"),
    "undefined not explained": (" (NaN)", ""),
    "no licence": ("license: apache-2.0\n", ""),
    "version that is a number": ('"3.11"', "3.11"),
    "unknown colour": ("colorTo: green", "colorTo: teal"),
    "long description": ("short_description: How", "short_description: " + "very " * 12 + "How"),
    "no direction": ("  direction: higher\n", ""),
    "unknown direction": ("  direction: higher\n", "  direction: up\n"),
    "unknown fact of a score": ("  value: mean\n", "  value: mean\n  unit: words\n"),
    "score of another metric": ("- key: story_toy\n", "- key: story\n"),
    "other tags": ("- metric\n", ""),
}
BROKEN = (AssertionError, AttributeError, ImportError, KeyError, NotImplementedError, OSError, TypeError, ValueError)


@pytest.fixture
def copied(tmp_path):
    """Copy of the demo metric, and a function that puts a fault into one of its files."""
    folder = Path(shutil.copytree(TOY, tmp_path / TOY.name, ignore=shutil.ignore_patterns("__pycache__")))

    def put(old, new, file=f"{TOY.name}.py"):
        text = (folder / file).read_text("utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new), "utf-8")
        return folder

    return put


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_in_the_script_is_found(copied, fault):
    check, old, new = FAULTS[fault]
    folder = copied(old, new)
    if "np." in new:
        folder = copied(IMPORT, IMPORT + "import numpy as np\n")
    with pytest.raises(BROKEN):
        check(folder)


@pytest.mark.parametrize("fault", CARD_FAULTS)
def test_fault_in_the_card_is_found(copied, fault):
    with pytest.raises((AssertionError, KeyError)):
        check_card(copied(*CARD_FAULTS[fault], file="README.md"))


def test_sibling_that_imports_a_sibling_is_found(copied):
    folder = copied("def count", "from .other import x\n\n\ndef count", file="letters.py")
    with pytest.raises(AssertionError):
        check_imports(folder)


@pytest.mark.parametrize("change", [lambda f: (f / "data.json").touch(), lambda f: (f / "README.md").unlink()])
def test_data_beside_the_script_and_a_missing_card_are_found(copied, change):
    folder = copied("", "")
    change(folder)
    with pytest.raises(AssertionError):
        check_files(folder)


@pytest.mark.parametrize("name", ["json", "numpy", "torch"])
def test_name_of_a_library_is_found(copied, name):
    folder = copied("", "")
    (folder / f"{name}.py").touch()
    with pytest.raises(AssertionError):
        check_names_are_free(folder)
