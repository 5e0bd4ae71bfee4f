"""METEOR 1.5 in the COCO setup: rows, corpus, versions, missing or unusual inputs, and explanations."""

import gzip
import importlib
import json
import math
import platform
import re
import sys

import numpy as np
import pytest
from coco_captions import coco, needs_coco, scores
from meteor15 import ORACLE, golden, needs_oracle, needs_wheel, toy_files, write_table

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.core.errors import MissingExtraError, UsageError
from vlgauge.explain import explain
from vlgauge.families.aggregation import COUNTED, corpus_interval, corpus_value
from vlgauge.families.ngram.meteor15 import paraphrases
from vlgauge.families.ngram.meteor15.formula import COLUMNS
from vlgauge.families.ngram.meteor15.scoring import coco_rows
from vlgauge.families.ngram.meteor15.sources import open_sources
from vlgauge.leaderboard import compare

pytestmark = needs_wheel

TOLERANCE = 0.0 if platform.libc_ver()[0] == "glibc" else 1e-12


def as_it_is(caption):
    """Return a single token, so that METEOR receives the unchanged text."""
    return [caption]


def with_references(rows):
    """Return the rows whose references all contain text, because other references are removed before the metric."""
    return [row for row in rows if all(text.strip() for text in row["refs"])]


# -- numbers of the program -------------------------------------------------------------------------------------------
def test_golden_rows():
    rows = with_references(golden()["rows"])
    result = scores("meteor", [row["hyp"] for row in rows], [row["refs"] for row in rows], tokenizer=as_it_is)
    assert result["meteor_scores"] == pytest.approx([row["score"] for row in rows], rel=0, abs=TOLERANCE)
    best = [row["stats"][row["best"]] for row in rows]
    assert np.array([result[f"meteor_{name}"] for name in COLUMNS]).T.tolist() == [one[:21] for one in best]
    assert [one["best"] for one in result["meteor_details"]] == [row["best"] for row in rows]


@needs_oracle
def test_corpora_of_the_oracle():
    oracle = json.loads(gzip.decompress(ORACLE.read_bytes()))
    for corpus in oracle["corpora"][::30]:
        rows = [oracle["rows"][number] for number in corpus["rows"]]
        result = scores("meteor", [row["hyp"] for row in rows], [row["refs"] for row in rows], tokenizer=as_it_is)
        assert result["meteor"] == pytest.approx(corpus["score"], rel=0, abs=TOLERANCE)


@needs_coco
@pytest.mark.parametrize(("settings", "corpus"), [({}, 0.1952546717778028), ({"paraphrases": None}, 0.18967)])
def test_demonstration_of_coco(settings, corpus):
    material = coco()
    given = material["tokenized_candidates"], material["tokenized_references"]
    result = scores("meteor", *given, tokenizer=str.split, **settings)
    assert result["meteor"] == pytest.approx(corpus, abs=5e-6)
    if not settings:
        assert result["meteor"] == material["corpus"]["meteor_1.5"]
        assert result["meteor_scores"] == pytest.approx(material["per_image"]["meteor_1.5"], rel=0, abs=TOLERANCE)
        raw = scores("meteor", material["candidates"], material["references"])
        assert raw["meteor"] == pytest.approx(corpus, abs=1e-12)


# -- the corpus -------------------------------------------------------------------------------------------------------
CAPTIONS = ["a dog runs on the grass", "two cats sleep", "a man rides a big horse", "the bus", "a red car near a tree"]
REFERENCES = [
    ["the dog is running on grass", "two dogs run"],
    ["cats are sleeping on a bed"],
    ["a man rides a big horse"],
    ["a bus stops"],
    ["a tree next to a red car", "cars"],
]


def test_the_corpus_is_no_mean_and_has_an_interval():
    result = scores("meteor", CAPTIONS, REFERENCES)
    assert result["meteor"] != pytest.approx(np.mean(result["meteor_scores"]), abs=1e-3)
    assert corpus_value("meteor", result) == pytest.approx(result["meteor"], rel=1e-15)
    interval = corpus_interval("meteor", result, resamples=200)
    assert 0 < interval.low < result["meteor"] < interval.high < 1


