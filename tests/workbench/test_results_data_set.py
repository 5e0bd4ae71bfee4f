"""The leaderboard of a results dataset of the Hub: its records, the token that opens it, and errors."""

import html
import math

import gradio as gr
import pytest
from folders import GOLDEN
from hub_data_sets import TOKEN, Repository, hub_of_data_sets
from made_runs import made_run, three_systems

from vlgauge.core.errors import NetworkError
from vlgauge.leaderboard import Dataset, Model, compare, read_records, record_of
from vlgauge.leaderboard.exporters import results_repository
from vlgauge.leaderboard.run_files import run_files
from vlgauge.leaderboard.score_files import score_file, score_path
from vlgauge.leaderboard.table import groups_text
from vlgauge_workbench import leaderboard, results_data_set
from vlgauge_workbench.hosting import SPACE

FILE = GOLDEN / "leaderboard" / "results.jsonl"
OLD, NEW = "a" * 40, "b" * 40


BROKEN = ("other mean", "swapped", "other number", "no table", "too large", "other columns")


def record_of_run(name, run, split="test"):
    """Return the record of a run by a system."""
    on = Dataset("org/vist", "VIST", "default", split, "c" * 40)
    return record_of(run, "rovist_nr", Model(f"org/{name.replace(' ', '-')}", name), on, date="2026-11-22")


def ranked():
    """Return the files of a results dataset, by path.

    Three systems have scores, some have wrong files, two have different rows, one has no file, and one is alone.
    """
    systems = three_systems(rows=20, middle=0.5, scale=0.1)
    records = [record_of_run(name, run) for name, run in systems.items()]
    runs = {record.model.id: [run] for record, run in zip(records, systems.values(), strict=True)}
    exported = {one.path: one.content for one in results_repository(records, "org/ranked", runs)}
    files = {path: content for path, content in exported.items() if path.startswith("data/")}
    for number, name in enumerate(BROKEN):
        run = made_run([0.25, 0.5, math.nan, number / 8])
        records.append(record_of_run(name, run))
        swapped = [number / 8, 0.25, math.nan, 0.5]
        others = {"other mean": [0.25, 0.5, math.nan, 9], "swapped": swapped, "other number": [0.25, 0.5, 0, 0]}
        content = score_file(made_run(others[name]) if name in others else run, "rovist_nr")
        content = {"no table": b"PAR1 and no more", "too large": content + bytes(5_000_000)}.get(name, content)
        files[score_path(records[-1])] = run_files(run, ".parquet")[""] if name == "other columns" else content
    for name, ids in (("abc", "abc"), ("abx", "abx"), ("missing", "abc")):
        run = made_run([0.1, 0.2, 0.3], ids=ids)
        records.append(record_of_run(name, run, "val"))
        if name != "missing":
            files[score_path(records[-1])] = score_file(run, "rovist_nr")
    for split in ("one", "two"):
        run = made_run([0.1, 0.2, 0.3])
        records.append(record_of_run("alone", run, split))
        files[score_path(records[-1])] = score_file(run, "rovist_nr")
    return files | {"results.jsonl": "".join(record.line() for record in records).encode()}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    told = {"results.jsonl": FILE.read_bytes()}
    with hub_of_data_sets(
        tmp_path_factory.mktemp("home"),
        **{
            "org/results": Repository({OLD: {"results.jsonl": b"not yet\n"}, NEW: told}),
            "org/gated": Repository({NEW: told}, gated=True),
            "org/private": Repository({NEW: told}, private=True),
            "org/rows": Repository({NEW: {"test.jsonl": b"{}\n"}}),
            "org/empty": Repository({NEW: {"results.jsonl": b"\n"}}),
            "org/lines": Repository({NEW: {"results.jsonl": b'{"schema": 1, "value": NaN}\n'}}),
            "org/bytes": Repository({NEW: {"results.jsonl": b"\xff\xfe\x00"}}),
            "org/page": Repository({NEW: {"results.jsonl": b"<!doctype html><title>Sign in</title>"}}),
            "org/ranked": Repository({NEW: ranked()}),
        },
    ) as served:
        yield served


def test_records_are_those_of_the_newest_commit(hub):
    results, commit = results_data_set.fetch_results("org/results")
    records = results.records
    assert (records, commit) == (read_records(FILE), NEW)
    assert hub.asked[-1] == ("GET", f"/datasets/org/results/resolve/{NEW}/results.jsonl")
    assert leaderboard.merge_records(records, (), records) == records
    assert "GROOViST" in leaderboard.page_of(leaderboard.merge_records((), (), records))


