"""trm from captions to numbers: distances, settings, undefined examples, the baseline of Eq. 1, errors."""

import gzip
import json
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import vlgauge
from vlgauge.cider import DocumentFrequency
from vlgauge.meteor import meteor_distances
from vlgauge.meteor import meteor_score

HERE = Path(__file__).resolve().parent
GOLDEN = json.loads(gzip.decompress((HERE / "golden" / "trm.json.gz").read_bytes()))
CASES = GOLDEN["cases"]
ROWS = {side: [case[side] for case in CASES] for side in ("predictions", "references")}
DOGS = ["a dog runs on grass", "a brown dog running", "a puppy at play", "the dog chases a ball"]
JETS = ["two planes wait", "a jet on the runway", "an airliner takes off", "a plane in the sky"]
KEYS = ("pvalues", "pvalue", "pvalue_harmonic", "mean_log_pvalue", "null_means", "zscores", "null_mean")
TEST_KEYS = (*KEYS, "stratified_z", "stratified_pvalue")


def load(**settings):
    return vlgauge.load("trm", keep_in_memory=True, **settings)


def coco_df():
    table = GOLDEN["cider_df"]
    return DocumentFrequency({tuple(ngram.split(" ")): n for ngram, n in table["df"].items()}, table["documents"])


def expected(distance, ties="fractional"):
    """Per key of the result, the numbers of the oracle."""
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
@pytest.mark.filterwarnings("ignore:ROUGE-L sees no letters")
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
    assert "trm|0.1.0|profile:embedded|distance:bert|" in result["trm_signature"]
    assert (
        "|tie_tol:1e-06|force_zero_self:False|encoder:all-MiniLM-L6-v2@53aa5117|pooling:model|"
        in (result["trm_signature"])
    )


@pytest.mark.parametrize("distance", ["meteor", "meteor_1.5", "cider_d"])
def test_given_matrices(distance):
    matrices = [case["distances"][distance] for case in CASES]
    metric = load(distance="precomputed", pvalue="exact")
    check(metric.compute(**ROWS, distances=matrices), expected(distance))
    check(metric.compute(**ROWS, distances=tuple(map(np.array, matrices))), expected(distance))


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
    assert "|distance:custom(test_trm.test_functions_as_distance.<locals>." in result["trm_signature"]
    assert result["trm_details"][0]["n_distinct"] == 8
    assert "n_empty" not in result["trm_details"][0]


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
    start = "trm|0.1.0|distance:meteor-2007+wn3.0|ties:fractional|tie_tol:1e-12|force_zero_self:False"
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
    alone = exact.compute(predictions=[DOGS[:n]], references=[JETS[:m]])
    assert math.isnan(alone["trm"])
    assert math.isnan(alone["trm_stratified_z"])


def test_captions_that_vanish_still_score():
    result = load(distance="cider_d", df=coco_df(), pvalue="exact").compute(
        predictions=[["...", "?!", "", " "]], references=[["a dog", "--", "two dogs"]], return_details=True
    )
    assert result["trm_details"][0]["n_empty"] == 5
    assert 0 <= result["trm"] <= 4 / 3


def test_one_caption_ten_times_has_q_0_and_p_1(exact):
    result = exact.compute(predictions=[["a man"] * 5, [""] * 2], references=[["A man."] * 5, ["!"] * 3])
    assert result["trm_scores"] == [0.0, 0.0]
    assert result["trm_pvalues"] == [1.0, 1.0]
    assert result["trm_separate_scores"] == [0.0, 0.0]
    assert np.isnan(result["trm_zscores"]).all()


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


def test_captions_of_equal_tokens_have_distance_0_on_request():
    rows = {"predictions": [["Dogs.", "a cat", "one red bus"]], "references": [["dogs", "dogs!", "two men"]]}
    plain, forced = load(return_details=None) if False else load(), load(force_zero_self=True)
    assert plain.compute(**rows)["trm"] != forced.compute(**rows)["trm"]
    matrix = meteor_distances([*rows["predictions"][0], *rows["references"][0]])
    equal = np.array([[0, 1, 2, 0, 0, 3]])
    matrix[equal == equal.T] = 0.0
    by_hand = load(distance="precomputed").compute(**rows, distances=[matrix])
    assert forced.compute(**rows)["trm"] == by_hand["trm"]
    assert "|force_zero_self:True" in forced.compute(**rows)["trm_signature"]


# -- what must not matter ---------------------------------------------------------------------------------------------
def random_rows(n_examples=25, seed=5):
    rng = np.random.default_rng(seed)
    captions = [" ".join(rng.choice([*"abcdefgh"], rng.integers(1, 7))) for _ in range(40)]
    sizes = rng.integers(2, 6, (n_examples, 2))
    sets = [[list(rng.choice(captions, size)) for size in pair] for pair in sizes]
    return {"predictions": [pair[0] for pair in sets], "references": [pair[1] for pair in sets]}


