"""Mistakes of users are one line on standard error, whichever library finds them."""

import json

import pytest

from vlgauge.cli import main

ROWS = [{"id": i, "predictions": f"a dog runs {i}", "references": ["a dog is running"]} for i in range(3)]


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "junk.json").write_bytes(b"\xff\xfe")


def told(capsys, *words):
    """The one line of a command that is refused."""
    try:
        code = main(list(words))
    except SystemExit as ended:  # of argparse
        code = ended.code
    assert code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--profile", "embedded", "--set", "profile=paper"],
            "--profile must be left out if the settings of rouge_l have a profile, got 'embedded' and 'paper'",
        ),
        (["--limit", "x"], "argument --limit: must be a whole number of at least 1, got 'x'; see vlgauge score --help"),
        (["--annotations", "junk.json"], "--annotations must be UTF-8 text, got byte 0xff in line 1 of 'junk.json'"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_score_refuses(capsys, words, message):
    assert message in told(capsys, "score", "rouge_l", "rows.jsonl", *words)