def test_a_perfect_row_adds_no_chunk():
    result = scores("meteor", ["a man rides a big horse"] * 2, [["a man rides a big horse"]] * 2)
    assert (result["meteor"], result["meteor_scores"]) == (1.0, [1.0, 1.0])
    assert result["meteor_chunks"] == [1, 1]
    counted = COUNTED["meteor"]
    columns = np.array([result[f"meteor_{name}"] for name in COLUMNS], dtype=np.float64).T
    assert counted.counts(columns)[:, -1].tolist() == [0.0, 0.0]


def test_systems_are_compared_by_the_corpus():
    other = ["a dog", "cats", "a horse", "a bus stops", "a car"]
    runs = {
        name: scores("meteor", captions, REFERENCES) | {"ids": list("abcde")}
        for name, captions in (("good", CAPTIONS), ("short", other))
    }
    compared = compare(runs, ["meteor"]).metrics[0]
    assert compared.value == "corpus"
    values = {one.name: one.value for one in compared.systems}
    assert values == {name: pytest.approx(run["meteor"]) for name, run in runs.items()}
    older = {
        name: scores("meteor", captions, REFERENCES, version="2007") | {"ids": list("abcde")}
        for name, captions in (("good", CAPTIONS), ("short", other))
    }
    compared = compare(older, ["meteor"]).metrics[0]
    assert compared.value == "score"
    assert {one.name: one.value for one in compared.systems} == {
        name: pytest.approx(np.mean(run["meteor_scores"])) for name, run in older.items()
    }


def test_without_references_undefined_and_out_of_the_corpus():
    whole = scores("meteor", CAPTIONS, REFERENCES)
    more = scores("meteor", [*CAPTIONS, "a dog"], [*REFERENCES, []])
    assert math.isnan(more["meteor_scores"][-1])
    assert math.isnan(more["meteor_chunks"][-1])
    assert (more["meteor"], more["meteor_undefined"], more["meteor_details"][-1]) == (whole["meteor"], 1, {})
    nothing = scores("meteor", ["a"], [[]])
    assert math.isnan(nothing["meteor"])


# -- settings and files -----------------------------------------------------------------------------------------------
def test_signatures():
    assert scores("meteor", ["a"], [["a"]])["meteor_signature"].split("|")[3:] == [
        "version:1.5",
        "tokenizer:ptb-3.4.1",
        "lists:pycocoevalcap-1.2",
        "paraphrases:pycocoevalcap-1.2",
    ]
    without = scores("meteor", ["a"], [["a"]], paraphrases=None)["meteor_signature"]
    assert without.endswith("|version:1.5|tokenizer:ptb-3.4.1|lists:pycocoevalcap-1.2|paraphrases:none")


def test_own_files(tmp_path):
    lists, table = toy_files(tmp_path)
    rows = golden()["toy"]["rows"][:50]
    result = scores(
        *("meteor", [row["hyp"] for row in rows], [row["refs"] for row in rows]),
        **{"lists": lists, "paraphrases": table, "tokenizer": as_it_is},
    )
    assert result["meteor_scores"] == pytest.approx([row["score"] for row in rows], rel=0, abs=TOLERANCE)
    assert re.search(
        r"\|lists:local@sha256-[0-9a-f]{12}\|paraphrases:local@sha256-[0-9a-f]{12}$", result["meteor_signature"]
    )


