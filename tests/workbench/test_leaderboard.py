"""Tables of records that were uploaded or passed to the command."""

import json
from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest
from folders import TESTS

from vlgauge.leaderboard import read_records
from vlgauge_workbench import leaderboard

RESULTS = str(TESTS / "golden" / "leaderboard" / "results.jsonl")


def shown(page):
    """Return the page in a frame, unescaped once."""
    return page.replace("&lt;", "<").replace("&gt;", ">").replace("&#34;", '"').replace("&amp;", "&")


@pytest.fixture(scope="module")
def records():
    return leaderboard.merge_records((), [RESULTS])


@pytest.fixture(scope="module")
def page_of_records(built):
    """Return a page with records from the start."""
    return built(results=[RESULTS])


def written(folder, name, **changed):
    """Write the first record with other values to a file, and return its path."""
    line = json.loads(Path(RESULTS).read_text("utf-8").splitlines()[0])
    (folder / name).write_text(json.dumps(line | changed) + "\n", encoding="utf-8")
    return str(folder / name)


def test_there_is_a_table_per_data_set_with_arrows_and_intervals(records):
    page = shown(leaderboard.page_of(records))
    sets = {(one.dataset, one.profile) for one in records}
    assert page.count("<table>") == len(sets) > 1
    assert "GROOViST ↑" in page
    assert "0.831 [0.810, 0.852]" in page
    assert "demo models of the embedded profile" in page


def test_filters_leave_what_is_wanted(records):
    (first, *_) = records
    page = shown(leaderboard.page_of(records, dataset=first.dataset.id, metrics=["groovist"], model=first.model.name))
    assert "GROOViST ↑" in page
    assert page.count("</th>") == 5  # rank, model, metric, n, undefined
    assert "No record matches" in leaderboard.page_of(records, model="nobody")
    choices = leaderboard.filters(records)[0].choices
    assert [value for _, value in choices] == [leaderboard.EVERY, *sorted({one.dataset.id for one in records})]


def test_without_records_it_ranks_the_systems_of_the_package(monkeypatch):
    monkeypatch.setattr(leaderboard.systems, "first_metrics", lambda: ("trm", "rovist_nr"))
    leaderboard.page_of_systems.cache_clear()
    page = leaderboard.page_of([])
    leaderboard.page_of_systems.cache_clear()
    assert "Six example systems" in page
    for name in leaderboard.systems.NAMES:
        assert f">{name}</td>" in page
    # The page has the means and groups of the comparison.
    found = leaderboard.systems.compare_bundled(leaderboard.systems.NAMES, ("trm", "rovist_nr"), "embedded")
    for compared in found.comparison.metrics:
        for one in compared.systems:
            assert f"{one.value:.4f} [{one.low:.4f}, {one.high:.4f}]" in page


def test_records_that_are_there_stay_where_the_tab_is_opened(page, page_of_records, records, monkeypatch):
    monkeypatch.setattr(leaderboard, "page_of_systems", lambda: "<table>")
    for shows, fetched, expected in (
        (page, [], "<table>"),
        (page_of_records, [], gr.skip()),
        (page, records, gr.skip()),
    ):
        (opened,) = [one.fn.__wrapped__ for one in shows.fns.values() if one.name == "first_shown"]
        assert opened(None, leaderboard.Results(fetched)) == expected


def test_a_data_set_that_was_refused_leaves_what_was_there(page_of_records):
    functions = page_of_records.fns.values()
    emptied, fetched = (next(one for one in functions if one.name == name) for name in ("emptied", "fetched"))
    with pytest.raises(gr.Error, match=r"`Results on the Hub`.*OWNER/NAME"):
        fetched.fn(" ", "")
    # Not after the request: the emptied table after an error may belong to the next dataset.
    assert (fetched.trigger_after, fetched.trigger_only_on_success) == (emptied._id, True)
    results, commit, *_, page = emptied.fn(None)
    assert (results.records, commit) == ((), "")
    assert "GROOViST" in page  # records that were there before


