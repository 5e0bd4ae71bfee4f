"""Rows that are scored in batches of any sizes and order: the result equals the result of `compute`."""

import json
import math
import random
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from apart_cases import CASES, EMBEDDED, captioned, clips, drawn, sets, stories

import vlgauge
from vlgauge.core import catalog
from vlgauge.core.errors import UsageTypeError
from vlgauge.core.pool import pool
from vlgauge.families.aggregation import COUNTED
from vlgauge.families.base.parts import PartialResult
from vlgauge.families.set_sizes import add_set_sizes
from vlgauge.families.style import StyleTable
from vlgauge.integrations.batches import OF_BATCH, RowScorer
from vlgauge.integrations.scored_batches import ScoredBatches
from vlgauge.models.features.memory import process_memory
from vlgauge.models.judges.served import ServedJudge


def forget():
    """Forget all features, so that every image and text is encoded again."""
    process_memory.clear()
    for encoder in pool.encoders.values():
        if store := getattr(encoder, "store", None):
            store.clear()


def cut(columns, ids, sizes, seed, kind=dict):
    """Return the rows in batches, shuffled."""
    order = list(range(len(ids)))
    random.Random(seed).shuffle(order)
    batches = []
    while order:
        chosen, order = order[: sizes[0]], order[sizes[0] :]
        sizes = [*sizes[1:], sizes[0]]
        rows = {name: [cells[i] for i in chosen] for name, cells in columns.items()}
        batches.append(kind({"id": [ids[i] for i in chosen], **rows}))
    return batches


def score(scorer, batches):
    if scorer.needs_counts:
        scorer = scorer.with_counts([scorer.count_rows(batch) for batch in reversed(batches)])
    return scorer.combine([scorer.score_rows(batch) for batch in batches])


def assert_close(found, expected, place="", gap=1e-6):
    """Assert that results are equal, with a gap for floats because a model rounds differently in other batches."""
    if isinstance(expected, float):
        assert found == pytest.approx(expected, rel=gap, abs=gap, nan_ok=True), place
    elif isinstance(expected, dict):
        assert set(found) == set(expected), place
        for key, value in expected.items():
            assert_close(found[key], value, f"{place}/{key}", gap)
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_close(one, other, f"{place}[{i}]", gap)
    else:
        assert found == expected, place


def test_every_metric_has_a_case():
    assert sorted({name.partition("-")[0] for name in CASES}) == catalog.metric_names()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_batches_of_any_sizes_and_order_have_the_result_of_compute(case):
    settings, rows = CASES[case]
    name, columns = case.partition("-")[0], rows()
    n = len(columns["predictions"])
    scorer = RowScorer(name, **settings)
    forget()
    expected = vlgauge.load(name, keep_in_memory=True, progress=False, **settings).compute(**columns)
    for sizes, seed, kind in (([n], 0, dict), ([1, 3], 1, pa.Table.from_pydict)):
        forget()
        found = score(scorer, cut(columns, list(range(n)), sizes, seed, kind))
        assert found.pop("ids") == list(range(n))
        if (sizes := found.pop("sizes", None)) is not None:
            pairs = zip(columns["predictions"], columns.get("references", [[]] * n), strict=True)
            assert sizes == [(len(ours), len(theirs)) for ours, theirs in pairs]
            # Signatures as in `vlgauge score`.
            expected |= add_set_sizes(expected, sizes, range(n))
            assert "|sets:" in found[f"{name}_signature"]
        assert_close(found, expected, gap=1e-6 if "profile" in settings else 1e-11)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", COUNTED)
def test_counts_and_values_that_are_computed_from_them_are_equal(name):
    settings, rows = CASES[name]
    columns = rows()
    expected = vlgauge.load(name, keep_in_memory=True, progress=False, **settings).compute(**columns)
    found = score(RowScorer(name, **settings), cut(columns, list(range(len(columns["predictions"]))), [2, 3], 5))
    counts = [f"{name}_{column}" for column in COUNTED[name].columns]
    for key in (name, *COUNTED[name].others, *counts):
        np.testing.assert_array_equal(found[key], expected[key])


