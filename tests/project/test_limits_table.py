"""The table of all limits in docs/howto/untrusted_files.md: it has the values of the constants, and lacks none."""

import dataclasses
import re
from importlib import import_module
from operator import attrgetter

import pytest
from folders import ROOT

from vlgauge.core.files import Limits
from vlgauge.inputs import limits

PAGE = (ROOT / "docs" / "howto" / "untrusted_files.md").read_text("utf-8").partition("## All limits")[2]
ROWS = re.findall(r"^\| .+ \| (.+) \| `(.+)\.py` \| `(.+)` \|$", PAGE, re.MULTILINE)
UNITS = {"": 1, " MB": 10**6, " MiB": 2**20, " GiB": 2**30}


def value_of(path, name):
    module = f"vlgauge_{path}" if path.startswith("workbench") else f"vlgauge.{path}"
    if path.startswith("workbench"):
        pytest.importorskip("gradio")
    value = attrgetter(name)(import_module(module.replace("/", ".")))
    return int(value.removesuffix("mb")) * 2**20 if isinstance(value, str) else value  # a size of Gradio


@pytest.mark.parametrize(("text", "path", "name"), ROWS, ids=[f"{row[1]}-{row[2]}" for row in ROWS])
def test_a_limit_has_the_value_of_its_constant(text, path, name):
    value = value_of(path, name)
    if isinstance(value, tuple):
        assert text == ", ".join(value)
        return
    number, unit = re.fullmatch(r"([\d,]+)( [MG]i?B)?", text).groups("")
    assert int(number.replace(",", "")) * UNITS[unit] == value


def test_the_table_lacks_no_limit():
    listed = {(path, name) for _, path, name in ROWS}
    wanted = {("core/files", f"Limits.{one.name}") for one in dataclasses.fields(Limits)}
    wanted |= {("inputs/limits", f"RowLimits.{one.name}") for one in dataclasses.fields(limits.RowLimits)}
    wanted |= {("inputs/limits", name) for name in vars(limits) if name.isupper()}
    source = (ROOT / "spaces" / "workbench" / "inputs.py").read_text("utf-8")
    wanted |= {("workbench/inputs", name) for name in re.findall(r"^((?:MOST|LARGEST)_\w+) =", source, re.MULTILINE)}
    assert wanted <= listed


def test_every_line_of_the_table_is_checked():
    assert len(ROWS) == len(re.findall(r"^\| ", PAGE, re.MULTILINE)) - 1
