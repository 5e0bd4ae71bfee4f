"""Messages of metrics in the words of the command line."""

import argparse

import pytest

from vlgauge.cli.wording import in_words_of_commands

SCORE = argparse.Namespace(set=[], profile=None)


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("has no weight; pass `df`", "has no weight; pass --set df=..."),
        ("pass a file as `weights`, or profile='embedded'", "pass a file as --set weights=FILE, or --profile embedded"),
        ("or pass `checkpoint`, or x", "or pass --set checkpoint=..., or x"),
        ('choose profile="embedded", which', "choose --profile embedded, which"),
        ('or choose nouns="embedded", which', "or choose --set nouns=embedded, which"),
        ("got `regions='whole'`, `profile='paper'`", "got `regions='whole'`, `profile='paper'`"),
        ('pip install "vlgauge[embedded]"', 'pip install "vlgauge[embedded]"'),
    ],
)
def test_words(python, command):
    assert in_words_of_commands(python, SCORE) == command


def test_a_command_without_the_options_says_what_was_said():
    told = "pass `df`, or profile='embedded'"
    assert in_words_of_commands(told, argparse.Namespace()) == told
    assert in_words_of_commands(told, argparse.Namespace(profile=None)) == "pass `df`, or --profile embedded"
