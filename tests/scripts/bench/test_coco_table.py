"""The table of COCO equals that of pycocoevalcap on raw captions, value by value."""

import json
import shutil
from importlib.util import find_spec

import pytest
from script_modules import script_module

needs_theirs = pytest.mark.skipif(
    find_spec("pycocoevalcap") is None or shutil.which("java") is None, reason="needs pycocoevalcap and Java"
)


@pytest.fixture
def bench():
    return script_module("bench/coco_table.py")


@needs_theirs
def test_every_value_of_the_table_equals_theirs(bench):
    assert bench.main(["--images", "25"]) == 0


@pytest.mark.parametrize(("apart", "code"), [(1e-13, 0), (1e-11, 1)])
def test_another_value_is_told(bench, monkeypatch, apart, code):
    def answer(words):
        theirs = words[1] == "-c"
        values = {(name if theirs else key): 0.5 + apart * theirs for name, key in bench.KEYS.items()}
        return 1.0, 1.0, 1.0, json.dumps(values)

    monkeypatch.setattr(bench, "run_process", answer)
    monkeypatch.setattr(bench, "find_spec", lambda _: True)
    monkeypatch.setattr(bench.shutil, "which", lambda _: "java")
    assert bench.main(["--images", "1"]) == code