def test_a_visitors_token_opens_gated_and_private_ones_and_leaves_no_copy(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for name in ("org/gated", "org/private"):
        assert results_data_set.fetch_results(name, TOKEN)[0].records == read_records(FILE)
    assert not list(tmp_path.rglob("*"))


def test_on_a_space_the_token_of_the_machine_is_not_used(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert results_data_set.fetch_results("org/gated")[0]
    with pytest.raises(NetworkError, match="accept the terms"):
        results_data_set.fetch_results("org/gated", SPACE.token)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../etc/passwd", "OWNER/NAME"),
        ("https://127.0.0.1/a/b", "OWNER/NAME"),
        ("org/unknown", "unknown or private"),
        ("org/private", "unknown or private"),
        ("org/gated", r"results\.jsonl.*'org/gated'"),
        ("org/rows", r"results\.jsonl.*'org/rows'"),
        ("org/empty", r"results\.jsonl.*got 'org/empty'"),
        ("org/lines", r"FILE.*line 1.*'org/lines/results\.jsonl'"),
        ("org/bytes", r"UTF-8.*byte 0xff.*line 1"),
        ("org/page", r"FILE.*line 1.*column 1"),
    ],
)
def test_what_is_refused_is_told_in_one_sentence(hub, name, said):
    with pytest.raises(gr.Error, match=said) as refused:
        leaderboard._fetcher(SPACE)(name, "")
    assert "\n" not in refused.value.message


def test_a_larger_file_is_not_read_to_its_end(hub, monkeypatch):
    monkeypatch.setattr(results_data_set, "MOST_BYTES", 1000)
    with pytest.raises(NetworkError, match=r"results\.jsonl.*than 1000 bytes"):
        results_data_set.fetch_results("org/results")


# -- Rank groups ------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def ranks(hub):
    return results_data_set.fetch_results("org/ranked")[0]


def test_rank_groups_are_those_of_the_comparison_of_the_scores(ranks):
    systems = three_systems(rows=20, middle=0.5, scale=0.1)
    (compared,) = compare(systems, ["rovist_nr"]).metrics
    expected = {one.name: ",".join(map(str, one.groups)) for one in compared.systems}
    assert sorted(set(expected.values())) == ["1", "2"]
    names = {record.key: record.model.name for record in ranks.records}
    assert {names[key]: groups_text(one) for key, one in ranks.groups.systems.items()} == expected
    page = html.unescape(leaderboard.page_of(ranks.records, groups=ranks.groups))
    assert page.count(">group</th>") == 1
    assert (
        "Systems that share a group do not differ significantly in paired sign-flip tests (Holm's correction for 3 "
        "pairs, 0.05) of the 3 systems with row scores."
    ) in html.unescape(page)
    # If only one model is shown, its group among all models is kept.
    alone = html.unescape(leaderboard.page_of(ranks.records, model="low too", groups=ranks.groups))
    assert f'<td data-label="group" style="text-align: right">{expected["low too"]}</td>' in alone


@pytest.mark.parametrize(
    "said",
    [
        "No group for org/other-mean: data/rovist_nr/org--vist--default--test/org--other-mean.parquet must have "
        "the value of the record, 0.25, got 3.25",
        "org--swapped.parquet must have the digest of the record",
        "org--other-number.parquet must have the number of scores of the record, 3, got 4",
        "org--no-table.parquet', which fails with",
        "org--too-large.parquet of more than 5000000 bytes",
        "org--other-columns.parquet must have rows with the columns id and score, got",
        "No rank groups by RoViST-NR: `ids` must be the same in every system, org/abc has 'c' that org/abx",
    ],
)
def test_files_that_are_not_those_of_the_record_are_told(ranks, said):
    assert said in "\n".join(note for notes in ranks.groups.notes.values() for note in notes)


def test_without_files_it_is_said_and_none_is_asked_for(hub):
    del hub.asked[:]
    results, _ = results_data_set.fetch_results("org/results")
    assert results.groups.systems == {}
    told = html.unescape(leaderboard.page_of(results.records, groups=results.groups))
    assert "No rank groups by GROOViST: row scores are available for 0 of 2 systems." in told
    assert not [path for _, path in hub.asked if "/data/" in path]


@pytest.mark.parametrize(("name", "value"), [("MOST_FILES", 1), ("MOST_SCORES", 25), ("MOST_SECONDS", -1.0)])
def test_files_scores_and_seconds_have_limits(hub, monkeypatch, name, value):
    monkeypatch.setattr(results_data_set, name, value)
    del hub.asked[:]
    results, _ = results_data_set.fetch_results("org/ranked")
    assert len([path for _, path in hub.asked if "/data/" in path]) <= 1
    assert results.groups.systems == {}
    assert "is the limit here, which earlier records used up" in str(results.groups.notes)


def test_one_file_next_to_no_other_is_not_asked_for(hub):
    del hub.asked[:]
    results_data_set.fetch_results("org/ranked")
    assert not [path for _, path in hub.asked if "alone" in path]
