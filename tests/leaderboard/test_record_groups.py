"""Rank groups of records: warnings of the comparison, and records that cannot be compared."""

import dataclasses
import io
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_runs import bleu_run, made_run, three_systems

from vlgauge.leaderboard import Dataset, Model, compare, record_groups, record_of, score_files
from vlgauge.leaderboard.record_tables import records_table, tables
from vlgauge.leaderboard.runs import GROUPED_BY, GROUPS
from vlgauge.leaderboard.table import Numbers, systems_table

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
    assert "every system has the same number of captions per row" in notes[1]
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


def lacking():
    """Return three systems that each lack other rows. The worst on the common rows omits the hard rows."""
    rng = np.random.default_rng(3)
    hard = np.where(np.arange(60) < 40, 0.8, 0.2) + 0.02 * rng.normal(size=60)
    scores = {"best": hard + 0.1, "good": hard + 0.05, "silent": hard}
    scores["best"][:8] = scores["good"][8:12] = scores["silent"][44:] = math.nan
    return {name: made_run(own, "rovist_nr") for name, own in scores.items()}


def test_values_order_and_bold_are_those_of_the_rows_that_every_system_has():
    runs = lacking()
    records = recorded(runs, "rovist_nr")
    every, scores = [*records.values()], {records[name].key: run for name, run in runs.items()}
    assert max(every, key=lambda record: record.value).model.name == "silent"
    with pytest.warns(UserWarning, match=r"rovist_nr.*32 of 60 rows"):
        expected = compare(runs, ["rovist_nr"])
    table = records_table(every, groups=record_groups.record_groups(every, scores, {}))
    shown = [(row[1].text, row[2].text, row[2].bold, row[3].text) for row in table.rows]
    compared = systems_table(expected, Numbers(digits=3)).rows
    assert shown == [(row[0].text, row[1].text, row[1].bold, row[2].text) for row in compared]
    assert [row[0].text for row in table.rows] == ["1", "2", "3"]
    assert [row[4].text for row in table.rows] == ["32"] * 3
    assert [row[5].text for row in table.rows] == ["8", "4", "16"]
    assert any("means, order, groups and tests are of the 32 of 60 rows" in note for note in table.notes)
    (own,) = [note for note in table.notes if note.startswith("rovist_nr over all its rows: ")]
    assert f"org/silent {records['silent'].value:.3f} (16 undefined)" in own


def test_scores_of_some_systems_give_no_groups_if_they_lack_other_rows():
    runs = lacking()
    records = recorded(runs, "rovist_nr")
    every = [*records.values()]
    scores = {records[name].key: runs[name] for name in ("best", "silent")}
    table = records_table(every, groups=record_groups.record_groups(every, scores, {}))
    assert "group" not in table.header
    assert not any(cell.bold for row in table.rows for cell in row)
    assert [row[0].text for row in table.rows] == ["-"] * 3
    told = "systems lack scores of other rows, and row scores are available for 2 of 3."
    assert f"No rank groups by RoViST-NR: {told}" in table.notes


def test_rows_that_were_drawn_in_groups_are_not_tested_as_single_ones():
    runs = three_systems("rovist_nr", rows=12, middle=0.5, scale=0.1)
    records = recorded(runs, "rovist_nr")
    one = records["high"]
    records["high"] = dataclasses.replace(one, ci=dataclasses.replace(one.ci, groups=6))
    every, scores = [*records.values()], {records[name].key: run for name, run in runs.items()}
    found = record_groups.record_groups(every, scores, {})
    assert found.systems == {}
    assert "rows were resampled in groups, which differ between the files" in str(found.notes)
    # Scores that name the groups are tested by groups.
    named = {GROUPS: [f"image {row // 2}" for row in range(12)], GROUPED_BY: "image"}
    grouped = {key: {**run, **named} for key, run in scores.items()}
    found = record_groups.record_groups(every, grouped, {})
    (expected,) = compare({name: {**run, **named} for name, run in runs.items()}, ["rovist_nr"]).metrics
    assert {one.low for one in found.systems.values()} == {one.low for one in expected.systems}
    assert "12 rows in 6 groups, which are resampled as a whole, 10000 samples, seed 0." in str(found.notes)


def test_sets_of_unequal_sizes_are_not_compared():
    runs = {name: made_run([0.2, 0.3, 0.4], "trm") for name in ("few", "many")}
    for run in runs.values():
        run["trm_signature"] += "|sets:2-10v5"
    records = recorded(runs, "trm")
    every, scores = [*records.values()], {records[name].key: run for name, run in runs.items()}
    table = records_table(every, groups=record_groups.record_groups(every, scores, {}))
    assert [row[0].text for row in table.rows] == ["-", "-"]
    assert any(note.startswith("No rank groups by TRM: `runs` must have sets of equal sizes") for note in table.notes)


def test_systems_that_no_test_tells_apart_are_bold_together():
    runs = {"one": made_run([0.1, 0.5, 0.3, 0.4]), "other": made_run([0.2, 0.4, 0.3, 0.5])}
    runs["few"] = made_run([0.0, 0.1, 0.1, 0.1])
    records = recorded(runs, "rovist_nr")
    every, scores = [*records.values()], {records[name].key: run for name, run in runs.items()}
    table = records_table(every, groups=record_groups.record_groups(every, scores, {}))
    assert not any(row[2].bold for row in table.rows)  # four rows are not enough for a significant difference
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
    assert found.systems == {}
    assert "No rank groups by RoViST-NR: 3 systems exceed the limit of 2; use `vlgauge compare`." in str(found.notes)
    assert "| group |" not in tables([*records.values()], groups=found)


def test_scores_of_bleu_without_counts_are_not_enough():
    run = bleu_run(["A dog ran home."], [["A dog ran home."]])
    (record,) = recorded({"one": run}, "bleu").values()
    content = score_files.score_file(run, "bleu")
    back = score_files.run_of_file(content, record)
    assert (back["bleu_scores"], back["bleu_matches_2"]) == (run["bleu_scores"], run["bleu_matches_2"])
    stream = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(content)).select(["id", "score"]), stream)
    with pytest.raises(ValueError, match=r"org--one\.parquet.*matches_1"):
        score_files.run_of_file(stream.getvalue(), record)


def test_ids_that_are_no_texts_and_too_many_rows_are_refused(monkeypatch):
    run = made_run([0.1, 0.2])
    (record,) = recorded({"one": run}, "rovist_nr").values()
    stream = io.BytesIO()
    pq.write_table(pa.table({"id": [b"a", b"b"], "score": [0.1, 0.2]}), stream)
    with pytest.raises(ValueError, match="other types"):
        score_files.run_of_file(stream.getvalue(), record)
    monkeypatch.setattr(score_files, "MOST_ROWS", 1)
    with pytest.raises(ValueError, match="at most 1 row"):
        score_files.run_of_file(score_files.score_file(run, "rovist_nr"), record)