@pytest.mark.parametrize("kind", [pa.Table.from_pydict, pa.RecordBatch.from_pydict, pd.DataFrame, dict])
def test_what_comes_back_is_of_the_same_kind(kind):
    scorer = RowScorer("bleu")
    batch = cut(captioned(), list("abcdefg"), [7], 0, kind)[0]
    scored = scorer.score_rows(batch)
    assert type(scored) is type(batch)
    assert scorer.combine([scored])["ids"] == list("abcdefg")


def test_rows_may_be_put_together_and_moved_between_scoring_and_combining():
    scorer = RowScorer("trm", pvalue="exact")
    with pytest.warns(UserWarning, match="sizes"):
        expected = score(scorer, cut(sets(), list("abcdefg"), [7], 0))
    parts = [scorer.score_rows(batch) for batch in cut(sets(), list("abcdefg"), [2], 0, pa.Table.from_pydict)]
    moved = pa.concat_tables(parts[::-1]).take([6, 0, 5, 1, 4, 2, 3])
    with pytest.warns(UserWarning, match="sizes"):
        assert_close(scorer.combine([moved.slice(3), moved.slice(0, 3)]), expected, gap=1e-11)


def test_draws_come_from_the_ids_and_not_from_the_places():
    columns = {name: cells[3:] for name, cells in sets().items()}
    columns["references"][2] = columns["references"][2][:3]
    found = {}
    for ids in ("abcd", "bcda", "wxyz"):
        scorer = RowScorer("trm", pvalue="exact", distance="rouge_l", permutations=499)
        record = score(scorer, cut(columns, list(ids), [2], 4))
        found[ids] = record["trm_pvalue"]
        assert sorted(record["trm_pvalues"]) == sorted(
            vlgauge.load("trm", pvalue="exact", distance="rouge_l").compute(**columns)["trm_pvalues"]
        )
    assert len(set(found.values())) > 1


def test_columns_may_be_called_otherwise(tmp_path):
    columns = drawn()
    for i, data in enumerate(columns["images"]):
        (tmp_path / f"{i}.png").write_bytes(data)
    rows = {"key": [f"{i}" for i in range(6)], "said": columns["predictions"], "images": [f"{i}.png" for i in range(6)]}
    names = {"predictions": "said"}
    scorer = RowScorer("clip_s", id="key", columns=names, folder=str(tmp_path), **EMBEDDED)
    assert scorer.titles == ["key", "said", "images", "references"]
    expected = vlgauge.load("clip_s", **EMBEDDED).compute(predictions=rows["said"], images=columns["images"])
    assert_close(scorer.combine([scorer.score_rows(rows)])["clip_s_scores"], expected["clip_s_scores"])


# Errors -------------------------------------------------------------------------------------------------------------
ROW = {"id": ["a"], "predictions": ["a dog"], "references": [["a dog"]]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, r"^`batch`.*predictions.*references"),
        ({"id": None, "references": None}, "references, got predictions"),
        ({"id": [None]}, r"^`id`.*got None"),
        ({"id": [True]}, r"^`id`.*got True"),
        ({"id": [1.5]}, r"^`id`.*got 1\.5"),
        ({"predictions": [7]}, r"'a'.*`predictions\[0\]`.*got int"),
    ],
)
def test_wrong_batches_are_refused(change, message):
    batch = {name: cells for name, cells in (ROW | change).items() if cells is not None}
    with pytest.raises(ValueError, match=message):
        RowScorer("bleu").score_rows(batch)


def test_the_row_that_a_metric_refuses_is_named():
    rows = {"id": [4, 5], "predictions": ["a", "b"], "images": [drawn()["images"][0], b"no picture"]}
    with pytest.raises(ValueError, match=r"id 5.*images\[0\]"):
        RowScorer("clip_s", **EMBEDDED).score_rows(rows)


def test_a_batch_of_another_kind_is_refused():
    scorer = RowScorer("bleu")
    with pytest.raises(UsageTypeError, match=r"^`batch`.*pandas"):
        scorer.score_rows([1, 2])
    for one in (scored(), [3], [None], "scored.parquet"):
        with pytest.raises(UsageTypeError, match=r"^`batch`.*pandas"):
            scorer.combine(one)


