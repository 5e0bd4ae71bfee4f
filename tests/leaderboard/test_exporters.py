"""Exports: golden files, results of the Hub library that reads them, directions, and errors."""

import dataclasses
import io
import json
import math

import pyarrow.parquet as pq
import pytest
import yaml
from folders import GOLDEN
from huggingface_hub import EvalResult, ModelCardData
from huggingface_hub.repocard_data import model_index_to_eval_results
from made_runs import bleu_run, made_run, run_of_record, three_systems

from vlgauge.leaderboard import Dataset, Model, read_records, record_of
from vlgauge.leaderboard.exporters import (
    dataset_card,
    eval_results,
    eval_yaml,
    model_index,
    results_repository,
)
from vlgauge.leaderboard.record_tables import records_table, tables

FOLDER = GOLDEN / "leaderboard"
CARD = (
    "---\nlicense: mit\n---\r\n# VIST\n\n<!-- leaderboard:start -->\nold\n<!-- leaderboard:end -->\n"
    "The end,\r\n no newline"
)


@pytest.fixture
def records():
    """Two models with one metric of each direction, and one record of the embedded profile."""
    return read_records(FOLDER / "results.jsonl")


@pytest.fixture
def paper(records):
    """Records of the paper profile."""
    return [record for record in records if record.profile == "paper"]


def golden(name):
    return (FOLDER / name).read_bytes().decode("utf-8")


def only(exports):
    (export,) = exports
    return export


@pytest.fixture
def skipping():
    """Expected warning about omitted records."""
    with pytest.warns(UserWarning, match="ranks from high"):
        yield


# -- eval-results -----------------------------------------------------------------------------------------------------
@pytest.mark.sending
def test_eval_results_are_the_golden_file(paper):
    exports = eval_results(paper, lower_is_better="negate")
    assert [(one.kind, one.repository, one.path) for one in exports] == [
        ("model", "org/teller", ".eval_results/vlgauge-VIST-2.yaml"),
        ("model", "org/other", ".eval_results/vlgauge-VIST-2.yaml"),
    ]
    assert exports[0].content == golden("eval-results.yaml")


@pytest.mark.sending
def test_eval_results_come_back_through_the_hubs_classes(paper):
    from huggingface_hub import parse_eval_result_entries

    for export in eval_results(paper, lower_is_better="negate"):
        entries = parse_eval_result_entries(yaml.safe_load(export.content))
        own = [record for record in paper if record.model.id == export.repository]
        for entry, record in zip(entries, own, strict=True):
            sign = 1 if record.higher_is_better else -1
            assert (entry.value, entry.dataset_id) == (sign * record.value, record.dataset.id)
            assert entry.task_id == record.metric + ("" if record.higher_is_better else "_neg")
            assert (entry.dataset_revision, entry.date) == (record.dataset.revision, record.date)
            assert entry.notes.split("; ")[0] == record.signature
            assert ("negated" in entry.notes) == (not record.higher_is_better)
            assert (entry.source_url, entry.source_org) == (
                record.source and record.source.url,
                record.source and "org",
            )


@pytest.mark.sending
@pytest.mark.usefixtures("skipping")
def test_lower_is_better_is_left_out_unless_negated(paper):
    for export in eval_results(paper):
        assert [entry["dataset"]["task_id"] for entry in yaml.safe_load(export.content)] == ["groovist"]


@pytest.mark.sending
def test_negated_values_rank_the_better_model_higher(paper):
    from huggingface_hub import parse_eval_result_entries

    values = {}
    for export in eval_results(paper, lower_is_better="negate"):
        for entry in parse_eval_result_entries(yaml.safe_load(export.content)):
            values[export.repository, entry.task_id] = entry.value
    # The other model is better by both metrics.
    assert values["org/other", "groovist"] > values["org/teller", "groovist"]
    assert values["org/other", "trm_neg"] > values["org/teller", "trm_neg"]


@pytest.mark.sending
def test_zero_is_negated_without_a_sign(paper):
    zero = dataclasses.replace(paper[1], value=0.0)
    (entry,) = yaml.safe_load(only(eval_results([zero], lower_is_better="negate")).content)
    assert math.copysign(1.0, entry["value"]) == 1.0
    assert entry["notes"].endswith("; negated")


