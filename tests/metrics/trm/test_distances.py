"""Distances of trm: their direction, functions, document frequencies, tokenizers."""

import gzip
import importlib.util
import json
import sys
import warnings

import numpy as np
import pytest
from folders import GOLDEN
from meteor15 import needs_wheel
from one_pair import cider_d, meteor_distances, meteor_score

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.core.errors import MissingExtraError
from vlgauge.families.caption_sets.vectors import CaptionVectors
from vlgauge.families.ngram.bleu import bleu_4
from vlgauge.families.ngram.cider import SCALE, DocumentFrequency
from vlgauge.families.ngram.meteor15.sources import INSTALLED
from vlgauge.inputs.text.treebank_tokens import treebank_tokens

pytestmark = pytest.mark.filterwarnings("ignore:.* is a mean over sets of")  # tested in test_caption_set_corpora.py

DOGS = ["a dog runs on grass", "a brown dog running", "a puppy at play", "the dog chases a ball"]
JETS = ["two planes wait", "a jet on the runway", "an airliner takes off", "a plane in the sky"]


def load(**settings):
    return vlgauge.load("trm", keep_in_memory=True, **settings)


def coco_df():
    table = json.loads(gzip.decompress((GOLDEN / "trm.json.gz").read_bytes()))["cider_df"]
    return DocumentFrequency({tuple(ngram.split(" ")): n for ngram, n in table["df"].items()}, table["documents"])


def test_equal_captions_are_at_distance_0_and_unknown_directions_are_nan():
    distances = folder_module("trm", "distances")
    table = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    table[2] = 0.0
    captions = [["a", "b", "a"], ["c", "c"]]
    vectors = CaptionVectors(table, [np.array([0, 1, 0]), np.array([2, 2])], "given")
    first, second = distances.cosine_matrices(captions, vectors)(captions)
    a, b = table[:2].astype(float)
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert first[0].tolist() == [0.0, pytest.approx(1 - cosine, rel=1e-14), 0.0]
    assert first.diagonal().tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(second).all()


@pytest.mark.parametrize("batch", [False, True])
def test_functions_as_distance(batch):
    calls = []

    def one_less_meteor(a, b):
        calls.append((a, b))
        return 1 - meteor_score(a.split(), b.split())

    def of_all(texts):
        calls.append(texts)
        return meteor_distances(texts, tokenizer=str.split)

    of_all.batch = True
    metric = load(distance=of_all if batch else one_less_meteor, pvalue="exact")
    result = metric.compute(predictions=[[*DOGS, DOGS[0]]], references=[JETS], return_details=True)
    plain = load(pvalue="exact").compute(predictions=[[*DOGS, DOGS[0]]], references=[JETS])
    assert result["trm_scores"] == plain["trm_scores"]
    assert calls == ([[*DOGS, *JETS]] if batch else [(a, b) for a in DOGS + JETS for b in DOGS + JETS])
    assert f"|distance:custom({__name__}.test_functions_as_distance.<locals>." in result["trm_signature"]
    assert result["trm_details"][0]["n_distinct"] == 8
    assert "n_empty" not in result["trm_details"][0]


def test_distances_that_all_tie_by_the_tolerance_are_told():
    matrix = np.random.default_rng(5).random((8, 8))
    rows = {"predictions": [DOGS], "references": [JETS]}
    expected = load(distance="precomputed").compute(**rows, distances=[matrix])["trm"]
    message = "`tie_tol`=1e-12"
    for distance in ("precomputed", lambda a, b: 1e-20 * len(a)):
        given = {"distances": [1e-20 * matrix]} if distance == "precomputed" else {}
        with pytest.warns(UserWarning, match=message) as caught:
            assert load(distance=distance).compute(**rows, **given)["trm"] == 0.0
        assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = load(distance="precomputed", tie_tol=0.0).compute(**rows, distances=[1e-20 * matrix])
        load(distance="precomputed").compute(**rows, distances=[np.ones((8, 8))])
        load(distance="precomputed").compute(**rows, distances=[np.full((8, 8), np.nan)])
    assert found["trm"] == expected > 0.0


@pytest.mark.parametrize(
    ("distance", "between"),
    [
        ("meteor", lambda texts: meteor_distances(texts)),
        ("cider_d", lambda texts: SCALE - cider_d(list(map(treebank_tokens, texts)), coco_df())),
        ("bleu_4", lambda texts: 1 - bleu_4([text.split() for text in texts])),
    ],
)
def test_direction_of_the_distances(distance, between):
    rng = np.random.default_rng(4)
    captions = [" ".join(rng.choice(["dog", "dogs", "runs"], rng.integers(6, 14))) for _ in range(8)]
    rows = {"predictions": [captions[:4]], "references": [captions[4:]]}
    matrix = between([*rows["predictions"][0], *rows["references"][0]])
    result = load(distance=distance, df=coco_df()).compute(**rows)
    ours, turned = (load(distance="precomputed").compute(**rows, distances=[one]) for one in (matrix, matrix.T))
    for key in ("trm", "trm_separate"):
        assert result[key] == ours[key]
    assert turned["trm_separate"] != ours["trm_separate"]


def test_few_documents_are_warned_of():
    metric = load(distance="cider_d")
    with pytest.warns(UserWarning, match="1 row") as caught:
        result = metric.compute(predictions=[DOGS], references=[JETS])
    assert {warning.filename for warning in caught} == {__file__}
    assert result["trm"] == 0.0  # ln 1 - ln 1: no n-gram has weight, and all distances tie
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.compute(predictions=[DOGS] * 50, references=[JETS] * 50)


