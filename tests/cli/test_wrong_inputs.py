"""User errors are one line on standard error, in every library that raises them."""

import json
from pathlib import Path

import pytest

import vlgauge
from vlgauge.cli import main
from vlgauge.core.errors import UsageError
from vlgauge.research.training.rovist_c.stories import read_jsonl, read_rocstories
from vlgauge.research.training.rovist_vg.pairs import read_csv

ROWS = [{"id": i, "predictions": "a dog runs" + " on" * i, "references": ["a dog is running"]} for i in range(3)]


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "junk.json").write_bytes(b"\xff\xfe")


def told(capsys, *words):
    """Return the one line of a command that fails."""
    try:
        code = main(list(words))
    except SystemExit as ended:  # raised by argparse
        code = ended.code
    assert code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "seed=4294967296"], "`seed` must be an integer of at most 4,294,967,295, got 4294967296"),
        (
            ["--profile", "embedded", "--set", "profile=paper"],
            "--profile cannot be combined with a profile in the settings of rouge_l, got 'embedded' and 'paper'",
        ),
        (["--limit", "x"], "argument --limit: must be an integer of at least 1, got 'x'; see vlgauge score --help"),
        (["--annotations", "junk.json"], "--annotations must be UTF-8 text, got byte 0xff in line 1 of 'junk.json'"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_score_refuses(capsys, words, message):
    assert message in told(capsys, "score", "rouge_l", "rows.jsonl", *words)


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "rouge_l", "rows.jsonl", "rows.jsonl", "--names", "a,b"],
        ["agreement", "rows.jsonl", "--ratings", "id", "--metrics", "rouge_l"],
    ],
    ids=lambda words: words[0],
)
def test_more_samples_than_any_array_has_are_refused(capsys, words):
    line = told(capsys, *words, "--resamples", "9" * 30)
    assert "resamples` must be an integer of at most" in line or "--resamples must be an integer of at most" in line


def test_more_permutations_than_any_array_has_are_refused():
    for name, value in {"permutations": 10**30, "workers": 10**30, "seed": 2**32}.items():
        with pytest.raises(UsageError, match=rf"^`{name}`"):
            vlgauge.load("trm", **{name: value})


@pytest.mark.parametrize("kind", ["rocstories", "jsonl", "csv"])
def test_stories_to_train_on_that_are_no_text_are_refused(kind):
    readers = {"rocstories": read_rocstories, "jsonl": read_jsonl, "csv": lambda path: read_csv(Path(path), Path())}
    with pytest.raises(UsageError, match=r"UTF-8.*byte 0xff.*junk\.json|`junk\.json`.*UTF-8.*byte 0xff"):
        readers[kind]("junk.json")


def test_limits_of_files_to_train_on_can_be_raised(capsys):
    titles = ["storyid", "storytitle", *(f"sentence{i}" for i in range(1, 6))]
    Path("roc.csv").write_text("".join(f"{','.join(row)}\n" for row in (titles, ["x"] * 7, ["y"] * 7)))
    given = ["train", "rovist_c", "out", "--rocstories", "roc.csv"]
    assert main([*given, "--max-rows", "1"]) == 2
    assert "--max-rows" in capsys.readouterr().err
    assert main([*given, "--max-rows", "2"]) == 2
    assert "split" in capsys.readouterr().err
