"""A bug in any layer keeps its class and traceback, and an error that the user can fix is one line."""

import errno
import json
import re
from pathlib import Path

import pytest

import vlgauge
from vlgauge.cli import main
from vlgauge.core.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies")
BUGS = [KeyError("scores_of_rows"), TypeError("bug"), ValueError("bug"), IndexError("bug"), ImportError("bug")]
# Layer -> one of its functions, which the command calls.
SCORE = {
    "command": "vlgauge.cli.score.print_results",
    "numbers": "vlgauge.api.numbers.numbers_of",
    "columns": "vlgauge.families.base.metric.Metric._store_rows",
    "reader": "vlgauge.inputs.tables.files._record",
    "formula": "vlgauge.families.ngram.cider.length_penalties",
    "metric": "vlgauge.families.base.metric.Metric.signature",
}
COMPARE = {
    "statistics": "vlgauge.stats.paired._bounds",
    "leaderboard": "vlgauge.leaderboard.comparison.rank_groups",
}


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    captions = ["a dog runs", "two cats sleep", "a man rides", "a red bus"]
    lines = [{"id": i, "predictions": text, "references": [f"{text} home"]} for i, text in enumerate(captions)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def plant(monkeypatch, place, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(place, fail)


@pytest.mark.parametrize("place", SCORE.values(), ids=SCORE)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: type(bug).__name__)
def test_a_bug_keeps_its_traceback(monkeypatch, rows, place, bug):
    plant(monkeypatch, place, bug)
    with pytest.raises(type(bug)) as raised:
        main(["score", "cider", rows])
    assert raised.value is bug


@pytest.mark.parametrize("place", COMPARE.values(), ids=COMPARE)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: type(bug).__name__)
def test_a_bug_of_comparison_keeps_its_traceback(monkeypatch, tmp_path, rows, place, bug):
    other = str(tmp_path / "other.jsonl")
    Path(other).write_text(Path(rows).read_text().replace('"a dog runs"', '"a cow"'))
    plant(monkeypatch, place, bug)
    with pytest.raises(type(bug)) as raised:
        main(["compare", "rouge_l", rows, other])
    assert raised.value is bug


@pytest.mark.parametrize("place", SCORE.values(), ids=SCORE)
@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UsageError("`df` must be a table"), "must be a table"),
        (OSError(errno.EACCES, "Permission denied", "rows.csv"), "rows.csv: Permission denied"),
        (OSError(errno.ENOSPC, "No space left"), "the disk is full"),
        (MemoryError(), "not enough memory"),
    ],
    ids=["usage", "file", "disk", "memory"],
)
def test_what_a_user_can_fix_is_one_line(monkeypatch, capsys, rows, place, error, line):
    plant(monkeypatch, place, error)
    assert main(["score", "cider", rows]) == 2
    (told,) = [one for one in capsys.readouterr().err.splitlines() if "error:" in one]
    assert re.fullmatch(rf"vlgauge score: error: .*{line}.*", told)


def test_an_interruption_is_one_line(monkeypatch, capsys, rows):
    plant(monkeypatch, SCORE["formula"], KeyboardInterrupt())
    assert main(["score", "cider", rows]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "vlgauge: interrupted"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: type(bug).__name__)
def test_a_bug_reaches_callers_from_python(monkeypatch, bug):
    plant(monkeypatch, SCORE["formula"], bug)
    rows = [{"predictions": "a dog", "references": ["a dog runs"]}] * 2
    with pytest.raises(type(bug)) as raised:
        vlgauge.score(rows, "cider")
    assert raised.value is bug
