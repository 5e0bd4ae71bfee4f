"""Output of commands: lines fit the width of a terminal, and are whole elsewhere."""

import io
import json
import sys

import pytest
from folders import EXAMPLES

from vlgauge.cli import COMMANDS, GROUPS, main
from vlgauge.cli.terminal import wrap_line
from vlgauge.core.results import align_columns, tables_within, to_table

SCORED = ["score", "bleu,rouge_l,clip_s", str(EXAMPLES / "captioned_scenes.jsonl"), "--profile", "embedded"]
LEADERBOARD = [str(EXAMPLES / "leaderboard" / f"{name}.jsonl") for name in ("greedy", "sampler", "wanderer")]
COMPARED = ["compare", "trm,rovist_nr", *LEADERBOARD[:2], "--resamples", "200", "--rows-that-differ", "2"]
PRINTED = {
    "list": ["list"],
    "score": SCORED,
    "compare": COMPARED,
    "verify": ["verify", "--list"],
    "backbones": ["backbones"],
    "info": ["info"],
}


class Terminal(io.StringIO):
    """Stream that reports itself as a terminal."""

    def isatty(self):
        return True


def printed(monkeypatch, words, stream, columns=80):
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", str(columns))
    main(words)
    return stream.getvalue()


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.filterwarnings("ignore")
def test_no_line_is_wider_than_the_terminal(monkeypatch, name, columns):
    lines = printed(monkeypatch, PRINTED[name], Terminal(), columns).splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= columns


@pytest.mark.filterwarnings("ignore")
def test_lines_are_whole_in_a_pipe_and_in_forms_for_programs(monkeypatch):
    piped = printed(monkeypatch, SCORED, io.StringIO())
    assert max(map(len, piped.splitlines())) > 200  # a signature
    shown = printed(monkeypatch, [*SCORED, "--format", "json"], Terminal())
    assert json.loads(shown)["clip_s_signature"] in piped


def test_long_texts_go_on_below_or_are_cut_with_a_mark():
    rows = [["a", "x" * 60, 0.5], ["b", "short", 1.0]]
    whole = to_table(["id", "text", "score"], rows)
    with tables_within(40):
        shown = to_table(["id", "text", "score"], rows)
    assert max(map(len, shown.splitlines())) == 40
    assert shown.count("x") == 61  # one line is part of the heading
    assert "0.5000" in shown
    with tables_within(40):
        cut = to_table(["id", "text", "score"], rows, most_lines=1)
    assert cut.splitlines()[2] == f"a   {'x' * 27}\N{HORIZONTAL ELLIPSIS}  0.5000"
    with tables_within(100):
        assert to_table(["id", "text", "score"], rows) == whole


def test_columns_that_have_no_room_go_below_behind_the_first():
    titles = ["system", *(f"metric {i}" for i in range(6))]
    with tables_within(40):
        shown = align_columns(titles, [["ours", *"123456"]], [False, *[True] * 6])
    blocks = [block.splitlines() for block in shown.split("\n\n")]
    assert [block[0].split()[0] for block in blocks] == ["system"] * 2
    assert [block[2].split() for block in blocks] == [["ours", *"123"], ["ours", *"456"]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("short", ["short"]),
        ("", [""]),
        ("one two three four", ["one two", "    three", "    four"]),
        ("m|v:1|enc:xy|p:q", ["m|v:1|", "    enc:xy|", "    p:q"]),
        ("abcdefghijklmnopq", ["abcdefghijkl", "    mnopq"]),
    ],
)
def test_lines_fold_behind_blanks_and_fields(line, expected):
    assert wrap_line(line, 12).split("\n") == expected


def test_every_command_stands_in_one_group_with_four_on_top(capsys):
    names = [name for own in GROUPS.values() for name in own]
    assert sorted(names) == sorted(COMMANDS)
    assert len(next(iter(GROUPS.values()))) == 4
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert told.index("\nScore:\n    score ") < told.index("\nResults:\n") < told.index("    cache ")
