"""A table of scores executes nothing in a spreadsheet, and is read back unchanged."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlgauge.leaderboard import read_run
from vlgauge.leaderboard.run_files import RESULT_ENDINGS, as_kept, run_files

HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\uff1dA1",
    "'=1",
    "''@x",
    '=HYPERLINK("http://x","y")',
    "a;=cmd",
]
PLAIN = ["-5", "+5e-3", "'-5", "'tis", "a=b", "a, b", 'the "b"', "", "x'=", "0"]


def record(ids):
    scores = [0.5] * len(ids)
    return {"ids": list(ids), "bleu_scores": scores, "bleu": 0.5, "bleu_signature": "bleu|v:0.1.0"}


def cells(text, delimiter=","):
    return [cell for row in csv.reader(io.StringIO(text), delimiter=delimiter) for cell in row]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_begins_a_formula(delimiter):
    text = run_files(record(HOSTILE), ".csv")[""]
    assert [cell for cell in cells(text, delimiter) if cell.lstrip()[:1] in tuple("=+-@\uff1d")] == []


def test_other_cells_are_as_they_were():
    assert cells(run_files(record(PLAIN), ".csv")[""])[2::2] == PLAIN
    assert run_files(record(["a", "b"]), ".csv")[""] == "id,bleu\na,0.5\nb,0.5\n"


@pytest.mark.parametrize("ending", RESULT_ENDINGS)
def test_a_run_is_read_back_as_it_was(tmp_path, ending):
    ids = [*HOSTILE, *(one for one in PLAIN if one)]
    path = tmp_path / f"scores{ending}"
    for added, content in run_files(record(ids), ending).items():
        tmp_path.joinpath(path.name + added).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert [one if isinstance(one, str) else json.dumps(one) for one in read_run(str(path), ["bleu"])["ids"]] == ids


@given(st.text(alphabet="'=+-@a5;\t\",.", max_size=6))
def test_any_text_comes_back(text):
    written = run_files(record([text]), ".csv")[""]
    assert as_kept(cells(written)[2]) == text
