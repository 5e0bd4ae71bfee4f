"""Error messages of trm, and changes of the input that must not affect its scores."""

import json
import math

import numpy as np
import pytest

import vlgauge

pytestmark = pytest.mark.filterwarnings("ignore:.* is a mean over sets of")  # tested in test_caption_set_corpora.py

DOGS = ["a dog runs on grass", "a brown dog running", "a puppy at play", "the dog chases a ball"]
JETS = ["two planes wait", "a jet on the runway", "an airliner takes off", "a plane in the sky"]


def load(**settings):
    return vlgauge.load("trm", keep_in_memory=True, **settings)


@pytest.fixture(scope="module")
def exact():
    return load(pvalue="exact")


# -- invariance -------------------------------------------------------------------------------------------------------
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
    assert in_chunks["trm_pvalue"] == whole["trm_pvalue"]


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
def test_a_hundred_against_a_hundred():
    rng = np.random.default_rng(0)
    rows = {"predictions": [[f"c{i}" for i in range(100)]], "references": [[f"r{i}" for i in range(100)]]}
    matrix = rng.random((1, 200, 200))
    message = r"^`pvalue='exact'`.*=20000.*got 9\.1e58"
    with pytest.raises(ValueError, match=message):
        load(distance="precomputed", pvalue="exact").compute(**rows, distances=matrix)
    auto = load(distance="precomputed", pvalue="auto", permutations=4)
    result = auto.compute(**rows, distances=matrix, return_details=True)
    details = result["trm_details"][0]
    assert (details["exact"], details["n_partitions"]) == (False, math.comb(200, 100))
    assert 0.2 <= result["trm_pvalue"] <= 1.0
    assert result["trm"] < 0.02


def test_monte_carlo_draws_follow_the_seed():
    rows = {"predictions": [DOGS], "references": [JETS]}
    settings = {"pvalue": "monte_carlo", "permutations": 99}
    one, two, other = (load(**settings, seed=seed).compute(**rows) for seed in (1, 1, 2))
    assert one == two
    assert one["trm_null_means"] != other["trm_null_means"]
    assert one["trm_signature"].endswith("|pvalue:monte_carlo|max_partitions:20000|permutations:99|seed:1")


# -- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"distance": "metoer"}, r"^`distance`.*got 'metoer'.*`meteor`"),
        (
            {"distance": 3},
            r"^`distance`.*'meteor'.*'meteor_1\.5'",
        ),
        ({"ties": "coin"}, r"^`ties`.*got 'coin'"),
        ({"tie_tol": -1e-9}, r"^`tie_tol`.*at least 0.*got -1e-09"),
        ({"tie_tol": math.nan}, r"^`tie_tol`.*at least 0.*got nan"),
        ({"tie_tol": True}, r"^`tie_tol`.*at least 0.*got True"),
        ({"tie_tol": "small"}, r"^`tie_tol`.*at least 0.*got 'small'"),
        ({"force_zero_self": "no"}, r"^`force_zero_self`.*got 'no'"),
        ({"mean_aggregate": 1}, r"^`mean_aggregate`.*got 1"),
        (
            {"mean_aggregate": True, "distance": "precomputed"},
            r"^`mean_aggregate`.*got 'precomputed'",
        ),
        ({"mean_aggregate": True, "distance": max}, r"^`mean_aggregate`.*distance"),
        (
            {"df": "refs"},
            r"^`df`.*got 'refs'",
        ),
        ({"df": 3}, "`df` must be 'references', 'pooled', a DocumentFrequency"),
        ({"tokenizer": "words"}, r"^`tokenizer`.*got 'words'"),
        ({"workers": 0}, r"^`workers`.*at least 1.*got 0"),
        ({"pvalue": "approximate"}, r"^`pvalue`.*got 'approximate'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        load(**settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, r"^`distances`.*2 in all, got NoneType"),
        ([np.zeros((4, 4))], r"^`distances`.*2 in all, got 1"),
        ([np.zeros((4, 4)), np.zeros((4, 5))], r"^`distances\[1\]`"),
        ([np.zeros((5, 5)), np.zeros((5, 5))], r"^`distances\[0\]`.*\(4, 4\).*got \(5, 5\)"),
        ([np.zeros(16), np.zeros((5, 5))], r"^`distances\[0\]`.*16"),
        (
            [[[0.0, 1.0], [0.0]], np.zeros((5, 5))],
            r"^`distances\[0\]`.*real",
        ),
        ([np.full((4, 4), "x"), np.zeros((5, 5))], r"^`distances\[0\]`.*got <U1"),
        (
            [np.zeros((4, 4), complex), np.zeros((5, 5))],
            r"^`distances\[0\]`.*got complex128",
        ),
        ([None, np.zeros((5, 5))], r"^`distances\[0\]`.*object"),
    ],
)
def test_bad_matrices_are_refused(given, message):
    metric = load(distance="precomputed")
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=[["a", "b"]] * 2, references=[["c", "d"], ["c", "d", "e"]], distances=given)


def test_matrices_without_the_setting_are_refused(exact):
    with pytest.raises(ValueError, match="`distances` requires distance='precomputed'"):
        exact.compute(predictions=[["a", "b"]], references=[["c", "d"]], distances=[np.zeros((4, 4))])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            lambda a, b: None,
            r"`distance`.*real",
        ),
        (lambda a, b: [0.0], r"`distance`.*shape"),
        (lambda a, b: "far", r"`distance`.*real"),
    ],
)
def test_functions_that_return_no_numbers_are_refused(returned, message):
    with pytest.raises(ValueError, match=message):
        load(distance=returned).compute(predictions=[["a", "b"]], references=[["c", "d"]])


@pytest.mark.parametrize("returned", ["a dog", [1, 2], [["a"]]])
def test_tokenizers_that_return_no_tokens_are_refused(returned):
    metric = load(tokenizer=lambda text: returned)
    with pytest.raises(ValueError, match=r"^`tokenizer`.*'x'"):
        metric.compute(predictions=[["x", "x"]], references=[["x", "x"]])
