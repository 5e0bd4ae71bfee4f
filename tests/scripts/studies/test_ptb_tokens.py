"""The comparison of the PTB tokenizer with the Java program, if it is installed, and its lines."""

import shutil
from importlib.util import find_spec

import pytest
from script_modules import script_module

study = script_module("studies/ptb_tokens.py")


def test_lines_are_distinct_and_come_again():
    lines = list(study.generate_lines(200))
    assert len(set(lines)) == 200
    assert lines == list(study.generate_lines(200))
    assert not any("\n" in line for line in lines)


@pytest.mark.skipif(find_spec("pycocoevalcap") is None or shutil.which("java") is None, reason="needs the Java program")
def test_java_has_the_same_tokens(capsys):
    study.compare_with_java(2_000)
    assert capsys.readouterr().out.startswith("0 of 2000 lines have other tokens")
