"""chrF: by hand, against its definition and sacrebleu, undefined scores, comparison by counts, and input errors."""

import hashlib
import itertools
import json
import math
import random

import numpy as np
import pytest
from coco_captions import random_examples, scores
from folders import GOLDEN
from skeleton_steps import left_in, listed_in

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.explain import explanation_of
from vlgauge.families.aggregation import COUNTED, corpus_interval, corpus_value
from vlgauge.leaderboard import compare
from vlgauge.leaderboard.table import pairs_table

NAME = "chrf"
PIECES = "A dog runs, (hi) the on grass. red café 犬 'tis co-op ... Ünder a b 3 !"
COUNTS = COUNTED[NAME].columns


def golden_rows(n=500):
    """Return captions and references with varied whitespace, marks and scripts, some of them empty."""
    draw = random.Random(7)

    def caption():
        return (" " * draw.randint(1, 2)).join(draw.choices(PIECES.split(), k=draw.randint(0, 12)))

    predictions = [caption() for _ in range(n)]
    return predictions, [[caption() for _ in range(draw.randint(1, 4))] for _ in range(n)]


def test_the_script_says_what_it_measures():
    assert left_in(NAME, f"{NAME}.py") == []


def test_an_example_worked_by_hand():
    result = scores(NAME, ["ab"], ["a bc"])
    # a and b of two and of three, ab of one and of two; the caption has no run of three. P = 1, R = (2/3 + 1/2) / 2.
    assert result["chrf"] == result["chrf_scores"][0] == pytest.approx(7 / 11)
    details = result["chrf_details"][0]
    assert (details["shared"][:3], details["own"][:3], details["theirs"][:3]) == ([2, 1, 0], [2, 1, 0], [3, 2, 1])
    assert (details["tokens"], details["references"], details["best"]) == (["ab"], [["a", "bc"]], 0)
    # No word is shared, and the caption has no two. P = (1 + 1 + 0) / 3, R = (2/3 + 1/2 + 0) / 3.
    assert scores(NAME, ["ab"], ["a bc"], word_order=2)["chrf"] == pytest.approx(14 / 33)


def test_the_corpus_adds_counts():
    # Characters: 3 of 5 and of 3. Pairs count only in the second caption, because the first reference has no pair.
    result = scores(NAME, ["abc", "ab"], ["a", "ab"])
    assert result["chrf"] == pytest.approx(20 / 21)
    assert result["chrf"] != pytest.approx(np.mean(result["chrf_scores"]), abs=0.01)


@pytest.mark.parametrize("word_order", [0, 2])
@pytest.mark.parametrize("seed", range(2))
def test_the_definition_as_plain_loops(seed, word_order):
    predictions, references = random_examples(40, seed)
    predictions = [f"{caption} (a dog), !" for caption in predictions[:20]] + predictions[20:]
    result = scores(NAME, predictions, references, word_order=word_order)
    expected, corpus = folder_module(NAME, "reference").chrf(predictions, references, word_order)
    assert result["chrf_scores"] == pytest.approx(expected, rel=1e-12)
    assert result["chrf"] == pytest.approx(corpus, rel=1e-12)


def test_rows_are_counted_in_parts(monkeypatch):
    predictions, references = random_examples(20, 3)
    whole = scores(NAME, predictions, references)
    formula = folder_module(NAME, "formula")
    monkeypatch.setattr(formula, "_AT_ONCE", 7)
    found = formula.best_references(predictions, references, 0)
    assert found.columns.T.tolist() == [whole[f"chrf_{name}"] for name in COUNTS]


def test_a_word_has_one_mark_parted():
    words = folder_module(NAME, "formula").words
    assert words("(hi) 'tis co-op, ... ! a") == ["(hi", ")", "'", "tis", "co-op", ",", "..", ".", "!", "a"]


def test_properties_of_degenerate_rows():
    result = scores(NAME, ["", "a dog", "a dog", " ", "A Dog"], ["a", ".", [], "..", "a dog"])
    assert result["chrf_scores"][:2] == [0.0, 0.0]
    assert math.isnan(result["chrf_scores"][2])
    assert result["chrf_scores"][3] == 0.0
    assert 0.0 < result["chrf_scores"][4] < 1.0
    assert (result["chrf_undefined"], result["chrf_details"][2]) == (1, {})
    assert all(math.isnan(result[f"chrf_{name}"][2]) for name in COUNTS)
    assert scores(NAME, ["A Dog"], ["a dog"], lowercase=True)["chrf"] == 1.0
    nothing = scores(NAME, ["a"], [[]])
    assert math.isnan(nothing["chrf"])


def test_of_equal_references_the_first_is_the_best():
    assert scores(NAME, ["ab"], [["x", "abc", "abx"]])["chrf_details"][0]["best"] == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"word_order": 1}, r"^`word_order`.*got 1"),
        ({"word_order": -2}, r"^`word_order`.*at least 0.*got -2"),
        ({"lowercase": "no"}, r"^`lowercase`.*got 'no'"),
    ],
)
def test_every_error_message(settings, message):
    with pytest.raises(ValueError, match=message):
        vlgauge.load(NAME, **settings)