@pytest.mark.parametrize("distance", ["meteor", "rouge_l"])
def test_place_and_chunks_do_not_matter(distance):
    rows = random_rows()
    metric, small = (load(distance=distance, pvalue="exact", **one) for one in ({}, {"chunk_bytes": 1}))
    whole = metric.compute(**rows)
    turned = metric.compute(**{side: sets[::-1] for side, sets in rows.items()})
    in_chunks = small.compute(**rows)
    for key in ("trm_scores", "trm_pvalues", "trm_null_means", "trm_zscores", "trm_separate_scores"):
        assert in_chunks[key] == pytest.approx(whole[key], rel=1e-13, nan_ok=True)
        assert turned[key][::-1] == pytest.approx(whole[key], rel=1e-13, nan_ok=True)
    assert in_chunks["trm_stratified_pvalue"] == whole["trm_stratified_pvalue"]


def test_number_of_workers_does_not_matter():
    rows = random_rows(6)
    one, two = (load(workers=n, pvalue="exact").compute(**rows, return_details=True) for n in (1, 2))
    assert json.dumps(one) == json.dumps(two)


def test_order_within_a_set_does_not_matter(exact):
    one = exact.compute(predictions=[DOGS], references=[JETS])
    two = exact.compute(predictions=[DOGS[::-1]], references=[[JETS[i] for i in (2, 0, 3, 1)]])
    for key in ("trm", "trm_separate", "trm_pvalues", "trm_separate_pvalues"):
        assert two[key] == pytest.approx(one[key], rel=1e-14)


def test_swapped_sides_give_the_same_numbers(exact):
    one = exact.compute(predictions=[DOGS[:3]], references=[JETS])
    two = exact.compute(predictions=[JETS], references=[DOGS[:3]])
    for key in ("trm", "trm_separate", "trm_pvalues", "trm_separate_pvalues"):
        assert two[key] == pytest.approx(one[key], rel=1e-14)


# -- partitions -------------------------------------------------------------------------------------------------------
def test_two_hundred_against_two_hundred():
    rng = np.random.default_rng(0)
    rows = {"predictions": [[f"c{i}" for i in range(200)]], "references": [[f"r{i}" for i in range(200)]]}
    matrix = rng.random((1, 400, 400))
    message = (
        "`pvalue`='exact' must have at most `max_partitions`=20000 partitions, got 1.0e119 for 200 candidates and 200 "
        "references; raise `max_partitions` or use 'auto'"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        load(distance="precomputed", pvalue="exact").compute(**rows, distances=matrix)
    auto = load(distance="precomputed", pvalue="auto", permutations=9)
    result = auto.compute(**rows, distances=matrix, return_details=True)
    details = result["trm_details"][0]
    assert (details["exact"], details["n_partitions"]) == (False, math.comb(400, 200))
    assert 0.1 <= result["trm_pvalue"] <= 1.0
    assert result["trm"] < 0.02


def test_monte_carlo_draws_follow_the_seed():
    rows = {"predictions": [DOGS], "references": [JETS]}
    settings = {"pvalue": "monte_carlo", "permutations": 99}
    one, two, other = (load(**settings, seed=seed).compute(**rows) for seed in (1, 1, 2))
    assert one == two
    assert one["trm_null_means"] != other["trm_null_means"]
    assert one["trm_signature"].endswith("|pvalue:monte_carlo|max_partitions:20000|permutations:99|seed:1")


# -- CIDEr-D's document frequencies -----------------------------------------------------------------------------------
def test_few_documents_are_warned_of():
    metric = load(distance="cider_d")
    with pytest.warns(UserWarning, match="document frequencies from the references of 1 examples, too few"):
        result = metric.compute(predictions=[DOGS], references=[JETS])
    assert result["trm"] == 0.0  # ln 1 - ln 1: no n-gram has weight, and all distances tie
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.compute(predictions=[DOGS] * 50, references=[JETS] * 50)


def test_sources_of_document_frequencies(tmp_path):
    rows = {"predictions": [DOGS, JETS] * 25, "references": [JETS, DOGS[:3]] * 25}
    table = DocumentFrequency.from_references(rows["references"])
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
            f"|distance:cider_d|ties:fractional|tie_tol:1e-12|force_zero_self:False|df:{name}"
            in (result["trm_signature"])
        )
    scores = [result["trm_scores"] for result in results.values()]
    assert scores[0] == scores[1] == scores[2]
    pooled = DocumentFrequency.from_pooled(rows["predictions"], rows["references"])
    assert load(distance="cider_d", df=pooled).compute(**rows)["trm_scores"] == scores[3]


def test_letters_that_rouge_l_does_not_see_are_warned_of_once():
    metric = load(distance="rouge_l")
    with pytest.warns(UserWarning, match="sees no letters but a-z; those in 'un café' vanish") as caught:
        metric.compute(predictions=[["un café", "née"]], references=[["naïve", "a dog"]])
    assert len(caught) == 1


