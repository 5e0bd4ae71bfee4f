"""Rank groups of records: what the comparison warns of is told, and what cannot be compared is left out."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_runs import bleu_run, made_run, three_systems

from vlgauge.leaderboard import Dataset, Model, compare, record_groups, record_of, score_files
from vlgauge.leaderboard.record_tables import records_table, tables
from vlgauge.leaderboard.table import systems_table

ON = Dataset("org/vist", "VIST", "default", "test")


def recorded(runs, metric):
    return {
        name: record_of(run, metric, Model(f"org/{name.replace(' ', '-')}", name), ON, date="2026-11-22")
        for name, run in runs.items()
    }


def test_what_the_comparison_warns_of_is_told():
    runs = three_systems("trm", rows=12, middle=0.5, scale=0.1)
    records = recorded(runs, "trm")
    found = record_groups.record_groups([*records.values()], {records[name].key: run for name, run in runs.items()}, {})
    (notes,) = found.notes.values()
    assert "every system has as many captions per row as the others" in notes[1]
    (header, _, *rows) = tables([*records.values()], groups=found).splitlines()[2:7]
    assert header == "| # | model | TRM ↓ | group | n | undefined |"
    assert [row.split(" | ")[3] for row in rows] == ["1", "1", "2"]


def test_the_first_group_is_bold_as_it_is_in_a_comparison():
    runs = three_systems("rovist_nr", rows=12, middle=0.5, scale=0.1)
    records = recorded(runs, "rovist_nr")
    found = record_groups.record_groups([*records.values()], {records[name].key: run for name, run in runs.items()}, {})
    bold = {row[0].text for row in systems_table(compare(runs, ["rovist_nr"])).rows if row[1].bold}
    table = records_table([*records.values()], groups=found)
    assert {row[1].text for row in table.rows if row[2].bold} == bold
    assert table.bold == "the first group; #: the order by RoViST-NR"


def test_systems_that_no_test_tells_apart_are_bold_together():
    runs = {"one": made_run([0.1, 0.5, 0.3, 0.4]), "other": made_run([0.2, 0.4, 0.3, 0.5])}
    runs["few"] = made_run([0.0, 0.1, 0.1, 0.1])
    records = recorded(runs, "rovist_nr")
    every, scores = [*records.values()], {records[name].key: run for name, run in runs.items()}
    table = records_table(every, groups=record_groups.record_groups(every, scores, {}))
    assert not any(row[2].bold for row in table.rows)  # with four rows nothing can be told apart
    table = records_table(every)
    assert [row[1].text for row in table.rows if row[2].bold] == ["other"]
    assert table.bold == "the best value; #: the order by RoViST-NR; differences are not tested"
    del scores[records["few"].key]
    table = records_table(every, groups=record_groups.record_groups(every, scores, {}))
    assert table.bold == "the best value; #: the order by RoViST-NR"


def test_too_many_systems_are_not_compared(monkeypatch):
    monkeypatch.setattr(record_groups, "MOST_SYSTEMS", 2)
    runs = three_systems(rows=5, middle=0.5, scale=0.1)
    records = recorded(runs, "rovist_nr")
    found = record_groups.record_groups([*records.values()], {records[name].key: run for name, run in runs.items()}, {})
    assert found.groups == {}
    assert "No rank groups by RoViST-NR: 3 systems are more than 2; `vlgauge compare` takes them." in str(found.notes)
    assert "| group |" not in tables([*records.values()], groups=found)


def test_scores_of_bleu_without_counts_are_not_enough():
    run = bleu_run(["A dog ran home."], [["A dog ran home."]])
    (record,) = recorded({"one": run}, "bleu").values()
    content = score_files.score_file(run, "bleu")
    back = score_files.run_of_file(content, record)
    assert (back["bleu_scores"], back["bleu_matches_2"]) == (run["bleu_scores"], run["bleu_matches_2"])
    stream = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(content)).select(["id", "score"]), stream)
    with pytest.raises(
        ValueError, match=r"org--one\.parquet must have rows with the columns id and score and matches_1"
    ):
        score_files.run_of_file(stream.getvalue(), record)


def test_ids_that_are_no_texts_and_too_many_rows_are_refused(monkeypatch):
    run = made_run([0.1, 0.2])
    (record,) = recorded({"one": run}, "rovist_nr").values()
    stream = io.BytesIO()
    pq.write_table(pa.table({"id": [b"a", b"b"], "score": [0.1, 0.2]}), stream)
    with pytest.raises(ValueError, match="must have texts as ids, got others"):
        score_files.run_of_file(stream.getvalue(), record)
    monkeypatch.setattr(score_files, "MOST_ROWS", 1)
    with pytest.raises(ValueError, match="the file must have at most 1 row"):
        score_files.run_of_file(score_files.score_file(run, "rovist_nr"), record)