# -- model-index ------------------------------------------------------------------------------------------------------
def test_model_index_is_the_golden_file(paper):
    exports = model_index(paper)
    assert [(one.kind, one.repository, one.path) for one in exports] == [
        ("model", "org/teller", "README.md"),
        ("model", "org/other", "README.md"),
    ]
    assert exports[0].content == golden("model-index.md")


def test_model_index_comes_back_through_the_hubs_classes(paper):
    for export in model_index(paper):
        matter = yaml.safe_load(export.content.split("---\n")[1])
        name, results = model_index_to_eval_results(matter["model-index"])
        own = [record for record in paper if record.model.id == export.repository]
        assert name == own[0].model.name
        for result, record in zip(results, own, strict=True):
            assert isinstance(result, EvalResult)
            # Raw values in both directions.
            assert (result.metric_value, result.metric_type) == (record.value, f"vlgauge/{record.metric}")
            assert result.metric_args == {"signature": record.signature}
            assert (result.dataset_type, result.dataset_split) == (record.dataset.id, record.dataset.split)
            assert result.dataset_revision == record.dataset.revision
            assert result.source_url == (record.source and record.source.url)
        again = ModelCardData(**matter).to_dict()["model-index"]
        assert again == matter["model-index"]


def test_two_sources_of_one_data_set_are_refused(paper):
    moved = dataclasses.replace(paper[1], source=None)
    with pytest.raises(ValueError, match=r"source.*org/t"):
        model_index([paper[0], moved])


# -- dataset-card -----------------------------------------------------------------------------------------------------
def test_dataset_card_is_the_golden_file_and_keeps_every_other_letter(records):
    export = only(dataset_card(records, CARD))
    assert (export.kind, export.repository, export.path) == ("dataset", "org/vist", "README.md")
    assert export.content == golden("dataset-card.md")
    assert export.content.startswith(CARD[: CARD.index("old")])
    assert export.content.endswith(CARD[CARD.index("\n<!-- leaderboard:end") :])
    assert only(dataset_card(records, export.content)).content == export.content


def test_a_table_is_sorted_in_the_direction_of_its_metric(paper):
    whole = complete(paper)
    for records, order in ((whole, ["Other", "Teller | two"]), (worse(whole), ["Teller | two", "Other"])):
        for by in ("groovist", "trm"):
            table = records_table(records, by=by)
            assert [row[1].text for row in table.rows] == order
            assert [row[0].text for row in table.rows] == ["1", "2"]
            assert [[cell.bold for cell in row[2:4]] for row in table.rows] == [[True, True], [False, False]]


def complete(records):
    """Return records with a score in every row, by sets of one size."""
    signatures = {"trm": "|sets:5v5"}
    return [
        dataclasses.replace(
            one, ci=None, n=9, undefined=0, signature=f"{one.signature}{signatures.get(one.metric, '')}"
        )
        for one in records
    ]


def worse(records):
    """Return the same records with their values in reverse order."""
    return [dataclasses.replace(one, value=-one.value) for one in records]


def test_without_the_scores_of_the_rows_undefined_ones_leave_no_rank(paper):
    table = records_table(paper)
    # Both lack three stories by GROOViST, which may differ, and one has all stories by TRM.
    assert [row[0].text for row in table.rows] == ["-", "-"]
    assert not any(cell.bold for row in table.rows for cell in row)
    assert table.bold == ""
    assert table.unranked == {"GROOViST ↑", "TRM ↓"}
    assert tables(paper, form="html").count("data-unranked") == 2  # the page does not rank by them either
    assert "data-unranked" not in tables(complete(paper), form="html")
    told = "row scores are required to know which rows have no score."
    assert table.notes[1:3] == [f"No rank by {name}: {told}" for name in ("GROOViST", "TRM")]
    assert [[cell.text for cell in row[4:]] for row in table.rows] == [["4897", "3"], ["4897 to 4900", "0 to 3"]]
    # If the worse metric is complete, the other one has its rank.
    mixed = [one if one.metric == "trm" else dataclasses.replace(one, undefined=0) for one in paper]
    table = records_table(mixed)
    assert [[cell.bold for cell in row[2:4]] for row in table.rows] == [[True, False], [False, False]]
    assert table.bold == "the best value; #: the order by GROOViST; differences are not tested"


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ("|sets:2-10v5", "No rank by TRM: caption sets of different sizes, 2-10v5."),
        ("|sets:2-10v5@0123abcd", "No rank by TRM: caption sets of different sizes, 2-10v5@0123abcd."),
        ("", "No rank by TRM: the sizes of the sets are unknown."),
        ("|sets:5v5", None),
    ],
)
def test_sets_of_several_sizes_have_no_rank(paper, sizes, told):
    own = [one for one in complete(paper) if one.metric == "trm"]
    own = [dataclasses.replace(one, signature=one.signature.replace("|sets:5v5", sizes)) for one in own]
    table = records_table(own)
    assert [row[0].text for row in table.rows] == (["1", "2"] if told is None else ["-", "-"])
    assert any(cell.bold for row in table.rows for cell in row) == (told is None)
    assert told is None or told in table.notes