def test_2007_needs_no_files(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    importlib.invalidate_caches()
    metric = vlgauge.load("meteor", version="2007", keep_in_memory=True)
    metric.check_sources().end()
    result = metric.compute(predictions=["a dog runs"], references=[["a dog runs", "runs dog a"]])
    assert result["meteor_scores"] == [pytest.approx(1 - 0.5 / 27)]


def test_missing_extra_before_any_work(monkeypatch):
    metric = vlgauge.load("meteor", keep_in_memory=True, tokenizer=lambda caption: pytest.fail("some work"))
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "pycocoevalcap", raising=False)  # other tests import it
    importlib.invalidate_caches()
    message = (
        'meteor requires the files of pycocoevalcap 1.2, which is not installed; run: pip install "vlgauge[meteor]"'
    )
    with pytest.raises(MissingExtraError, match=f"^{re.escape(message)}$"):
        metric.compute(predictions=["a"], references=[["a"]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"version": "1.4"}, r"`version`.*got '1\.4'"),
        ({"version": "2007", "paraphrases": None}, r"`paraphrases`.*`version` 2007, got None"),
        ({"version": "2007", "lists": "a.jar"}, r"`lists`.*`version` 2007, got 'a\.jar'"),
        ({"lists": None}, r"`lists`.*'pycocoevalcap'.*got None"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(UsageError, match=f"^{message}"):
        vlgauge.load("meteor", **settings)


def test_words_seen_before_need_no_reading(tmp_path, monkeypatch):
    readings = []
    read = paraphrases.ParaphraseTable._read
    monkeypatch.setattr(paraphrases.ParaphraseTable, "_read", lambda self: readings.append(self) or read(self))
    lists, _ = toy_files(tmp_path)
    table = write_table(tmp_path / "own.gz", [("big dog", "hound"), ("cat", "big cat")])
    metric = vlgauge.load("meteor", lists=lists, paraphrases=table, keep_in_memory=True)
    for captions in (["a hound or a big cat"], ["a cat", "a hound"], ["a big hound"]):
        metric.compute(predictions=captions, references=[["a big dog", "a cat"]] * len(captions))
    assert len(readings) == 1


# -- odd captions -----------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:1 of 5 captions are not in Latin script")
def test_odd_captions():
    captions = ["", "一只狗在草地上跑步", "a dog|||runs", " ".join(["a dog runs on"] * 100), "!!!"]
    result = scores("meteor", captions, [["a dog"], [captions[1]], ["a dog runs ||| here"], [captions[3]], ["..."]])
    assert result["meteor_scores"][:2] == [0.0, 1.0]
    assert 0 < result["meteor_scores"][2] < 1
    assert result["meteor_scores"][3:] == [1.0, 0.0]


def test_separator_as_it_is():
    rows = with_references(golden()["protocol"])
    result = scores("meteor", [row["hyp"] for row in rows], [row["refs"] for row in rows], tokenizer=as_it_is)
    assert result["meteor_scores"] == pytest.approx([row["score"] for row in rows], rel=0, abs=TOLERANCE)
    assert all(
        len(one["per_reference"]) == len(row["refs"]) for one, row in zip(result["meteor_details"], rows, strict=True)
    )


# -- why --------------------------------------------------------------------------------------------------------------
def explained(captions, references, **settings):
    rows = {"predictions": captions, "references": references}
    return explain("meteor", rows, scores("meteor", captions, references, **settings))


def test_costs_add_up_to_the_score():
    found = explained(CAPTIONS, REFERENCES)
    for row, score in enumerate(found.scores):
        shares = found.contributions(row)
        assert 1 + sum(share.amount for share in shares) == pytest.approx(score if shares else 1, abs=1e-8)
    assert [share.text for share in found.contributions(0)] == [
        "words without a match",
        "paraphrase matches weigh 0.6",
        "4 chunks",
    ]
    assert found.contributions(2) == []


def test_chunks_have_one_number_in_both_texts():
    found = explained(["the man in front of the bus sat"], [["the man before the bus"]])
    shown = found.values(0)
    own = [(piece.text, piece.mark.number, piece.mark.note) for piece in shown["pieces"] if piece.mark]
    note = "\u201cin front of the\u201d is a paraphrase of \u201cbefore the\u201d"
    assert own == [("the man in front of the bus", 1, note), ("sat", 0, "\u201csat\u201d has no match")]
    theirs = [(piece.text, piece.mark.number) for piece in shown["closest"][0]["pieces"] if piece.mark]
    assert theirs == [("the man before the bus", 1)]
    assert found.reason(0) == "7 of 8 words match the best reference in 1 chunk; \u201csat\u201d does not"
    assert "F 0." in str(found.example(0))


def test_2007_is_explained_as_such():
    found = explained(CAPTIONS, REFERENCES, version="2007")
    assert "never compare it with METEOR 1.5" in found.how_to_read[-1]
    assert found.contributions(0) == []
    assert found.is_mean
    assert not explained(CAPTIONS, REFERENCES).is_mean


# -- the definition ---------------------------------------------------------------------------------------------------
def test_equals_the_definition():
    rows = golden()["rows"]
    sources = open_sources(metric="meteor")
    found = list(coco_rows([row["hyp"] for row in rows], [row["refs"] for row in rows], sources))
    plain = folder_module("meteor", "reference").meteor
    pairs = [pair for row in found for pair in row]
    functions = [[[sources.lists.word(token).is_function for token in text] for text in pair[:2]] for pair in pairs]
    expected = [plain(*texts, pair.matches) for texts, pair in zip(functions, pairs, strict=True)]
    assert [pair.score for pair in pairs] == pytest.approx(expected, rel=1e-12)
