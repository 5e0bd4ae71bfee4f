"""The baseline of Eq. 1 next to trm: mean over the candidates of METEOR, CIDEr-D, ROUGE-L, BLEU-4 or the cosine."""

import gzip
import itertools
import json
import math

import numpy as np
import pytest
from coco_captions import by_example
from folders import TESTS
from one_pair import cider_d, meteor_score

import vlgauge
from vlgauge.families.ngram.bleu import bleu_counts, coco_bleu
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.stats import compute_calibrated_harmonic_pvalue, harmonic_mean_pvalue

SHARED = TESTS.parents[1] / "shared" / "oracles" / "coco_fakecap.json.gz"  # next to the checkout, not part of it
DOGS = ["a dog runs on a grass", "a brown dog running", "a puppy at play", "the dog chases a ball"]
JETS = ["two planes wait on grass", "a jet on the runway", "the airliner takes off"]
# Eq. 1 uses one candidate per image, for which trm is undefined.
ALONE = pytest.mark.filterwarnings("ignore:.* is undefined for all of")
RARE = DocumentFrequency({("a",): 50, ("on",): 9}, 100)


def load(**settings):
    return vlgauge.load("trm", keep_in_memory=True, mean_aggregate=True, **settings)


def lcs(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i, j in itertools.product(range(len(a)), range(len(b))):
        table[i + 1, j + 1] = table[i, j] + 1 if a[i] == b[j] else max(table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


def score(distance, candidate, references):
    """Compute S(c, R) of one candidate from the definition."""
    c, refs = candidate.split(), [reference.split() for reference in references]
    if distance == "meteor":
        return max(meteor_score(r, c) for r in refs)
    if distance == "cider_d":
        return np.mean([cider_d([c, r], RARE)[0, 1] for r in refs])
    precision = max(lcs(c, r) / len(c) for r in refs)
    recall = max(lcs(c, r) / len(r) for r in refs)
    return 2.44 * precision * recall / (recall + 1.44 * precision) if precision and recall else 0.0


@pytest.mark.parametrize("distance", ["meteor", "cider_d", "rouge_l"])
def test_score_and_p_against_loops_over_all_partitions(distance):
    pooled, n = DOGS + JETS, len(DOGS)
    metric = load(distance=distance, pvalue="exact", df=RARE)
    result = metric.compute(predictions=[DOGS], references=[JETS], return_details=True)
    null = []
    for ours in itertools.combinations(range(len(pooled)), n):
        references = [text for i, text in enumerate(pooled) if i not in ours]
        null.append(np.mean([score(distance, pooled[i], references) for i in ours]))
    assert result["trm_base"] == pytest.approx(null[0], rel=1e-12)
    assert result["trm_base_scores"] == [result["trm_base"]]
    # Low scores speak against the null hypothesis.
    assert result["trm_base_pvalues"] == [pytest.approx(np.mean(np.array(null) <= null[0] + 1e-9), rel=1e-12)]
    assert result["trm_base_null_mean"] == pytest.approx(np.mean(null), rel=1e-12)
    assert result["trm_base_zscores"] == [pytest.approx((null[0] - np.mean(null)) / np.std(null), rel=1e-9)]
    assert result["trm_base_z"] == pytest.approx(result["trm_base_zscores"][0])
    assert result["trm_base_z"] < 0
    assert result["trm_details"][0]["base_null_std"] == pytest.approx(np.std(null), rel=1e-9)


@pytest.mark.filterwarnings("ignore:.* is a mean over sets of")
def test_the_rest_of_the_result_is_the_same():
    rows = {"predictions": [DOGS, JETS], "references": [JETS, DOGS]}
    plain = vlgauge.load("trm", keep_in_memory=True, pvalue="exact").compute(**rows)
    result = load(pvalue="exact").compute(**rows)
    assert {key: value for key, value in result.items() if not key.startswith("trm_base")} == plain


def test_bleu_of_the_shorter_of_equally_close_references():
    rows = {"predictions": [["a b c d", "x y"]], "references": [["a b c d e", "b c d"]]}
    result = load(distance="bleu", pvalue="exact").compute(**rows)
    assert load(distance="bleu").compute(**rows)["trm_base"] == result["trm_base"]
    assert result["trm_base"] == pytest.approx((1.0 + 0.0) / 2, abs=1e-6)  # exp(1 - 4/4): the shorter of equally close


REPEATED = ["the the the dog", "the the dog runs on", "a dog runs on the grass", ""]


@pytest.mark.parametrize("pooled", [DOGS + JETS, [*REPEATED, *JETS]])
def test_bleu_under_every_partition_is_that_of_the_corpus_code(pooled):
    n = 4
    null = []
    for ours in itertools.combinations(range(len(pooled)), n):
        references = [text.split() for i, text in enumerate(pooled) if i not in ours]
        counts = bleu_counts(*by_example([pooled[i].split() for i in ours], [references] * n))
        null.append(np.mean(coco_bleu(counts)[:, -1]))
    result = load(distance="bleu_4", pvalue="exact").compute(predictions=[pooled[:n]], references=[pooled[n:]])
    assert result["trm_base"] == pytest.approx(null[0], rel=1e-9)
    assert result["trm_base_null_means"] == [pytest.approx(np.mean(null), rel=1e-9)]
    assert result["trm_base_pvalues"] == [pytest.approx(np.mean(np.array(null) <= null[0] + 1e-9), rel=1e-12)]


def test_cosine_takes_the_best_reference():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [3.0, 3.0], "d": [-1.0, 0.0]}
    metric = load(distance="bert", encoder=lambda texts: np.array([vectors[text] for text in texts]), pvalue="exact")
    result = metric.compute(predictions=[["a", "b"]], references=[["c", "d"]])
    assert result["trm_base"] == pytest.approx(math.sqrt(0.5))
    assert "|enc:custom(" in result["trm_signature"]


def test_a_vector_without_direction_is_undefined():
    metric = load(distance="bert", encoder=lambda texts: np.array([[float(len(text))] for text in texts]))
    result = metric.compute(predictions=[["", "b"], ["a", "b"]], references=[["c", "dd"]] * 2)
    assert np.isnan(result["trm_scores"]).tolist() == [True, False]
    assert np.isnan(result["trm_base_scores"]).tolist() == [True, False]
    assert result["trm_base"] == 1.0


@ALONE
@pytest.mark.parametrize("pvalue", [None, "exact"])
def test_one_candidate_is_enough_for_the_baseline(pvalue):
    rows = {"predictions": [["a dog"], [], ["a dog"]], "references": [["a dog", "dogs", "two cats"], DOGS, ["a dog"]]}
    result = load(pvalue=pvalue).compute(**rows)
    assert np.isnan(result["trm_scores"]).all()
    assert result["trm_undefined"] == 3
    assert result["trm_base_scores"] == pytest.approx([0.9375, math.nan, 0.9375], nan_ok=True)
    assert result["trm_base"] == pytest.approx(0.9375)
    if pvalue:
        assert result["trm_base_pvalues"][0] == 1.0
        assert math.isnan(result["trm_z"])


def test_equal_captions_forced_to_0_do_not_change_the_baseline():
    rows = {"predictions": [["a dog", "cats"]], "references": [["A dog.", "birds"]]}
    assert load(force_zero_self=True).compute(**rows)["trm_base"] == load().compute(**rows)["trm_base"]


# -- oracles ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def coco():
    if not SHARED.exists():
        pytest.skip("needs the reference material next to the checkout")
    return json.loads(gzip.decompress(SHARED.read_bytes()))


@ALONE
def test_machine_captions_of_1000_images(coco, no_sockets):
    metric = load(distance="cider_d", tokenizer=str.split)
    rows = {
        "predictions": [[text] for text in coco["tokenized_candidates"]],
        "references": coco["tokenized_references"],
    }
    result = metric.compute(**rows)
    assert result["trm_base_scores"] == pytest.approx(coco["per_image"]["cider_d"], abs=1e-9)
    assert result["trm_base"] == pytest.approx(0.59979, abs=5e-6)


@pytest.mark.parametrize(("distance", "shift"), [("meteor", 1), ("cider_d", 0)])
def test_two_against_three_people(coco, distance, shift):
    wanted = coco["trm_2_vs_3"][distance]["next_image" if shift else "same_image"]
    captions = coco["references"]
    metric = vlgauge.load("trm", keep_in_memory=True, distance=distance, pvalue="exact")
    result = metric.compute(
        predictions=[captions[(i + shift) % 1000][:2] for i in range(1000)], references=[one[2:5] for one in captions]
    )
    found = {key: result[f"trm_{key}"] for key in ("separate", "null_mean")} | {"trm": result["trm"]}
    assert found == pytest.approx(
        {"trm": wanted["trm"], "separate": wanted["trm_separate"], **{"null_mean": wanted["null_mean"]}}, abs=1e-9
    )
    assert result["trm_scores"][:20] == pytest.approx(wanted["first20"], abs=1e-9)
    assert result["trm_pvalues"][:20] == pytest.approx(wanted["first20_p"], abs=1e-9)
    for prefix, kind in (("trm", "pooled"), ("trm_separate", "separate")):
        pvalues = result[f"{prefix}_pvalues"]
        combined = {"hmp": harmonic_mean_pvalue(pvalues), "landau": compute_calibrated_harmonic_pvalue(pvalues)}
        combined["mean_log_p"] = result[f"{prefix}_mean_log_pvalue"]
        assert combined == pytest.approx({name: wanted[f"{kind}_p"][name] for name in combined}, abs=1e-9)
        assert result[f"{prefix}_z"] == pytest.approx(wanted["stratified_z"][kind], abs=1e-9)
