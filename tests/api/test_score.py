"""`vlgauge.score`: the numbers of `compute` and of the command, from any table, and its outputs."""

import json
import math
import random
import warnings

import apart_cases
import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from folders import EXAMPLES
from made_data_sets import archive

import vlgauge
from vlgauge.api.numbers import numbers_table, summary
from vlgauge.cli import main
from vlgauge.core.catalog import metric_names
from vlgauge.core.signatures import DEMO_NUMBERS
from vlgauge.leaderboard import read_records
from vlgauge.leaderboard.runs import read_run
from vlgauge.models.clip.encoder import ClipEncoder

# Data by the inputs of a metric. Every metric is scored on one of them.
BUNDLED = {
    **dict.fromkeys(("rovist", "rovist_c", "rovist_nr", "rovist_vg", "groovist"), "drawn_stories.jsonl"),
    **dict.fromkeys(("diversity", "trm", "mmd_bert", "frechet_bert"), "caption_sets.jsonl"),
}
OWN_FILES = {"d_hm", "onlystyle", "stylecider"}  # a configuration, or two files


def texts(n=6):
    """Return captions with references, with column names of another table."""
    columns = apart_cases.captioned()
    return pd.DataFrame({"caption": columns["predictions"], "refs": columns["references"]})[:n]


def columned(**more):
    return {"predictions": "caption", "references": "refs", **more}


def told(result):
    """Return a result as a string in which NaN equals NaN and all bits of a number are visible."""
    return json.dumps({key: value for key, value in result.items() if not key.endswith("_signature")})


@pytest.mark.parametrize("case", apart_cases.CASES)
@pytest.mark.filterwarnings("ignore")
def test_a_frame_gives_the_numbers_of_compute_to_the_last_bit(case):
    settings, rows_of = apart_cases.CASES[case]
    name = next(one for one in sorted(metric_names(), key=len, reverse=True) if case.startswith(one))
    columns = {key: list(cells) for key, cells in rows_of().items()}
    metric = vlgauge.load(name, keep_in_memory=True, **settings)
    read = {column.name for column in metric.columns}
    own = {key: cells for key, cells in columns.items() if key in read}
    n_rows = len(columns["predictions"])
    # Duplicate labels, and an unused column.
    frame = pd.DataFrame({**columns, "other": range(n_rows)}, index=[f"row {i // 2}" for i in range(n_rows)])
    scores = vlgauge.score(frame, metric)
    assert told(scores.results[name]) == told(metric.compute(**own))
    assert list(scores.rows.index) == list(frame.index)
    assert list(scores.rows.columns[: len(frame.columns)]) == list(frame.columns)
    assert scores.rows[name].tolist() == pytest.approx(scores.results[name][f"{name}_scores"], abs=0, nan_ok=True)


