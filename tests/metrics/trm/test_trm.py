"""trm from captions to numbers: golden cases, keys, details, undefined and odd examples."""

import gzip
import json
import math
from dataclasses import replace

import folders
import numpy as np
import pytest

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.families.ngram.cider import DocumentFrequency

pytestmark = pytest.mark.filterwarnings("ignore:.* is a mean over sets of")  # tested in test_caption_set_corpora.py

GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "trm.json.gz").read_bytes()))
CASES = GOLDEN["cases"]
ROWS = {side: [case[side] for case in CASES] for side in ("predictions", "references")}
DOGS = ["a dog runs on grass", "a brown dog running", "a puppy at play", "the dog chases a ball"]
JETS = ["two planes wait", "a jet on the runway", "an airliner takes off", "a plane in the sky"]
TEST_KEYS = (
    *("pvalue", "z", "excess", "excess_interval", "null_mean", "mean_log_pvalue", "expected_mean_log_pvalue"),
    *("pvalues", "excess_scores", "null_means", "zscores"),
)


def load(**settings):
    return vlgauge.load("trm", keep_in_memory=True, **settings)


def coco_df():
    table = GOLDEN["cider_df"]
    return DocumentFrequency({tuple(ngram.split(" ")): n for ngram, n in table["df"].items()}, table["documents"])


def expected(distance, ties="fractional"):
    """Return the values of the oracle for each key of the result."""
    wanted = {}
    for prefix, kind in (("trm", "pooled"), ("trm_separate", "separate")):
        numbers = [case["trm"][distance][ties][kind] for case in CASES]
        wanted[f"{prefix}_scores"] = [one["q"] for one in numbers]
        wanted[f"{prefix}_pvalues"] = [one["p"] for one in numbers]
        wanted[f"{prefix}_null_means"] = [one["null_mean"] for one in numbers]
        wanted[f"{prefix}_zscores"] = [math.nan if one["z"] is None else one["z"] for one in numbers]
    return wanted


def check(result, wanted):
    for key, values in wanted.items():
        assert result[key] == pytest.approx(values, abs=1e-11, nan_ok=True), key


@pytest.fixture(scope="module")
def exact():
    return load(pvalue="exact")


# -- captions to numbers ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ties", ["fractional", "paper"])
@pytest.mark.parametrize("distance", ["meteor", "cider_d", "rouge_l", "bleu_4"])
@pytest.mark.filterwarnings("ignore:ROUGE-L uses only the letters")
def test_golden_cases_from_the_texts(distance, ties, no_sockets):
    settings = {"df": coco_df()} if distance == "cider_d" else {}
    result = load(distance=distance, ties=ties, pvalue="exact", **settings).compute(**ROWS)
    check(result, expected(distance, ties))
    assert result["trm"] == pytest.approx(np.mean(result["trm_scores"]))
    assert result["trm_separate"] == pytest.approx(np.mean(result["trm_separate_scores"]))
    assert result["trm_undefined"] == 0


def test_golden_cases_with_sentence_vectors(no_sockets):
    metric = load(distance="bert", pvalue="exact", profile="embedded", device="cpu")
    result = metric.compute(**ROWS)
    check(result, expected("bert"))
    assert (
        "trm|v:0.1.0|profile:embedded|enc:sentence-transformers/all-MiniLM-L6-v2@c9745ed1|dtype:float32|distance:bert|"
        in result["trm_signature"]
    )
    assert "|tie_tol:1e-06|force_zero_self:False|pooling:model|" in (result["trm_signature"])


@pytest.mark.parametrize("distance", ["meteor", "meteor_1.5", "cider_d"])
def test_given_matrices(distance):
    matrices = [case["distances"][distance] for case in CASES]
    metric = load(distance="precomputed", pvalue="exact")
    check(metric.compute(**ROWS, distances=matrices), expected(distance))
    check(metric.compute(**ROWS, distances=tuple(map(np.array, matrices))), expected(distance))


