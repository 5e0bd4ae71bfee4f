"""An end token lowers the share of unfinished captions that CIDEr-D prefers: the table of docs/howto/rewards.md."""

import json

import pytest
from coco_captions import coco, needs_coco
from folders import ROOT
from script_modules import script_module

ROWS = [("A man with a dog.", ["a man with a dog", "a man walks a dog"]), ("A bus", ["a red bus stops"])] * 30


@pytest.fixture(scope="module")
def study():
    return script_module("studies/unfinished_captions.py")


def written(path, rows):
    path.write_text("".join(json.dumps({"predictions": own, "references": theirs}) + "\n" for own, theirs in rows))
    return str(path)


def test_policies(study):
    assert study.beginnings("A man with a dog. ") == ["A", "A man", "A man with", "A man with a", "A man with a dog"]
    found = study.apply_fixed_policies([own for own, _ in ROWS], seed=0)
    cut, early, longer = found.values()
    assert set(cut) == {"A", "A man", "A man with", "A man with a"}
    assert set(early) == {"A", "A man", "A man with", "A man with a"}
    assert set(longer) == {"A man with a dog with a", "A bus with a"}


def test_the_table(study, tmp_path, capsys):
    study.main([written(tmp_path / "rows.jsonl", ROWS)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| caption | preferred without | preferred with |")
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| ended at a random word",
        "| ended 1 to 3 words early",
        '| followed by "with a"',
        "| best beginning",
    ]


@needs_coco
def test_the_table_of_the_page(study, tmp_path, capsys):
    material = coco()
    rows = zip(material["candidates"], material["references"], strict=True)
    study.main([written(tmp_path / "rows.jsonl", rows)])
    page = (ROOT / "docs" / "howto" / "rewards.md").read_text("utf-8")
    assert capsys.readouterr().out in page
