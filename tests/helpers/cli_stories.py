"""Files of stories, and how a command answers."""

import json

from vlgauge.cli import main

STORIES = [
    {"id": "x", "story": ["The dog ran home.", "The dog ran home."], "picture": "p", "number": 1},
    {"id": "y", "story": ["The dog ran home.", "Then it slept."], "picture": "q", "number": 2},
    {"id": "z", "story": ["One sentence."], "picture": "r", "number": 3},
]
CAPTIONS = [
    {"caption": "the sea sings", "style": "romantic", "refs": ["the sea sang"]},
    {"caption": "damn rain", "style": "angry", "refs": ["damn this rain"]},
]


def write_files(folder):
    """Write the two files into a folder."""
    for name, rows in (("stories", STORIES), ("captions", CAPTIONS)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def record_of(capsys, *arguments):
    assert main([*arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def error_of(capsys, *arguments):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err
