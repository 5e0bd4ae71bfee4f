"""Calls of other libraries next to ours, if they are installed: each line of the page prints the stated result."""

import gzip
import importlib
import itertools
import json
import re

import pytest
from folders import ROOT

import vlgauge

PAGE = (ROOT / "docs" / "coming_from.md").read_text("utf-8")
BLOCKS = re.findall(r'^```python(?: notest="([^"]+)")?\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^print\(.*\)  # (.+)$", re.MULTILINE)
PACKAGES = {found[1]: code for why, code in BLOCKS if (found := re.match(r"needs (\w+)", why))}


def test_the_blocks_are_for_these():
    assert list(PACKAGES) == ["pycocoevalcap", "nltk", "sacrebleu", "torchmetrics", "aac_metrics", "capevalkit"]
    assert len(BLOCKS) == len(PACKAGES) + 3  # the rows, the request to the Hub, and an evaluator


@pytest.mark.filterwarnings("default")  # warnings of third-party packages
@pytest.mark.parametrize("package", PACKAGES)
def test_their_numbers_are_as_the_page_says(package, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        importlib.import_module(package)
        code = PACKAGES[package]
        for module in re.findall(r"^(?:from|import) ([\w.]+)", code, re.MULTILINE):
            importlib.import_module(module)
    except (ImportError, RuntimeError) as error:  # torchaudio raises the latter with another build of torch
        pytest.skip(f"{package} is not installed, or does not load here: {error}")
    namespace = {"__name__": "__main__"}
    exec(compile(BLOCKS[0][1], "rows", "exec"), namespace)
    capsys.readouterr()
    try:
        exec(compile(code, package, "exec"), namespace)
    except (LookupError, FileNotFoundError, ModuleNotFoundError) as error:
        pytest.skip(f"a data set of NLTK, Java or another package is not here: {error}")
    told = PRINTED.findall(code)
    assert capsys.readouterr().out.splitlines()[-len(told) :] == told  # after the output of their code


COCO = ROOT.parent / "shared" / "oracles" / "coco_fakecap.json.gz"
ROWS = re.findall(r"^\| (\w+) `(.+?)`.* \| (0\.\d{5}) \| (0\.\d{5}) \| .* \|$", PAGE, re.MULTILINE)


def theirs(package, call, predictions, references):
    module = pytest.importorskip({"pycocoevalcap": "pycocoevalcap.bleu.bleu"}.get(package, package))
    if package == "pycocoevalcap":
        told = {i: [text] for i, text in enumerate(predictions)}
        return module.Bleu(4).compute_score(dict(enumerate(references)), told, verbose=0)[0][3]
    if package == "sacrebleu":
        streams = [list(stream) for stream in itertools.zip_longest(*references)]
        return module.corpus_chrf(predictions, streams).score / 100
    text = importlib.import_module("torchmetrics.text")
    if call == "ROUGEScore":
        return text.ROUGEScore(rouge_keys="rougeL")(predictions, references)["rougeL_fmeasure"].item()
    options = {"n_word_order": 0} if "n_word_order" in call else {}
    return getattr(text, call.partition("(")[0])(**options)(predictions, references).item()


def test_the_table_of_1000_rows_is_read():
    assert [package for package, *_ in ROWS] == ["pycocoevalcap", "sacrebleu", *["torchmetrics"] * 4]


@pytest.mark.filterwarnings("default")  # warnings of third-party packages
@pytest.mark.parametrize(
    ("package", "call", "score", "own"),
    [pytest.param(*row, marks=pytest.mark.slow if "CHRF" in row[1] else ()) for row in ROWS],
)
def test_numbers_of_1000_rows_are_as_the_page_says(package, call, score, own):
    if not COCO.is_file():
        pytest.skip("the captions of COCO are not here")
    data = json.loads(gzip.decompress(COCO.read_bytes()))
    rows = (data["tokenized_candidates"], data["tokenized_references"])
    name = {"B": "bleu", "R": "rouge_l"}.get(call[0], "chrf")
    settings = {"tokenizer": lambda text: text.split(" ")} if name != "chrf" else {}
    settings |= {"word_order": 2} if call == "CHRFScore" else {}
    ours = vlgauge.load(name, keep_in_memory=True, **settings).compute(predictions=rows[0], references=rows[1])[name]
    assert f"{ours:.5f}" == own
    assert f"{theirs(package, call, *rows):.5f}" == score
