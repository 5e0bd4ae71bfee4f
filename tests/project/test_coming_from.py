"""The calls of other libraries beside ours, where those are installed: each line of the page prints what it says."""

import importlib
import re

import pytest
from folders import ROOT

PAGE = (ROOT / "docs" / "coming_from.md").read_text("utf-8")
BLOCKS = re.findall(r'^```python(?: notest="([^"]+)")?\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^print\(.*\)  # (.+)$", re.MULTILINE)
PACKAGES = {found[1]: code for why, code in BLOCKS if (found := re.match(r"needs (\w+)", why))}


def test_the_blocks_are_for_these():
    assert list(PACKAGES) == ["pycocoevalcap", "nltk", "sacrebleu", "torchmetrics", "aac_metrics", "capevalkit"]
    assert len(BLOCKS) == len(PACKAGES) + 2  # the rows, and what asks the Hub


@pytest.mark.filterwarnings("default")  # of other people's packages
@pytest.mark.parametrize("package", PACKAGES)
def test_their_numbers_are_as_the_page_says(package, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        importlib.import_module(package)
        code = PACKAGES[package]
        for module in re.findall(r"^(?:from|import) ([\w.]+)", code, re.MULTILINE):
            importlib.import_module(module)
    except (ImportError, RuntimeError) as error:  # torchaudio raises the latter beside another build of torch
        pytest.skip(f"{package} is not installed, or does not load here: {error}")
    namespace = {"__name__": "__main__"}
    exec(compile(BLOCKS[0][1], "rows", "exec"), namespace)
    capsys.readouterr()
    try:
        exec(compile(code, package, "exec"), namespace)
    except (LookupError, FileNotFoundError, ModuleNotFoundError) as error:
        pytest.skip(f"a data set of NLTK, Java or another package is not here: {error}")
    told = PRINTED.findall(code)
    assert capsys.readouterr().out.splitlines()[-len(told) :] == told  # behind what their code prints