def test_sources_of_document_frequencies(tmp_path):
    rows = {"predictions": [DOGS, JETS] * 25, "references": [JETS, DOGS[:3]] * 25}
    table = DocumentFrequency.from_references(rows["references"], tokenizer=treebank_tokens)
    table.save(tmp_path / "table.gz")
    results = {
        name: load(distance="cider_d", df=df).compute(**rows)
        for name, df in {
            "references": "references",
            f"given@{table.digest[:8]}": table,
            f"table.gz@{table.digest[:8]}": tmp_path / "table.gz",
            "pooled": "pooled",
        }.items()
    }
    for name, result in results.items():
        assert (
            f"|distance:cider_d|ties:fractional|tie_tol:1e-12|force_zero_self:False|tokenizer:treebank-1|df:{name}"
            in (result["trm_signature"])
        )
    scores = [result["trm_scores"] for result in results.values()]
    assert scores[0] == scores[1] == scores[2]
    pooled = DocumentFrequency.from_pooled(rows["predictions"], rows["references"], tokenizer=treebank_tokens)
    assert load(distance="cider_d", df=pooled).compute(**rows)["trm_scores"] == scores[3]


def test_letters_that_rouge_l_does_not_see_are_warned_of_once():
    metric = load(distance="rouge_l")
    with pytest.warns(UserWarning, match="ignores the others") as caught:
        metric.compute(predictions=[["un café", "née"]], references=[["naïve", "a dog"]])
    assert {warning.filename for warning in caught} == {__file__}
    assert len(caught) == 1


def test_rouge_l_does_not_see_case():
    rows = {"predictions": [["A Dog", "the cat"]], "references": [["a dog", "THE cat runs"]]}
    lower = {side: [[text.lower() for text in sets[0]]] for side, sets in rows.items()}
    metric = load(distance="rouge_l", tokenizer=str.split)
    assert metric.compute(**rows)["trm_separate"] == metric.compute(**lower)["trm_separate"]


def test_tokenizer_of_the_user():
    by_space, by_rule = load(tokenizer=str.split), load()
    rows = {"predictions": [["a dog.", "a dog!", "a cat"]], "references": [["a dog", "one dog", "dogs"]]}
    assert by_space.compute(**rows)["trm"] != by_rule.compute(**rows)["trm"]
    assert "|tokenizer:custom(builtins.str.split)" in by_space.compute(**rows)["trm_signature"]


def test_captions_of_equal_tokens_have_distance_0_on_request():
    rows = {"predictions": [["red dog", "Red dog.", "a cat"]], "references": [["red dogs", "one bus"]]}
    plain, forced = (load(force_zero_self=force).compute(**rows) for force in (False, True))
    matrix = meteor_distances([*rows["predictions"][0], *rows["references"][0]])
    assert matrix[0, 1] == matrix[0, 3] == 0.0625  # the stems are equal too, and tie
    equal = np.array([[0, 0, 1, 2, 3]])
    matrix[equal == equal.T] = 0.0
    by_hand = load(distance="precomputed").compute(**rows, distances=[matrix])
    assert forced["trm_separate"] == by_hand["trm_separate"]
    assert forced["trm_separate"] != plain["trm_separate"]
    assert "|force_zero_self:True" in forced["trm_signature"]


@needs_wheel
def test_golden_distances_of_meteor_15():
    cases = json.loads(gzip.decompress((GOLDEN / "meteor.json.gz").read_bytes()))["cases"]
    captions = [case["captions"] for case in cases]
    known = load(distance="meteor_1.5").compared(captions, [[] for _ in cases])
    for example, case in enumerate(cases):
        assert known.matrix(example, case["captions"]) == pytest.approx(np.array(case["meteor_1.5"]), abs=1e-9)


@needs_wheel
def test_meteor_15_in_a_call():
    rows = {"predictions": [DOGS, DOGS[:2]], "references": [JETS, JETS]}
    metric = load(distance="meteor_1.5", mean_aggregate=True)
    result = metric.compute(**rows)
    assert "|distance:meteor-1.5|" in result["trm_signature"]
    pooled = [[*ours, *theirs] for ours, theirs in zip(*rows.values(), strict=True)]
    matrices = metric.compared(pooled, [[], []]).matrices
    given = load(distance="precomputed").compute(**rows, distances=matrices)
    assert result["trm_scores"] == given["trm_scores"]
    best = (1 - matrices[0].T)[: len(DOGS), len(DOGS) :].max(axis=1)
    assert result["trm_base_scores"][0] == pytest.approx(best.mean())


def test_meteor_15_needs_its_extra(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, INSTALLED, raising=False)  # other tests import it
    importlib.invalidate_caches()
    metric = load(distance="meteor_1.5", tokenizer=lambda text: pytest.fail("some work"))
    message = r'1\.2.*"vlgauge\[meteor\]"'
    with pytest.raises(MissingExtraError, match=message):
        metric.check_sources().end()
    with pytest.raises(MissingExtraError, match=message):
        metric.compute(predictions=[DOGS], references=[JETS])


@pytest.mark.parametrize("distance", ["cider_d", "bleu_4", "rouge_l"])
def test_repeated_captions_of_several_examples(distance):
    rows = {"predictions": [DOGS, [DOGS[0]] * 3, DOGS[:2]], "references": [JETS, [DOGS[0], JETS[0]], [JETS[1]] * 2]}
    together = load(distance=distance, df=coco_df()).compute(**rows)["trm_scores"]
    apart = [
        load(distance=distance, df=coco_df()).compute(predictions=[ours], references=[theirs])["trm"]
        for ours, theirs in zip(*rows.values(), strict=True)
    ]
    assert together == pytest.approx(apart, rel=1e-12)
    assert len(set(apart)) == 3