def scored(**changes):
    return RowScorer("bleu").score_rows(ROW | changes)


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([], r"^`scored`.*got none"),
        ([scored(), scored()], r"^`id`.*got 'a'.*2 times"),
        ([scored(), scored(id=[1])], r"^`id`.*got int"),
        ([{**scored(), OF_BATCH: [None]}], r"`score_rows`.*got 1"),
        ([scored(), {"id": [], OF_BATCH: scored()[OF_BATCH]}], r"got 1.*scored"),
    ],
)
def test_what_cannot_be_combined_is_refused(batches, message):
    with pytest.raises(ValueError, match=message):
        RowScorer("bleu").combine(batches)


def test_rows_of_other_settings_are_refused():
    others = [RowScorer("rovist_nr", n=n).score_rows({"id": [n], **stories(1)}) for n in (3, 4)]
    with pytest.raises(ValueError, match="`rovist_nr_signature`"):
        RowScorer("rovist_nr").combine(others)


def test_stories_of_two_forms_are_refused_across_batches():
    scorer = RowScorer("rovist_nr")
    forms = ({"id": [1], "predictions": ["One. Two."]}, {"id": [2], "predictions": [["One.", "Two."]]})
    with pytest.raises(ValueError, match="list of sentences"):
        scorer.combine([scorer.score_rows(batch) for batch in forms])


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("trm", {"distance": "precomputed"}, "`distance='precomputed'`"),
        (
            "clip_s",
            {"config_name": "video", "variant": "emscore"},
            "`variant='emscore'`",
        ),
    ],
)
def test_what_cannot_be_scored_apart_is_refused_with_the_reason(name, settings, message):
    with pytest.raises(ValueError, match=message):
        RowScorer(name, **settings)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match=r"^`columns`.*got 'prediction'"):
        RowScorer("bleu", columns={"prediction": "x"})
    with pytest.raises(TypeError, match=r"^`nn`.*rovist_nr"):
        RowScorer("rovist_nr", nn=3)