def test_pvalues_are_those_of_the_exact_comparison(exact, monkeypatch):
    script = folder_module("trm", "trm")
    real, given = script.triangle_tests, np.array([[0.3], [0.7]])
    monkeypatch.setattr(script, "triangle_tests", lambda *arguments: replace(real(*arguments), pvalues=given))
    result = exact.compute(predictions=[DOGS], references=[JETS])
    assert (result["trm_pvalues"], result["trm_separate_pvalues"]) == ([0.3], [0.7])


def test_keys_and_signature(exact):
    rows = {"predictions": [DOGS], "references": [JETS]}
    plain, tested = load().compute(**rows), exact.compute(**rows)
    first = ["trm", "trm_scores", "trm_undefined", "trm_signature"]
    assert list(plain) == [*first, "trm_separate", "trm_separate_scores"]
    assert list(tested) == [
        *first,
        *(f"trm_{key}" for key in TEST_KEYS),
        *("trm_separate", "trm_separate_scores"),
        *(f"trm_separate_{key}" for key in TEST_KEYS),
    ]
    assert {key: tested[key] for key in plain if key != "trm_signature"} == {
        key: plain[key] for key in plain if key != "trm_signature"
    }
    start = "trm|v:0.1.0|profile:paper|distance:meteor-2007+wn3.0|ties:fractional|tie_tol:1e-12|force_zero_self:False"
    start += "|tokenizer:treebank-1"
    assert plain["trm_signature"] == start
    assert tested["trm_signature"] == f"{start}|pvalue:exact|max_partitions:20000|permutations:9999|seed:0"


def test_details(exact):
    result = exact.compute(
        predictions=[DOGS, ["..."]], references=[["...", "A dog!", "a dog"], JETS], return_details=True
    )
    first, undefined = result["trm_details"]
    assert {key: first[key] for key in ("n_distinct", "n_empty", "n_partitions", "exact")} == {
        **{"n_distinct": 7, "n_empty": 1, "n_partitions": 35, "exact": True}
    }
    assert sum(first["counts_lone_candidate"]) == pytest.approx(4 * 3 * 2)
    assert sum(first["counts_lone_reference"]) == pytest.approx(3 * 4 * 3)
    assert sum(first["expected_shares"]) == pytest.approx(1.0)
    assert first["null_std"] > 0
    assert first["separate_null_std"] > 0
    assert undefined == {}


# -- undefined and odd examples ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 3), (3, 1), (3, 0), (0, 0)])
def test_too_few_captions_are_undefined_and_counted(exact, n, m):
    result = exact.compute(predictions=[DOGS[:n], DOGS], references=[JETS[:m], JETS])
    assert np.isnan(result["trm_scores"]).tolist() == [True, False]
    assert np.isnan(result["trm_separate_pvalues"]).tolist() == [True, False]
    assert result["trm_undefined"] == 1
    assert result["trm"] == result["trm_scores"][1]
    with pytest.warns(UserWarning, match=r"^`trm`.*1 rows") as caught:
        alone = exact.compute(predictions=[DOGS[:n]], references=[JETS[:m]])
    assert {warning.filename for warning in caught} == {__file__}
    assert math.isnan(alone["trm"])
    assert math.isnan(alone["trm_z"])


def test_captions_that_vanish_still_score():
    result = load(distance="cider_d", df=coco_df(), pvalue="exact").compute(
        predictions=[["...", "?!", "", " "]], references=[["a dog", "--", "two dogs"]], return_details=True
    )
    assert result["trm_details"][0]["n_empty"] == 5
    assert 0 <= result["trm"] <= 4 / 3


def test_one_caption_ten_times_has_q_0_and_p_1(exact):
    result = exact.compute(predictions=[["a man"] * 5], references=[["A man."] * 5])
    assert result["trm_scores"] == [0.0]
    assert result["trm_pvalues"] == [1.0]
    assert result["trm_separate_scores"] == [0.0]
    assert np.isnan(result["trm_zscores"]).all()