def test_one_value_of_a_column_is_not_the_best_of_several(paper):
    one, other = [own for own in complete(paper) if own.metric == "trm"]
    other = dataclasses.replace(other, signature=other.signature.replace("sets:5v5", "sets:10v5"))
    table = records_table([one, other], split_signatures=True)
    assert not any(cell.bold for row in table.rows for cell in row)


def test_ties_share_a_rank_and_what_is_absent_comes_last(paper):
    third = dataclasses.replace(paper[0], model=dataclasses.replace(paper[0].model, id="org/third"))
    fourth = dataclasses.replace(paper[1], model=dataclasses.replace(paper[1].model, id="org/fourth", name="Fourth"))
    table = records_table(complete([*paper, third, fourth]), by="groovist")
    assert [(row[0].text, row[1].text) for row in table.rows] == [
        ("1", "Other"),
        ("2", "org/teller"),  # distinguished by the id, because the names are equal
        ("2", "org/third"),
        ("-", "Fourth"),
    ]
    assert [row[2].text for row in table.rows][-1] == "-"
    assert [row[3].text for row in table.rows][2] == "-"


def test_signatures_are_never_mixed(paper):
    own = paper[0].signature.replace("theta:1", "theta:0.7")
    other = dataclasses.replace(paper[2], signature=own)
    with pytest.raises(ValueError, match=r"got 2.*0\.7"):
        records_table([paper[0], other])
    table = records_table([paper[0], other], split_signatures=True)
    assert table.header == ["#", "model", "GROOViST ↑ (1)", "GROOViST ↑ (2)", "n", "undefined"]
    assert [[cell.text for cell in row[2:4]] for row in table.rows] == [["0.831 [0.810, 0.852]", "-"], ["-", "0.900"]]
    assert table.notes[1:] == [f"(1) {paper[0].signature}", f"(2) {own}"]


def test_embedded_results_have_a_table_of_their_own_below(records):
    text = tables(records)
    first, second = text.split("VIST 2, default, test at bbbbbbbb")[1:]
    assert "embedded" not in first
    assert second.startswith(", with demo models of the embedded profile")
    assert "0.990" in second
    assert "0.990" not in first
    assert tables(records, form="html").count("<table>") == 2


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("nothing", "got 0"),
        (f"{CARD}{CARD}", "got 2"),
        ("<!-- leaderboard:end --> <!-- leaderboard:start -->", r"got 1.*swapped"),
        ("<!-- leaderboard:start -->", "got 1 and 0"),
    ],
)
def test_wrong_markers(records, card, message):
    with pytest.raises(ValueError, match=rf"^`card`.*{message}"):
        dataset_card(records, card)


def test_a_card_is_of_one_data_set(records):
    moved = dataclasses.replace(records[0], dataset=dataclasses.replace(records[0].dataset, id="org/b"))
    with pytest.raises(ValueError, match=r"got org/vist.*org/b.*--dataset"):
        dataset_card([*records, moved], CARD)
    with pytest.raises(ValueError, match=r"^`by`.*got 'bleu'"):
        dataset_card(records, CARD, by="bleu")


# -- eval-yaml, results-repository ------------------------------------------------------------------------------------
def test_eval_yaml_is_the_golden_file(paper):
    export = only(eval_yaml(paper, lower_is_better="negate"))
    assert (export.kind, export.repository, export.path) == ("dataset", "org/vist", "eval.yaml")
    assert export.content == golden("eval.yaml")
    tasks = yaml.safe_load(export.content)["tasks"]
    assert [task["id"] for task in tasks] == ["groovist", "trm_neg"]