@pytest.mark.parametrize("name", sorted(set(metric_names()) - OWN_FILES))
@pytest.mark.filterwarnings("ignore")
def test_a_file_gives_the_numbers_of_the_command(name, capsys):
    file = str(EXAMPLES / BUNDLED.get(name, "captioned_scenes.jsonl"))
    assert main(["score", name, file, "--profile", "embedded", "--limit", "2", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    scores = vlgauge.score(file, name, profile="embedded", limit=2)
    assert json.loads(scores.to_json()) == printed
    rows = [json.loads(line) for line in (EXAMPLES / file).read_text("utf-8").splitlines()[:2]]
    for row in rows:  # paths of tables in memory are relative to the working folder
        if "images" in row:
            images = row["images"] if isinstance(row["images"], list) else [row["images"]]
            row["images"] = [str(EXAMPLES / image) for image in images]
    assert told(vlgauge.score(rows, name, profile="embedded").run()) == told(scores.run())


TABLES = {
    "pandas": lambda frame: frame,
    "arrow": lambda frame: pa.Table.from_pandas(frame),
    "arrow interface": lambda frame: Stream(pa.Table.from_pandas(frame)),
    "data set": lambda frame: datasets.Dataset.from_pandas(frame),
    "dicts": lambda frame: frame.to_dict("records"),
    "arrow strings": lambda frame: frame.astype({"caption": pd.ArrowDtype(pa.string())}),
    "categories": lambda frame: frame.astype({"caption": "category"}),
    "objects": lambda frame: frame.astype({"caption": object}),
    "arrow lists": lambda frame: frame.astype({"refs": pd.ArrowDtype(pa.list_(pa.string()))}),
    "chunked": lambda frame: pa.concat_tables([pa.Table.from_pandas(frame[:2]), pa.Table.from_pandas(frame[2:])]),
}


class Stream:
    """Table of another library that has only the Arrow C interface."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.filterwarnings("ignore:CIDEr-D takes")
def test_every_kind_of_table_has_the_same_scores(kind):
    frame = texts()
    expected = vlgauge.score(frame, "cider,rouge_l", **columned())
    scores = vlgauge.score(TABLES[kind](frame), "cider,rouge_l", **columned())
    assert told(scores.results["cider"]) == told(expected.results["cider"])
    assert told({"rows": scores.rows["rouge_l"].tolist()}) == told({"rows": expected.rows["rouge_l"].tolist()})
    assert [*scores.rows.columns] == ["caption", "refs", "cider", "rouge_l"]


def test_parquet_read_by_pandas_has_lists_of_texts(tmp_path):
    texts().to_parquet(tmp_path / "captions.parquet")
    read = pd.read_parquet(tmp_path / "captions.parquet")
    scores = vlgauge.score(read, "rouge_l", **columned())
    assert told(scores.run()) == told(vlgauge.score(texts(), "rouge_l", **columned()).run())


def test_images_of_a_data_set_stay_undecoded(monkeypatch):
    columns = apart_cases.drawn(3)
    table = datasets.Dataset.from_dict({"caption": columns["predictions"], "picture": columns["images"]})
    table = table.cast_column("picture", datasets.Image())
    monkeypatch.setattr(datasets.Image, "decode_example", lambda *_, **__: pytest.fail("a picture was decoded"))
    scores = vlgauge.score(table, "clip_s", predictions="caption", images="picture", profile="embedded")
    metric = vlgauge.load("clip_s", profile="embedded", keep_in_memory=True)
    expected = metric.compute(predictions=columns["predictions"], images=columns["images"])
    assert scores.results["clip_s"]["clip_s_scores"] == expected["clip_s_scores"]


def test_images_are_encoded_once_for_all_metrics(monkeypatch):
    seen = []
    monkeypatch.setattr(
        ClipEncoder, "_count", lambda self, side, items: seen.append(items) if side == "image" else None
    )
    images = [np.full((40, 40, 3), grey, np.uint8) for grey in (11, 97, 203)]  # not used in other tests
    frame = pd.DataFrame({"predictions": ["a grey square"] * 3, "images": images})
    vlgauge.score(frame, "clip_s,pac_s", profile="embedded").explain(0)
    assert sum(seen) == 3


def test_several_columns_are_references_side_by_side_and_missing_ones_none():
    frame = pd.DataFrame({"caption": ["a dog"] * 3, "a": ["a dog", None, "a cat"], "b": ["one dog", "dogs", pd.NA]})
    for kind in ("object", "string", "category"):
        scores = vlgauge.score(frame.astype(kind), "rouge_l", predictions="caption", references=["a", "b"])
        assert scores.columns["references"] == [["a dog", "one dog"], ["dogs"], ["a cat"]]


INDEXES = {
    "strings": lambda n: [f"row {i}" for i in range(n)],
    "repeated": lambda n: [i // 3 for i in range(n)],
    "days": lambda n: pd.date_range("2026-01-01", periods=n),
    "numbers": lambda n: [i / 2 for i in range(n)],
    "pairs": lambda n: pd.MultiIndex.from_tuples([("a", i) for i in range(n)]),
}
KINDS = ("object", "str", "string", "string[pyarrow]", "category", "large_string[pyarrow]")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore:ids should name", "ignore:CIDEr-D takes", "ignore:.*cells in the column")
def test_random_frames_have_the_numbers_of_lists(seed):
    rng = random.Random(seed)
    n = rng.randint(4, 30)
    captions = ["", *(apart_cases.caption(rng) for _ in range(n - 1))]
    people = [[apart_cases.caption(rng) for _ in range(rng.randint(1, 3))] for _ in range(n)]
    index = rng.choice(list(INDEXES))
    frame = pd.DataFrame({"said": captions, "people": people}, index=INDEXES[index](n))
    frame["said"] = frame["said"].astype(rng.choice(KINDS))
    frame["other"] = [rng.choice([None, 1.5, math.nan]) for _ in range(n)]
    frame = frame[rng.sample(list(frame.columns), 3)]
    scores = vlgauge.score(frame, "cider,chrf,bleu", predictions="said", references="people")
    for name, result in scores.results.items():
        expected = vlgauge.load(name, keep_in_memory=True).compute(predictions=captions, references=people)
        assert told(result) == told(expected)
        assert result[f"{name}_signature"] == expected[f"{name}_signature"]
    pd.testing.assert_frame_equal(scores.rows[frame.columns.tolist()], frame)


def test_an_archive_is_read_as_the_command_reads_it(tmp_path, capsys):
    path = str(archive(tmp_path / "rows.tar", apart_samples()))
    assert main(["score", "clip_s", path, "--profile", "embedded", "--format", "json"]) == 0
    there = capsys.readouterr()
    scores = vlgauge.score(path, "clip_s", profile="embedded", progress=False)
    assert json.loads(scores.to_json()) == json.loads(there.out)
    assert 'columns used: predictions="txt" images="png"' in capsys.readouterr().err
    assert scores.rows["clip_s"].tolist() == scores.results["clip_s"]["clip_s_scores"]
    with pytest.raises(ValueError, match=r"^`videos`"):
        vlgauge.score(path, "rouge_l", videos="png")


def apart_samples():
    """Return members of an archive: three images, each with its caption."""
    rows = apart_cases.drawn(3)
    pairs = zip(rows["images"], rows["predictions"], strict=True)
    return [
        member
        for i, (image, text) in enumerate(pairs)
        for member in ((f"{i:03}.png", image), (f"{i:03}.txt", text.encode()))
    ]


def test_rows_are_named_by_a_column_the_index_or_their_numbers():
    frame = texts(3)
    assert vlgauge.score(frame, "rouge_l", **columned()).ids == [0, 1, 2]
    frame.index = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    assert vlgauge.score(frame, "rouge_l", **columned()).ids == ["('a', 1)", "('a', 2)", "('b', 1)"]
    frame["name"] = ["x", "y", "z"]
    assert vlgauge.score(frame, "rouge_l", **columned(id="name")).ids == ["x", "y", "z"]
    assert vlgauge.score(frame.set_index("name"), "rouge_l", **columned(id="name")).ids == ["x", "y", "z"]
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        vlgauge.score(texts(3).set_axis(["x", "x", "y"]), "rouge_l", **columned())


def test_a_part_of_the_rows_keeps_its_index():
    frame = texts().set_axis(list("abcdef"))
    scores = vlgauge.score(frame, "rouge_l", **columned(skip=2, limit=3))
    assert list(scores.rows.index) == ["c", "d", "e"] == scores.ids
    assert frame.columns.tolist() == ["caption", "refs"]  # the table of the user is unchanged


def test_the_summary_has_value_interval_direction_and_signature():
    scores = vlgauge.score(texts(), "rouge_l,bleu", **columned())
    summary = scores.summary()
    line = summary.loc["rouge_l"]
    assert line["value"] == scores.results["rouge_l"]["rouge_l"]
    assert line["low"] < line["value"] < line["high"]
    assert (line["n"], line["undefined"], line["better"], line["range"]) == (5, 1, "higher", "[0, 1]")
    assert line["signature"] == scores.results["rouge_l"]["rouge_l_signature"]
    shorter = summary.loc["bleu_1"]
    assert shorter["low"] < shorter["value"] < shorter["high"]
    assert "rouge_l_undefined" not in summary.index
    narrower = scores.summary(confidence=0.5).loc["rouge_l"]
    assert line["low"] < narrower["low"]


def test_the_summary_has_the_range_of_another_score_where_it_is_known():
    frame = pd.DataFrame({"caption": ["a dog on a bench", "a cat"], "refs": [["a dog"], ["a cat"]]})
    summary = vlgauge.score(frame, "chair", **columned()).summary()
    assert summary.loc[["chair", "chair_s"], "range"].tolist() == ["[0, 1]", "[0, 1]"]


def test_scores_are_written_as_the_command_writes_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts().to_json("rows.jsonl", orient="records", lines=True)
    words = ["score", "rouge_l,bleu", "rows.jsonl", "--predictions", "caption", "--references", "refs", "--quiet"]
    scores = vlgauge.score("rows.jsonl", "rouge_l,bleu", **columned())
    for ending, write in (("json", scores.to_json), ("csv", scores.to_csv), ("parquet", scores.to_parquet)):
        assert main([*words, "--output", f"there.{ending}"]) == 0
        write(tmp_path / f"here.{ending}")
        assert (tmp_path / f"here.{ending}").read_bytes() == (tmp_path / f"there.{ending}").read_bytes()
        assert read_run(f"here.{ending}", ["rouge_l"]) is not None
    assert scores.to_csv() == (tmp_path / "here.csv").read_text("utf-8")
    with pytest.raises(ValueError, match=r"^`path`.*got 'here\.txt'"):
        scores.to_csv("here.txt")


def test_reasons_come_when_they_are_asked_for():
    scores = vlgauge.score(texts().set_axis(list("abcdef")), "rouge_l,bleu", **columned())
    reasons = scores.explain("b")
    assert reasons.row == 1
    assert reasons.scores["bleu"] == scores.results["bleu"]["bleu_scores"][1]
    assert repr(reasons).count("\n") == 1
    assert "rouge_l" in reasons.html()
    assert reasons._repr_html_().startswith("<iframe")
    assert "undefined" not in repr(scores.explain(0))
    with pytest.raises(ValueError, match=r"^`row`.*ID.*0 rows"):
        scores.explain("z")
    with pytest.raises(IndexError, match=r"^`row`.*0 to 5.*got 6"):
        scores.explain(6)


def test_a_report_is_that_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts().to_json("rows.jsonl", orient="records", lines=True)
    words = ["score", "rouge_l", "rows.jsonl", "--predictions", "caption", "--references", "refs", "--quiet"]
    assert main([*words, "--report", "there.html"]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # warnings are not repeated
        vlgauge.score("rows.jsonl", "rouge_l", **columned()).report("here.html")
    assert (tmp_path / "here.html").read_text("utf-8") == (tmp_path / "there.html").read_text("utf-8")


def test_records_are_added_to_a_file(tmp_path):
    file = tmp_path / "results.jsonl"
    scores = vlgauge.score(texts(), "rouge_l,bleu", **columned())
    given = {"model": "org/captioner", "dataset": "org/pictures", "date": "2026-01-01"}
    assert [record.metric for record in scores.record(file, **given)] == ["rouge_l", "bleu"]
    assert scores.record(file, **given) == []  # the records exist already
    assert read_records(file) == scores.record(**given)
    with pytest.raises(ValueError, match=r"^`scores`.*got 'rouge'.*`rouge_l`"):
        scores.record(scores=["rouge"], **given)


def test_the_notebook_shows_numbers_without_a_colour_of_its_own():
    columns = apart_cases.drawn(3)
    frame = pd.DataFrame({"predictions": columns["predictions"], "images": columns["images"]})
    shown = vlgauge.score(frame, "clip_s", profile="embedded")._repr_html_()
    assert "clip_s (demo) \N{UPWARDS ARROW}" in shown
    assert "meaningless for photographs" in shown
    assert "clip_s|v:" in shown
    assert "#" not in shown.partition("</style>")[0]
    assert "clip_s_undefined" not in shown


@pytest.mark.filterwarnings("ignore")
def test_a_demo_model_is_named_next_to_its_numbers_in_the_terminal_too():
    scores = vlgauge.score(str(EXAMPLES / "captioned_scenes.jsonl"), "clip_s,rouge_l", profile="embedded", limit=2)
    demos = [line for line in repr(scores).splitlines() if "demo models" in line]
    assert demos == [f"clip_s: scores of demo models, which {DEMO_NUMBERS}"]


def test_a_small_pvalue_of_the_corpus_is_not_shown_as_zero():
    result = {"trm": 0.5, "trm_scores": [0.5, 0.5], "trm_pvalue": 1e-5, "trm_signature": "trm|v:1|profile:paper"}
    assert "trm_pvalue  1.0e-05" in summary({"trm": result}, [0, 1], ["a", "b"], 0)
    table = numbers_table({"trm": result})
    assert [row[1].text for row in table.rows if row[0].text == "trm_pvalue"] == ["1.0e-05"]


def test_loaded_metrics_keep_their_settings():
    metric = vlgauge.load("chrf", word_order=2, keep_in_memory=True)
    scores = vlgauge.score(texts(), [metric, "rouge_l"], **columned())
    assert list(scores.results) == ["chrf", "rouge_l"]
    assert "word_order:2" in scores.results["chrf"]["chrf_signature"]


FRAME = texts(3)
TWICE = pd.concat([FRAME, FRAME["caption"]], axis=1)
REFUSED = {
    "no table": (["a dog"], {}, TypeError, "`rows` must be a DataFrame, an Arrow table"),
    "columns": ({"caption": ["a"]}, {}, TypeError, r"pandas\.DataFrame"),
    "one column": (
        FRAME["caption"],
        {},
        TypeError,
        "got (a Series of one column; convert it to a DataFrame|Series; convert it to a list of dicts)",
    ),
    "number as title": (
        FRAME,
        {"references": 1},
        TypeError,
        r"^`references`.*got 1",
    ),
    "numbers as titles": (FRAME, {"references": ["refs", 1]}, TypeError, r"^`references`.*got 1"),
    "no rows": (FRAME[:0], {}, ValueError, r"^`rows`.*got none"),
    "skipped": (FRAME, {"skip": 3}, ValueError, r"got none.*after"),
    "skipped rows of a data set": (datasets.Dataset.from_pandas(FRAME), {"skip": 3}, ValueError, r"got none.*after"),
    "twice": (TWICE, {}, ValueError, r"^`rows`.*got 'caption'"),
    "splits": (
        datasets.DatasetDict(test=datasets.Dataset.from_pandas(FRAME)),
        {},
        TypeError,
        r'^`rows`.*"test"',
    ),
    "no splits": (datasets.DatasetDict(), {}, TypeError, "^`rows`.*one of its splits"),
    "stream": (
        datasets.Dataset.from_pandas(FRAME).to_iterable_dataset(),
        {},
        TypeError,
        r"^`rows`.*stream",
    ),
    "taken": (FRAME.assign(rouge_l=1.0), {}, ValueError, r"^`rows`.*'rouge_l'"),
    "title": (FRAME, {"predictions": "captoin"}, ValueError, r'choose with predictions="caption" \(.*\)$'),
    "style": (FRAME, {"styles": "refs"}, ValueError, r"^`styles`.*rouge_l"),
    "split": (FRAME, {"split": "test"}, ValueError, r"^`split`"),
    "absent": (
        FRAME.assign(caption=pd.array(["a", pd.NA, None], dtype="string")),
        {},
        ValueError,
        r"^`rows`.*2 of 3.*row 1",
    ),
    "file": (
        "rows.xlsx",
        {},
        FileNotFoundError,
        r"^`rows`.*got 'rows\.xlsx'",
    ),
    "archive": ("rows.tar", {}, FileNotFoundError, r"^`rows`.*got 'rows\.tar'"),
    "texts": (
        ["a dog"],
        {},
        TypeError,
        r"^`rows`.*column name",
    ),
    "lists": ([["a", "b"]], {}, TypeError, "^`rows` must be .* got list; convert it to a list of dicts"),
    "number": (3, {}, TypeError, r"^`rows`.*got int"),
    "no ids": (
        FRAME,
        {"id": "ref"},
        ValueError,
        "`id`",
    ),
    "null": (
        FRAME.assign(refs=[["a", None]] * 3),
        {},
        ValueError,
        r"^`references\[0\]\[1\]`.*got NoneType",
    ),
    "nulls": (FRAME.assign(refs=None), {}, ValueError, r"^`references\[0\]`.*got NoneType"),
    "system": (
        FRAME,
        {"system": "modl"},
        TypeError,
        r"^vlgauge\.score\(\) got .*'system'",
    ),
    "unknown": (FRAME, {"limmit": 3}, TypeError, r"'limmit'.*`limit`"),
    "limit": (FRAME, {"limit": 0}, ValueError, r"^`limit`.*at least 1.*got 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_table_is_told_in_a_sentence(case):
    rows, more, kind, match = REFUSED[case]
    with pytest.raises(kind, match=match) as caught:
        vlgauge.score(rows, "rouge_l", **{**columned(), **more})
    assert "\n" not in str(caught.value)
    assert not {"FILE", "--"} & set(str(caught.value).split())


def test_the_file_that_was_meant_is_named(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"predictions": "a dog", "references": ["a dog"]}\n')
    with pytest.raises(FileNotFoundError, match=r"`rows\.jsonl`"):
        vlgauge.score(tmp_path / "row.jsonl", "rouge_l")


def test_what_was_not_given_is_named_at_once():
    with pytest.raises(TypeError, match=r"^vlgauge\.score\(\) requires `rows` and `metrics`"):
        vlgauge.score()
    scores = vlgauge.score(texts(), "rouge_l", **columned())
    with pytest.raises(TypeError, match=r"^Scores\.record\(\) requires `dataset`.*dataset="):
        scores.record(model="me")


@pytest.mark.parametrize(
    ("metrics", "more", "match"),
    [
        ("rouge", {}, "`rouge_l`"),
        ("", {}, r"^`metrics`.*got ''"),
        ("rouge_l,bleu,rouge_l", {}, r"^`metrics`.*got 'rouge_l'"),
        ("rouge_l,rougel", {}, r"^`metrics`.*got 'rougel'"),
        ([vlgauge.load("bleu")], {"profile": "paper"}, r"^`profile`"),
        (["bleu", 3], {}, r"^`metrics`.*`vlgauge\.load`.*got int"),
    ],
)
def test_wrong_metrics_are_told_in_a_sentence(metrics, more, match):
    with pytest.raises((ValueError, TypeError), match=match):
        vlgauge.score(texts(), metrics, **columned(), **more)


@pytest.mark.filterwarnings("ignore:`references` has .* empty strings")
def test_a_blank_reference_is_in_no_size_and_no_page(tmp_path):
    rows = [{"predictions": ["a dog", "a cat"], "references": ["a dog", " ", "a brown dog"]}] * 2
    found = vlgauge.score(rows, "trm")
    assert found.run()["sizes"] == [(2, 2)] * 2
    without = vlgauge.score([row | {"references": ["a dog", "a brown dog"]} for row in rows], "trm")
    assert found.results == without.results
    texts = ["", "a brown dog ran", "a cat"]
    page = vlgauge.score([{"predictions": "a dog", "references": texts}], "rouge_l", details=True).explain(0)
    assert (
        page._repr_html_()
        == vlgauge.score([{"predictions": "a dog", "references": texts[1:]}], "rouge_l", details=True)
        .explain(0)
        ._repr_html_()
    )