def test_tokenizer_of_the_user():
    by_space, by_rule = load(tokenizer=str.split), load()
    rows = {"predictions": [["a dog.", "a dog!", "a cat"]], "references": [["a dog", "one dog", "dogs"]]}
    assert by_space.compute(**rows)["trm"] != by_rule.compute(**rows)["trm"]
    assert "|tokenizer:custom(builtins.str.split)" in by_space.compute(**rows)["trm_signature"]


# -- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"distance": "metoer"}, r"`distance` must be one of 'meteor', .*, got 'metoer'; did you mean `meteor`\?"),
        ({"distance": 3}, "`distance` must be one of 'meteor', 'cider_d', 'rouge_l', 'bleu_4', 'bert', 'precomputed'"),
        ({"ties": "coin"}, "`ties` must be one of 'fractional', 'paper', got 'coin'"),
        ({"tie_tol": -1e-9}, "`tie_tol` must be a finite number of at least 0, got -1e-09"),
        ({"tie_tol": math.nan}, "`tie_tol` must be a finite number of at least 0, got nan"),
        ({"tie_tol": True}, "`tie_tol` must be a finite number of at least 0, got True"),
        ({"tie_tol": "small"}, "`tie_tol` must be a finite number of at least 0, got 'small'"),
        ({"force_zero_self": "no"}, "`force_zero_self` must be True or False, got 'no'"),
        ({"mean_aggregate": 1}, "`mean_aggregate` must be True or False, got 1"),
        (
            {"mean_aggregate": True, "distance": "precomputed"},
            "`mean_aggregate` must have a named distance, whose score it can take, got 'precomputed'",
        ),
        ({"mean_aggregate": True, "distance": max}, "`mean_aggregate` must have a named distance"),
        (
            {"df": "refs"},
            "`df` must be 'references', 'pooled', a DocumentFrequency or the path of a file .* got 'refs'",
        ),
        ({"df": 3}, "`df` must be 'references', 'pooled', a DocumentFrequency"),
        ({"tokenizer": "ptb"}, "`tokenizer` must be a function from str to list of str, got 'ptb'"),
        ({"backend": "java"}, "`backend` must be one of 'own', 'nltk', 'meteor-1.5', got 'java'"),
        ({"jar": "x.jar"}, "`jar` must be left out unless `backend` is 'meteor-1.5', got 'x.jar'"),
        ({"workers": 0}, "`workers` must be a whole number of at least 1, got 0"),
        ({"pvalue": "approximate"}, "`pvalue` must be one of 'exact', 'auto', 'monte_carlo', got 'approximate'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        load(**settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "`distances` must have one array per example, got NoneType for 2 examples"),
        ([np.zeros((4, 4))], "`distances` must have one array per example, got 1 for 2 examples"),
        ([np.zeros((4, 4)), np.zeros((4, 5))], r"`distances\[1\]` must have shape \(5, 5\), .* got \(4, 5\)"),
        ([np.zeros((5, 5)), np.zeros((5, 5))], r"`distances\[0\]` must have shape \(4, 4\), .* got \(5, 5\)"),
        ([np.zeros(16), np.zeros((5, 5))], r"`distances\[0\]` must have shape \(4, 4\), .* got \(16,\)"),
        ([[[0.0, 1.0], [0.0]], np.zeros((5, 5))], r"`distances\[0\]` must hold real numbers in equally long rows, got"),
        ([np.full((4, 4), "x"), np.zeros((5, 5))], r"`distances\[0\]` must hold real numbers .* got <U1"),
        ([np.zeros((4, 4), complex), np.zeros((5, 5))], r"`distances\[0\]` must hold real numbers .* got complex128"),
        ([None, np.zeros((5, 5))], r"`distances\[0\]` must hold real numbers in equally long rows, got object"),
    ],
)
def test_bad_matrices_are_refused(given, message):
    metric = load(distance="precomputed")
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=[["a", "b"]] * 2, references=[["c", "d"], ["c", "d", "e"]], distances=given)


def test_matrices_without_the_setting_are_refused(exact):
    with pytest.raises(ValueError, match="`distances` must be left out unless `distance` is 'precomputed', got some"):
        exact.compute(predictions=[["a", "b"]], references=[["c", "d"]], distances=[np.zeros((4, 4))])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda a, b: None, "what `distance` returns, for all pairs, must hold real numbers in equally long rows, got"),
        (lambda a, b: [0.0], r"what `distance` returns, for all pairs, must have shape \(4, 4\), .* got \(4, 4, 1\)"),
        (lambda a, b: "far", "what `distance` returns, for all pairs, must hold real numbers"),
    ],
)
def test_functions_that_return_no_numbers_are_refused(returned, message):
    with pytest.raises(ValueError, match=message):
        load(distance=returned).compute(predictions=[["a", "b"]], references=[["c", "d"]])


@pytest.mark.parametrize("returned", ["a dog", [1, 2], [["a"]]])
def test_tokenizers_that_return_no_tokens_are_refused(returned):
    metric = load(tokenizer=lambda text: returned)
    with pytest.raises(ValueError, match="`tokenizer` must return a list of str, got .* for 'x'"):
        metric.compute(predictions=[["x", "x"]], references=[["x", "x"]])