RUSSIAN = ["собака бежит", "белая собака", "пёс играет"], ["два самолёта", "самолёт летит", "аэродром"]


@pytest.mark.parametrize(
    ("distance", "ours", "theirs"),
    [("rouge_l", *RUSSIAN), *((name, ["", "..."], ["!", "?"]) for name in ("meteor", "cider_d", "rouge_l", "bleu_4"))],
)
@pytest.mark.filterwarnings("ignore:ROUGE-L uses only the letters")
def test_captions_of_which_the_distance_sees_no_word_are_undefined_and_not_the_best(distance, ours, theirs):
    metric = load(distance=distance, pvalue="exact", **({"df": coco_df()} if distance == "cider_d" else {}))
    with pytest.warns(UserWarning, match=rf"1 rows.*'{distance}'"):
        result = metric.compute(predictions=[ours, DOGS], references=[theirs, JETS], return_details=True)
    assert np.isnan(result["trm_scores"]).tolist() == [True, False]
    assert np.isnan(result["trm_separate_pvalues"]).tolist() == [True, False]
    assert result["trm_undefined"] == 1
    assert [one["n_empty"] for one in result["trm_details"]] == [len(ours) + len(theirs), 0]
    assert "expected_shares" not in result["trm_details"][0]


@pytest.mark.filterwarnings("ignore:ROUGE-L uses only the letters")
def test_captions_that_rouge_l_does_not_see_are_counted():
    result = load(distance="rouge_l").compute(
        predictions=[RUSSIAN[0]], references=[["2 собаки", "a dog", "a cat"]], return_details=True
    )
    assert result["trm_details"][0]["n_empty"] == 3
    assert 0 < result["trm"] <= 4 / 3


@pytest.mark.parametrize(("distance", "shares"), [("meteor", [0.327, 0.363, 0.310]), ("rouge_l", [1 / 3] * 3)])
def test_meteor_has_no_thirds_for_captions_by_people(distance, shares):
    lines = (folders.TESTS.parent / "examples" / "caption_sets.jsonl").read_text(encoding="utf-8").splitlines()
    people = [json.loads(line)["references"] for line in lines]
    result = load(distance=distance).compute(
        predictions=[texts[:2] for texts in people], references=[texts[2:] for texts in people], return_details=True
    )
    found = np.mean([one["expected_shares"] for one in result["trm_details"]], axis=0)
    assert found == pytest.approx(shares, abs=5e-4)


@pytest.mark.parametrize("texts", [["人がいる", "猫", "二匹の犬", "犬"], ["🐕", "🐕🐕 run", "é", "e\u0301 a"]])
def test_captions_of_any_script(exact, texts):
    result = exact.compute(predictions=[texts], references=[DOGS])
    assert result["trm_undefined"] == 0
    assert 0 < result["trm_pvalues"][0] <= 1


def test_nan_in_a_given_matrix_is_undefined_and_infinity_the_largest_distance():
    rng = np.random.default_rng(0)
    matrices = list(rng.integers(0, 5, (3, 6, 6)).astype(float))
    matrices[1][0, 3] = math.nan
    matrices[2][matrices[2] == 4] = math.inf
    rows = {"predictions": [["a", "b", "c"]] * 3, "references": [["d", "e", "f"]] * 3}
    metric = load(distance="precomputed", pvalue="exact")
    result = metric.compute(**rows, distances=matrices, return_details=True)
    assert np.isnan(result["trm_scores"]).tolist() == [False, True, False]
    assert np.isnan(result["trm_separate_pvalues"]).tolist() == [False, True, False]
    assert "counts_lone_candidate" not in result["trm_details"][1]
    finite = metric.compute(**rows, distances=[matrices[0], matrices[0], np.minimum(matrices[2], 9.0)])
    assert result["trm_scores"][2] == finite["trm_scores"][2]
    assert result["trm_pvalues"][0] == finite["trm_pvalues"][0]