# Warnings -----------------------------------------------------------------------------------------------------------
def test_warnings_of_rows_add_up_and_come_when_all_are_there():
    long = "word " * 90
    rows = {"id": list(range(4)), **{key: cells[:4] for key, cells in drawn().items() if key != "references"}}
    rows["predictions"] = [long, long, "", rows["predictions"][3]]
    scorer = RowScorer("clip_s", **EMBEDDED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scored = scorer.score_rows(rows)
    with pytest.warns(UserWarning, match="and") as told:
        scorer.combine([scored])
    messages = sorted(str(one.message) for one in told)
    assert messages == [
        "1 captions and references are empty and were scored as such",
        "2 captions and references have more than 77 tokens and were cut",
    ]


def test_the_share_of_other_scripts_is_of_all_batches():
    scorer = RowScorer("clip_s", **EMBEDDED)
    images = drawn()["images"][:1] * 10
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for n_other in (2, 3):
            captions = ["собака бежит"] * n_other + ["a dog runs"] * (20 - n_other)
            halves = [
                scorer.score_rows({"id": ids, "predictions": captions[ids[0] : ids[-1] + 1], "images": images})
                for ids in (list(range(10)), list(range(10, 20)))
            ]
            scorer.combine(halves)
    scripts = [str(one.message) for one in told if "script" in str(one.message)]
    assert [text.partition(" not")[0] for text in scripts] == ["3 of 20 captions are"]


def test_warnings_of_many_kinds_are_counted():
    scorer = RowScorer("bleu")
    many = {f"warning: rows of kind {i:02}": i + 1 for i in range(23)} | {"warning: told once": 0}
    scored = scorer.score_rows(ROW)
    of_batch = json.loads(scored[OF_BATCH][0])
    scored[OF_BATCH] = [json.dumps(of_batch | {"sums": of_batch["sums"] | many})]
    with pytest.warns(UserWarning, match="kind|once") as told:
        scorer.combine([scored])
    messages = [str(one.message) for one in told]
    assert messages[0] == "1 rows of kind 00"
    assert messages[-1] == "4 more kinds of warnings came from individual batches"


def test_few_documents_warn_once():
    scorer, batches = RowScorer("cider"), cut(captioned(), list("abcdefg"), [3], 0)
    counted = [scorer.count_rows(batch) for batch in batches]
    assert not RowScorer("rouge_l").needs_counts
    counted_scorer = scorer.with_counts(counted)
    with pytest.warns(UserWarning, match=r"references.*6 rows") as told:
        scores = [counted_scorer.score_rows(batch) for batch in batches]
    assert len(told) == 1
    assert math.isnan(counted_scorer.combine(scores)["cider_scores"][3])


# Tables over the corpus ---------------------------------------------------------------------------------------------
def test_no_references_to_count_words_in_are_refused():
    columns = clips() | {"references": [None] * 4}
    scorer = RowScorer("clip_s", config_name="video", idf="references", **EMBEDDED)
    counted = scorer.count_rows(cut(columns, list(range(4)), [4], 0)[0])
    with pytest.raises(ValueError, match=r"^`idf='references'`.*got none"):
        scorer.with_counts([counted]).metric  # noqa: B018  # loads it


def test_frames_of_two_kinds_are_both_in_the_signature():
    metric = RowScorer("clip_s", config_name="video", **EMBEDDED).metric

    def combined(*signatures):
        texts = {"clip_s_signature": frozenset(signatures)}
        return metric.combine(PartialResult(1, {"clip_s_scores": [0.5]}, texts=texts))["clip_s_signature"]

    signed = [f"clip_s|v:1|frames:{frames}|on_error:raise" for frames in ("10", "given")]
    assert combined(*signed) == "clip_s|v:1|frames:10+given|on_error:raise"
    with pytest.raises(ValueError, match="same settings"):
        combined(*signed, "clip_s|v:2|frames:10|on_error:raise")


def test_an_empty_batch_has_no_rows():
    scorer = RowScorer("bleu")
    empty = scorer.score_rows({"id": [], "predictions": [], "references": []})
    assert empty == {"id": [], OF_BATCH: []}
    assert scorer.combine([empty, scorer.score_rows(ROW)])["ids"] == ["a"]


def test_numbers_of_numpy_are_ids():
    frame = pd.DataFrame({"id": np.arange(3), "predictions": ["a", "b", "c"], "references": [["a"]] * 3})
    scorer = RowScorer("rouge_l")
    assert scorer.combine([scorer.score_rows(frame)])["ids"] == [0, 1, 2]


def test_a_run_with_another_table_or_server_is_another_run(tmp_path):
    tables = [StyleTable.fit(["a dog", text], ["plain", "angry"]) for text in ("a cat", "a sea")]
    ScoredBatches(tmp_path / "style", RowScorer("onlystyle", table=tables[0]).describe())
    ScoredBatches(tmp_path / "style", RowScorer("onlystyle", table=tables[0]).describe())
    with pytest.raises(ValueError, match=r"settings \(table"):
        ScoredBatches(tmp_path / "style", RowScorer("onlystyle", table=tables[1]).describe())
    judges = [ServedJudge("http://127.0.0.1:8000/v1", name) for name in ("one", "other")]
    ScoredBatches(tmp_path / "judge", RowScorer("clair", model=judges[0]).describe())
    with pytest.raises(ValueError, match=r"differs in settings.*model"):
        ScoredBatches(tmp_path / "judge", RowScorer("clair", model=judges[1]).describe())


def test_sandboxed_rows_are_not_decoded_here_and_have_the_same_numbers(monkeypatch):
    columns = {name: drawn()[name] for name in ("predictions", "images")}
    rows = {"id": list(range(6)), **columns}
    scorers = {sandbox: RowScorer("clip_s", sandbox=sandbox, **EMBEDDED) for sandbox in (False, True)}

    def score(sandbox):
        forget()
        return scorers[sandbox].combine([scorers[sandbox].score_rows(rows)])

    direct = score(sandbox=False)
    monkeypatch.setattr("vlgauge.inputs.images.cells.decode_image", None)
    assert score(sandbox=True) == direct
    assert scorers[True].describe() == scorers[False].describe()
    with pytest.raises(TypeError):
        score(sandbox=False)