def test_only_https_is_linked(tmp_path):
    for url, linked in (("https://example.org/a?b&c", True), ("http://127.0.0.1/x", False)):
        path = written(tmp_path, "one.jsonl", source={"url": url})
        page = shown(leaderboard.page_of(leaderboard.merge_records((), [path])))
        assert (f'<a href="{url}" target="_blank"' in shown(page)) == linked


def test_one_result_of_two_files_is_one_record(tmp_path):
    again = written(tmp_path, "again.jsonl")
    assert leaderboard.merge_records((), [RESULTS, again]) == read_records(RESULTS)
    other = written(tmp_path, "other.jsonl", value=0.82)
    with pytest.raises(ValueError, match="metric, signature"):
        leaderboard.merge_records(read_records(RESULTS), [other])


def test_records_of_the_command_are_there_from_the_start(page_of_records, tmp_path):
    blocks = page_of_records.blocks.values()
    pages = [block.value for block in blocks if isinstance(block, gr.HTML) and block.value]
    assert any("0.831 [0.810, 0.852]" in one for one in pages)
    (tmp_path / "bad.jsonl").write_text('{"schema": 9}\n')
    with pytest.raises(ValueError, match="line 1"):
        leaderboard.merge_records((), [str(tmp_path / "bad.jsonl")])


def test_markup_in_a_name_is_shown_and_not_obeyed(tmp_path):
    path = written(tmp_path, "one.jsonl", model={"id": "org/x", "name": "<img src=x>", "revision": None})
    page = leaderboard.page_of(leaderboard.merge_records((), [path]))
    assert "<img" not in page
    assert "&lt;img src=x&gt;" in page


def many(folder, n, **changed):
    """Write `n` records of `n` models with descending values to a file. `changed` are functions of the number."""
    line = json.loads(Path(RESULTS).read_text("utf-8").splitlines()[0])
    lines = []
    for number in range(n):
        model = {**line["model"], "id": f"org/m{number}", "name": f"m{number % 7}"}
        own = {"model": model, "value": number / n, "ci": None, **{key: make(number) for key, make in changed.items()}}
        lines.append(json.dumps(line | own) + "\n")
    (folder / "many.jsonl").write_text("".join(lines), encoding="utf-8")
    return str(folder / "many.jsonl")


def test_uploads_are_bounded_before_they_are_parsed(tmp_path, monkeypatch):
    path = many(tmp_path, 20)
    monkeypatch.setattr(leaderboard, "MOST_RECORDS", 19)
    with pytest.raises(ValueError, match=r"at most 19 records.*got 20"):
        leaderboard.merge_records((), [path])
    monkeypatch.setattr(leaderboard, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"at most 0\.001.*MB"):
        leaderboard.merge_records((), [path])


def test_a_table_of_too_many_cells_is_told_in_a_sentence(tmp_path, monkeypatch):
    records = leaderboard.merge_records((), [many(tmp_path, 12)])
    assert shown(leaderboard.page_of(records)).count("<tr>") == 13
    monkeypatch.setattr(leaderboard, "MOST_CELLS", 11)
    assert "The tables have 12 cells, at most 11 can be shown" in leaderboard.page_of(records)
    assert "No record matches" in leaderboard.page_of(records, model="nobody")


def test_the_work_for_a_table_grows_with_its_rows(tmp_path, monkeypatch):
    """Check that ten times the rows require some ten times the steps, not a hundred times."""

    def steps(n):
        records = leaderboard.merge_records((), [many(tmp_path, n)])
        seen = 0

        class Value(float):
            def __eq__(self, other):
                nonlocal seen
                seen += 1
                return float(self) == float(other)

            __hash__ = float.__hash__

        counted = [replace(record, value=Value(record.value), undefined=0) for record in records]
        leaderboard.page_of(counted)
        return seen

    assert steps(200) < 30 * steps(20)
