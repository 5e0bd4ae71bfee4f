"""Scores and their record: digests, and recomputed counts, values and intervals."""

import dataclasses
import hashlib
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_runs import bleu_run, made_run

from vlgauge.cli import main
from vlgauge.cli.outputs import write_result
from vlgauge.core import files as core_files
from vlgauge.core.errors import UsageError
from vlgauge.core.files import FileLimitError, limits
from vlgauge.inputs.sandbox import use_sandbox
from vlgauge.inputs.tables import files, parquet
from vlgauge.leaderboard import Dataset, Model, read_run, record_of
from vlgauge.leaderboard.exporters import dataset_card, results_repository
from vlgauge.leaderboard.recorded_scores import check_scores, scores_digest, scores_of_records
from vlgauge.leaderboard.run_files import RESULT_ENDINGS, WITH_SIDECAR
from vlgauge.leaderboard.score_files import run_of_file, score_file

MODEL = Model("org/teller", "Teller")
SCORES = [0.25, 0.5, 0.75, math.nan, 0.125]


def recorded(run, metric="rovist_nr", split="test"):
    return record_of(run, metric, MODEL, Dataset("org/vist", "VIST", "default", split), date="2026-11-20")


def exported(runs):
    return results_repository([recorded(made_run(SCORES))], "org/results", {"org/teller": runs})


def test_the_digest_is_of_ids_and_scores_whatever_their_order():
    run = made_run([0.5, math.nan], ids=["b", 1])
    rows = ['["id", "score"]', '["1", null]', '["b", 0.5]']
    assert scores_digest(run, "rovist_nr") == hashlib.sha256("\n".join(rows).encode()).hexdigest()
    turned = made_run([math.nan, 0.5], ids=[1, "b"])
    assert scores_digest(turned, "rovist_nr") == scores_digest(run, "rovist_nr")
    for other in (
        made_run([math.nan, 0.5], ids=["b", 1]),
        made_run([0.5, 0.0], ids=["b", 1]),
        made_run([0.5], ids="b"),
    ):
        assert scores_digest(other, "rovist_nr") != scores_digest(run, "rovist_nr")


@pytest.mark.parametrize("ending", RESULT_ENDINGS)
def test_a_file_of_scores_is_read_once(tmp_path, monkeypatch, ending):
    path, opened, usual = str(tmp_path / f"scores{ending}"), [], core_files.open_file
    write_result(path, made_run(SCORES) | {"rovist_nr": 0.40625})
    monkeypatch.setattr(core_files, "open_file", lambda *words: opened.append(words[0]) or usual(*words))
    assert read_run(path, ["rovist_nr"])
    assert sorted(opened) == [path, *([f"{path}.json"] if ending in WITH_SIDECAR else [])]


@pytest.mark.parametrize("metric", ["rovist_nr", "bleu"])
@pytest.mark.parametrize("ending", [*RESULT_ENDINGS, "export"])
def test_every_form_of_the_scores_is_that_of_the_record(tmp_path, metric, ending):
    said = ["a dog runs on the grass", "two cats sit on a mat", "a cat", "the sea"]
    run = made_run(SCORES) if metric == "rovist_nr" else bleu_run(said, [*said[:2], "two red cats", []])
    run = {"ids": run["ids"], metric: 0.0, **run} if metric == "rovist_nr" else run
    record = recorded(run, metric)
    if ending == "export":
        assert run_of_file(score_file(run, metric), record)
        return
    path = str(tmp_path / f"scores{ending}")
    write_result(path, run)
    found = check_scores(record, read_run(path, [metric]))
    assert (found.record.scores_sha256 is None, found.interval) == (False, "")


@pytest.mark.parametrize("ending", RESULT_ENDINGS)
def test_untrusted_files_of_scores_are_parsed_by_workers_first(tmp_path, monkeypatch, ending):
    def watched(task, *arguments, **options):
        tasks.append(task.rpartition(":")[2])
        return run(task, *arguments, **options)

    tasks, run = [], files.run
    path = str(tmp_path / f"scores{ending}")
    write_result(path, made_run(SCORES))
    expected = read_run(path, [])
    monkeypatch.setattr(files, "run", watched)
    with use_sandbox():
        assert repr(read_run(path, [])) == repr(expected)
        with limits(max_unpacked=20), pytest.raises(FileLimitError, match=r"^FILE"):
            read_run(path, [])
    assert tasks[0] == "check_json"