@pytest.mark.usefixtures("skipping")
def test_eval_yaml_has_no_task_where_lower_is_better(paper):
    assert [task["id"] for task in yaml.safe_load(only(eval_yaml(paper, description="x")).content)["tasks"]] == [
        "groovist"
    ]


def test_a_results_repository_holds_records_tables_and_scores(records, tmp_path):
    exports = {
        one.path: one for one in results_repository(records, "org/results", {"org/teller": [run_of_record(records[0])]})
    }
    scores = "data/groovist/org--vist--default--test/org--teller.parquet"
    assert list(exports) == ["results.jsonl", "README.md", scores]
    assert {(one.kind, one.repository) for one in exports.values()} == {("dataset", "org/results")}
    (tmp_path / "results.jsonl").write_text(exports["results.jsonl"].content, encoding="utf-8")
    assert read_records(tmp_path / "results.jsonl") == records
    table = pq.read_table(io.BytesIO(exports[scores].content)).to_pydict()
    assert table["id"] == list(map(str, range(4900)))
    assert table["score"] == [0.8312] * 4897 + [None] * 3
    assert exports["README.md"].content == golden("results-repository.md")
    matter = yaml.safe_load(exports["README.md"].content.split("---\n")[1])
    assert matter["configs"] == [{"config_name": "groovist", "data_files": "data/groovist/*/*.parquet"}]


@pytest.mark.parametrize(
    ("metric", "tests"), [("rovist_nr", "paired sign-flip tests"), ("bleu", "tests that swap rows")]
)
def test_a_results_repository_has_the_rank_groups_of_its_scores(metric, tests):
    if metric == "bleu":
        words = [f"a dog number {row} runs on the grass" for row in range(8)]
        said = {"high": words, "low": ["a dog"] * 8, "low too": [*["a dog"] * 7, "a cat"]}
        runs = {name: bleu_run(own, words) for name, own in said.items()}
    else:
        runs = three_systems(rows=12, middle=0.5, scale=0.1)
    on = Dataset("org/vist", "VIST", "default", "test")
    records = [
        record_of(run, metric, Model(f"org/{name[-3:]}", name), on, date="2026-11-22") for name, run in runs.items()
    ]
    given = {record.model.id: [run] for record, run in zip(records, runs.values(), strict=True)}
    readme = results_repository(records, "org/results", given)[1].content
    rows = [line.split(" | ") for line in readme.splitlines() if line.startswith("| ")][2:]
    assert [(row[1], row[3]) for row in rows] == [("high", "1"), *((row[1], "2") for row in rows[1:])]
    assert f"Systems that share a group do not differ significantly in {tests} (Holm" in readme
    assert "bold: the first group; #: the order by" in readme
    assert "not tested" not in readme
    card = only(dataset_card(records, CARD, given)).content
    assert readme.partition("# Results\n\n")[2].strip() in card
    # Scores of some records.
    del given["org/igh"]
    readme = results_repository(records, "org/results", given)[1].content
    assert f"{tests} (0.05) of the 2 systems with row scores." in readme


def test_scores_of_no_record_are_refused(records):
    with pytest.raises(ValueError, match=r"org/teller.*been"):
        results_repository(records, "org/results", {"org/teller": [made_run([1], "groovist")]})
    with pytest.raises(ValueError, match=r"records.*org/other"):
        dataset_card(records, CARD, {"org/other": [made_run([1], "rovist_nr")]})


# -- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("export", [eval_results, model_index, eval_yaml])
def test_embedded_results_are_refused(records, export):
    with pytest.raises(ValueError, match="org/toy"):
        export(records)


@pytest.mark.sending
def test_one_number_per_model_data_set_and_metric(paper):
    other = dataclasses.replace(paper[0], dataset=dataclasses.replace(paper[0].dataset, split="val"))
    with pytest.raises(ValueError, match=r"org/teller.*org/vist.*groovist"):
        eval_results([paper[0], other])


@pytest.mark.sending
def test_unknown_direction(paper):
    with pytest.raises(ValueError, match=r"^`lower_is_better`.*got 'raw'"):
        eval_results(paper, lower_is_better="raw")


def test_golden_records_are_strict_json():
    for line in golden("results.jsonl").splitlines():
        assert json.loads(line)["schema"] == 1