def test_golden_numbers(monkeypatch):
    monkeypatch.setattr("vlgauge.families.base.columns.without_blanks", list)  # sacrebleu counts empty references
    golden = json.loads((GOLDEN / "chrf.json").read_text("utf-8"))
    predictions, references = golden_rows()
    assert hashlib.sha256(json.dumps([predictions, references]).encode()).hexdigest() == golden["rows_sha256"]
    for case in golden["cases"]:
        result = scores(NAME, predictions, references, **case["settings"])
        assert 100 * np.array(result["chrf_scores"]) == pytest.approx(case["scores"], rel=0, abs=1e-9)
        assert 100 * result["chrf"] == pytest.approx(case["corpus"], rel=0, abs=1e-9)


@pytest.fixture(scope="module")
def runs():
    """Results of a system that often copies a reference, and of one that seldom does."""
    captions, references = random_examples(30, 5)
    draw = random.Random(1)

    def run(share):
        said = [own[0] if draw.random() < share else other for own, other in zip(references, captions, strict=True)]
        metric = vlgauge.load(NAME, keep_in_memory=True, progress=False)
        return {"ids": list(range(30)), **metric.compute(predictions=said, references=references)}

    return {"good": run(0.9), "bad": run(0.2)}


def test_systems_are_compared_by_added_counts(runs):
    (compared,) = compare(runs, [NAME], resamples=300).metrics
    assert (compared.value, compared.noise) == ("corpus", {})
    assert {one.name: one.value for one in compared.systems} == {name: run["chrf"] for name, run in runs.items()}
    (pair,) = compared.pairs
    assert (pair.better, pair.difference) == ("good", pytest.approx(runs["good"]["chrf"] - runs["bad"]["chrf"]))
    assert pair.low < pair.difference < pair.high
    notes = pairs_table(compare(runs, [NAME], resamples=300)).notes
    assert "chrf: wins, losses and ties count single rows, all other values are corpus-level." in notes


def test_the_test_swaps_the_counts_of_rows():
    references = ["a dog runs on the grass", "two cats sleep here now", "a red hat lies there"]
    said = {"a": [references[0], "two cats", "a red"], "b": ["a dog", "cats sleep", "a red hat"]}
    metric = vlgauge.load(NAME, keep_in_memory=True, progress=False)
    runs = {
        name: metric.compute(predictions=own, references=references) | {"ids": [0, 1, 2]} for name, own in said.items()
    }
    apart = []
    for swapped in itertools.product((False, True), repeat=3):
        one = [said["b" if out else "a"][row] for row, out in enumerate(swapped)]
        two = [said["a" if out else "b"][row] for row, out in enumerate(swapped)]
        values = [metric.compute(predictions=captions, references=references)["chrf"] for captions in (one, two)]
        apart.append(abs(values[0] - values[1]))
    (compared,) = compare({name: run | {"ids": [0, 1, 2]} for name, run in runs.items()}, [NAME]).metrics
    (pair,) = compared.pairs
    assert pair.pvalue == np.mean([value >= apart[0] * (1 - 1e-9) for value in apart])


def test_value_and_interval_of_the_corpus(runs):
    run = runs["good"]
    assert corpus_value(NAME, run) == run["chrf"]
    interval = corpus_interval(NAME, run, resamples=300)
    assert interval.low < run["chrf"] < interval.high


def test_the_examples_show_how_it_reacts():
    assert left_in(NAME, "examples.jsonl") == []


def test_a_score_is_explained():
    assert left_in(NAME, "explanation.py", "explanation.html.jinja", "key.html.jinja") == []


def test_characters_are_marked_by_the_longest_run_that_the_best_reference_has():
    rows = {"predictions": ["two big cats", ""], "references": [["x", "Two  big dogs", "dogs sit"], ["a"]]}
    result = scores(NAME, **rows, lowercase=True)
    told = explanation_of(NAME)(rows, result)
    marks = [(one.text, one.mark and (one.mark.tone, one.mark.strong)) for one in told.values(0)["pieces"]]
    assert marks == [("two big", ("for", True)), (" ", None), ("cats", ("against", False))]
    assert told.reason(0) == (
        "6 of 10 characters are in n-grams of length 6 shared with the best reference, "
        "4 in no shared n-gram of length 3"
    )
    found = sorted(result["chrf_details"][0]["per_reference"], reverse=True)
    assert [one["score"] for one in told.values(0)["closest"]] == found[:2]
    assert told.reason(1) == "has no character"


def test_the_card_is_written():
    assert left_in(NAME, "README.md") == []


def test_it_is_listed():
    assert listed_in(NAME) == ["setup.cfg", "CHANGELOG.md", "README.md (make format)"]