def test_a_damaged_parquet_file_of_scores_is_one_sentence(tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise AssertionError("a Parquet file was decoded here")

    monkeypatch.setattr(pq, "read_metadata", refuse)
    footer = b"\x18" * 100
    for name in ("one.parquet", "two.parquet"):
        (tmp_path / name).write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert main(["compare", "bleu", str(tmp_path / "one.parquet"), str(tmp_path / "two.parquet")]) == 2
    assert "FILE must be a Parquet file, got" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[" + "[]," * 4000 + "[]]", '"' + "x" * 200_000 + '"'], ids=["lists", "long"])
def test_large_metadata_of_a_parquet_file_of_scores_are_refused(tmp_path, monkeypatch, text):
    monkeypatch.setattr(parquet, "_MOST_METADATA", 100_000)
    table = pa.table({"id": [1]}).replace_schema_metadata({"vlgauge": text})
    pq.write_table(table, tmp_path / "a.parquet")
    with use_sandbox(), limits(max_unpacked=300_000), pytest.raises(UsageError, match=r"^FILE"):
        read_run(str(tmp_path / "a.parquet"), [])


CHANGES = {
    "n": ({"n": 5, "undefined": 0}, r"number of scores.*5, got 4"),
    "value": (
        {"value": 0.5},
        r"0\.5.*got 0\.40625",
    ),
    "digest": ({"scores_sha256": "0" * 64}, "0000000000000000"),
    "signature": (
        {"signature": "rovist_nr|v:0.1.0|profile:paper|variant:released|n:3|sentences:rules|lowercase:False"},
        r"been.*3.*4",
    ),
    "interval": (
        {"ci": dataclasses.replace(recorded(made_run(SCORES)).ci, high=0.75)},
        r"interval.*0",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_number_than_that_of_the_scores_is_refused(change):
    values, said = CHANGES[change]
    record = dataclasses.replace(recorded(made_run(SCORES)), **values)
    with pytest.raises(ValueError, match=rf"org/teller.*rovist_nr.*{said}"):
        check_scores(record, made_run(SCORES))
    with pytest.raises(ValueError, match=rf"org/teller.*rovist_nr.*{said}"):
        results_repository([record], "org/results", {"org/teller": [made_run(SCORES)]})
    card = "<!-- leaderboard:start -->\n<!-- leaderboard:end -->"
    with pytest.raises(ValueError, match=said):
        dataset_card([record], card, {"org/teller": [made_run(SCORES)]})


def test_swapped_scores_of_the_same_mean_are_refused():
    swapped = made_run([SCORES[1], SCORES[0], *SCORES[2:]])
    with pytest.raises(ValueError, match="digest"):
        exported([swapped])
    assert len(exported([made_run(SCORES)])) == 3


def test_a_record_without_a_digest_is_compared_and_unsigned():
    record = dataclasses.replace(recorded(made_run(SCORES)), scores_sha256=None)
    assert check_scores(record, made_run(SCORES)).record.scores_sha256 is None
    # Numbers alone do not show the order of the rows.
    assert check_scores(record, made_run([SCORES[1], SCORES[0], *SCORES[2:]]))
    with pytest.raises(ValueError, match=r"value.*record"):
        check_scores(record, made_run([0.5, *SCORES[1:]]))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"method": None, "groups": None}, "the record does not contain its method and groups"),
        ({"seed": None}, "the record does not contain its seed"),
        ({"resamples": None}, "the record does not contain its samples"),
        ({"method": "by eye"}, "its method is by eye, that of this version "),
        ({"groups": 2}, "2 groups of rows were resampled, which are unknown for scores"),
        ({"resamples": 10**9}, "it is of 1000000000 samples, the maximum is 100,000"),
        ({"resamples": 0}, "it is of 0 samples, the maximum is 100,000"),
    ],
)
def test_why_an_interval_is_not_checked_is_said(changed, why):
    record = recorded(made_run(SCORES))
    # A check would raise an error.
    ci = dataclasses.replace(record.ci, high=0.75, **changed)
    assert check_scores(dataclasses.replace(record, ci=ci), made_run(SCORES)).interval.startswith(why)
    none = dataclasses.replace(record, ci=None)
    assert check_scores(none, made_run(SCORES)).interval == "the record has no interval"


def test_every_file_of_a_model_belongs_to_a_record():
    runs = [made_run(SCORES), made_run([0.1, 0.2, 0.4])]
    records = [recorded(run, split=split) for run, split in zip(runs, ("test", "val"), strict=True)]
    found = scores_of_records(records, {"org/teller": runs[::-1]})
    assert [(one.record.dataset.split, one.run) for one in found] == [("val", runs[1]), ("test", runs[0])]
    with pytest.raises(ValueError, match=r"once.*org/teller"):
        scores_of_records(records, {"org/teller": [runs[0], runs[0]]})
    with pytest.raises(ValueError, match=r"number of scores of the record, 4, got 2"):
        scores_of_records(records, {"org/teller": [made_run([0.1, 0.2])]})
    with pytest.raises(ValueError, match=r"got none.*org/teller"):
        scores_of_records(records, {"org/teller": [made_run([0.1], "trm")]})
    # One of two metrics in a file is recorded.
    both = {**made_run([0.1] * 5, "trm"), **runs[0]}
    assert [one.record for one in scores_of_records(records, {"org/teller": [both]})] == records[:1]


@pytest.mark.parametrize("cells", [["x"], [1e301], "text", None])
def test_what_are_no_scores_is_told(cells):
    run = made_run([0.5]) | {"rovist_nr_scores": cells}
    with pytest.raises(ValueError, match="`rovist_nr_scores` must"):
        check_scores(recorded(made_run([0.5])), run)


def test_the_digest_is_in_the_line(tmp_path):
    record = recorded(made_run(SCORES))
    assert json.loads(record.line())["scores_sha256"] == scores_digest(made_run(SCORES), "rovist_nr")
