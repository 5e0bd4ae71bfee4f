"""The benchmark of the PTB tokenizer: its texts, its tables, and Java if it is installed."""

import shutil
from importlib.util import find_spec

import pytest
from script_modules import script_module

bench = script_module("bench/ptb_tokens.py")


def test_lines_are_distinct_and_come_again():
    lines = list(bench.generate_lines(200))
    assert len(set(lines)) == 200
    assert lines == list(bench.generate_lines(200))
    assert not any("\n" in line for line in lines)


def test_a_line_per_kind_of_caption(capsys):
    bench.time_kinds(20)
    header, *kinds = capsys.readouterr().out.splitlines()
    assert header.split()[:4] == ["sentences", "cold", "warm", "Treebank"]
    assert [line.split()[0] for line in kinds] == ["1", "3", "10"]


@pytest.mark.skipif(find_spec("pycocoevalcap") is None or shutil.which("java") is None, reason="needs the Java program")
def test_java_has_the_same_tokens(capsys):
    bench.compare_with_java(2_000)
    assert capsys.readouterr().out.startswith("0 of 2000 lines have other tokens")
