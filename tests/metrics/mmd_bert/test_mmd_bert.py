import gzip
import json
import math

import numpy as np
import pytest
from folders import GOLDEN

import vlgauge
from vlgauge.core.signatures import parse_signature

pytestmark = pytest.mark.filterwarnings("ignore:.* is a mean over sets of")  # tested in test_caption_set_corpora.py

DOGS = ["A dog leaps for a ball.", "Brown dog playing on grass.", "A puppy chases a red toy.", "Dog in mid-jump."]
PLANES = ["A jet on the runway.", "Two planes taxi past.", "An airliner takes off.", "Planes wait at the gate."]
# Settings by the sum that they choose, as the golden numbers name it.
SUMS = {"unbiased": {"estimator": "unbiased"}, "biased": {"estimator": "biased"}, "released": {"variant": "released"}}
VECTORS = {"a": [0.0, 0.0], "b": [1.0, 0.0], "c": [0.0, 2.0], "d": [3.0, 1.0], "e": [0.5, 0.5]}


def golden():
    path = next(GOLDEN.glob("mmd.json*"))
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


@pytest.fixture(scope="module")
def mmd_bert():
    return vlgauge.load("mmd_bert", keep_in_memory=True, profile="embedded", pvalue="exact", device="cpu")


@pytest.fixture(scope="module")
def plain():
    return vlgauge.load("mmd_bert", keep_in_memory=True)


def test_captions_to_numbers(mmd_bert, no_sockets):
    result = mmd_bert.compute(predictions=[DOGS, PLANES, DOGS[:1]], references=[DOGS, DOGS, DOGS])
    same, other, undefined = result["mmd_bert_scores"]
    assert same < 0 < other
    assert math.isnan(undefined)
    assert result["mmd_bert"] == pytest.approx((same + other) / 2)
    assert result["mmd_bert_pvalues"][:2] == pytest.approx([1.0, 2 / 70])
    assert result["mmd_bert_undefined"] == 1
    assert "profile:embedded" in result["mmd_bert_signature"]
    assert "|enc:sentence-transformers/all-MiniLM-L6-v2@c9745ed1|dtype:float32|" in result["mmd_bert_signature"]


def test_the_keys_of_a_test_come_only_with_it(mmd_bert, plain):
    without = plain.compute(predictions=[["a", "b"]], references=[["c", "d"]], embeddings=VECTORS)
    with_test = mmd_bert.compute(predictions=[["a", "b"]], references=[["c", "d"]], embeddings=VECTORS)
    assert list(without) == ["mmd_bert", "mmd_bert_scores", "mmd_bert_undefined", "mmd_bert_signature"]
    assert {key.removeprefix("mmd_bert_") for key in with_test.keys() - without.keys()} == {
        *("pvalue", "z", "excess", "excess_interval", "null_mean", "mean_log_pvalue", "expected_mean_log_pvalue"),
        *("pvalues", "excess_scores", "null_means", "zscores"),
    }
    assert without["mmd_bert_scores"] == with_test["mmd_bert_scores"]
    assert "seed" not in without["mmd_bert_signature"]


@pytest.mark.parametrize("estimator", SUMS)
@pytest.mark.parametrize("bandwidth", ["median", "mean", "max", "max2"])
def test_golden_cases_from_the_texts(estimator, bandwidth):
    cases = golden()["cases"]
    metric = vlgauge.load("mmd_bert", keep_in_memory=True, bandwidth=bandwidth, device="cpu", **SUMS[estimator])
    result = metric.compute(predictions=[c["predictions"] for c in cases], references=[c["references"] for c in cases])
    wanted = [case["mmd"][estimator][bandwidth] for case in cases]
    assert result["mmd_bert_scores"] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("estimator", SUMS)
@pytest.mark.parametrize("case", golden()["arrays"], ids=lambda case: case["name"])
def test_golden_arrays(estimator, case):
    metric = vlgauge.load("mmd_bert", keep_in_memory=True, pvalue="exact", **SUMS[estimator])
    sides = [[np.array(case[side])] for side in ("predictions", "references")]
    texts = [[["x"] * len(side[0])] for side in sides]
    result = metric.compute(predictions=texts[0], references=texts[1], embeddings=tuple(sides))
    wanted = case["mmd"]["median"][estimator]
    assert result["mmd_bert"] == pytest.approx(wanted["value"], abs=1e-10)
    assert result["mmd_bert_pvalues"] == pytest.approx([wanted["p"]], abs=1e-12)


def test_published_code(shared_folder):
    cases = json.loads(gzip.decompress((shared_folder / "oracles" / "trm_kbm.json.gz").read_bytes()))["cases"]
    metric = vlgauge.load("mmd_bert", keep_in_memory=True, variant="released", pvalue="exact", device="cpu")
    result = metric.compute(predictions=[c["predictions"] for c in cases], references=[c["references"] for c in cases])
    assert result["mmd_bert_scores"] == pytest.approx([c["mmd"]["released"]["median"] for c in cases], abs=1e-6)
    assert result["mmd_bert_pvalues"] == pytest.approx([c["mmd"]["released"]["p"] for c in cases], abs=1e-12)


def test_details(mmd_bert):
    result = mmd_bert.compute(
        predictions=[["a", "a"], ["a"]], references=[["c", "d"], ["b"]], embeddings=VECTORS, return_details=True
    )
    first, undefined = result["mmd_bert_details"]
    assert set(first) == {"bandwidth", "n_distinct", "n_partitions", "exact", "null_std", "null", "plane"}
    assert (first["n_distinct"], first["n_partitions"], first["exact"]) == (3, 6, True)
    assert undefined == {}


@pytest.mark.parametrize(("estimator", "value"), [("unbiased", 0.0), ("biased", 0.0), ("released", 1.00001 * 5 / 6)])
def test_equal_captions_only(estimator, value):
    metric = vlgauge.load("mmd_bert", keep_in_memory=True, pvalue="exact", **SUMS[estimator])
    result = metric.compute(predictions=[["a"] * 3], references=[["a"] * 4], embeddings=VECTORS)
    assert result["mmd_bert"] == pytest.approx(value, abs=1e-15)
    assert result["mmd_bert_pvalues"] == [1.0]


@pytest.mark.parametrize(("predictions", "references"), [(["a"], ["b", "c"]), ([], ["b", "c"]), (["a", "b"], [])])
def test_too_few_captions_are_undefined(plain, predictions, references):
    with pytest.warns(UserWarning, match=r"^`mmd_bert`.*1 rows") as caught:
        result = plain.compute(predictions=[predictions], references=[references], embeddings=VECTORS)
    assert {warning.filename for warning in caught} == {__file__}
    assert math.isnan(result["mmd_bert"])
    assert result["mmd_bert_undefined"] == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_vector_that_is_not_finite_makes_its_example_undefined(mmd_bert, bad):
    vectors = VECTORS | {"bad": [0.0, bad]}
    rows = {"predictions": [["a", "bad"], ["a", "b"]], "references": [["c", "d"], ["c", "d"]]}
    result = mmd_bert.compute(**rows, embeddings=vectors)
    alone = mmd_bert.compute(predictions=[["a", "b"]], references=[["c", "d"]], embeddings=VECTORS)
    assert np.isnan(result["mmd_bert_scores"]).tolist() == [True, False]
    assert np.isnan(result["mmd_bert_pvalues"]).tolist() == [True, False]
    assert result["mmd_bert_scores"][1] == alone["mmd_bert"]


@pytest.mark.parametrize("name", ["mmd_bert", "frechet_bert"])
def test_vectors_too_long_to_square_are_refused(name):
    metric = vlgauge.load(name, keep_in_memory=True)
    rows = {"predictions": [["a", "far"]], "references": [["c", "d"]]}
    told = r"^`embeddings`.*at most 1e\+140.*got 1e\+200"
    with pytest.raises(ValueError, match=told):
        metric.compute(**rows, embeddings=VECTORS | {"far": [-1e200, math.nan]})
    encoder = vlgauge.load(name, keep_in_memory=True, encoder=lambda texts: np.full((len(texts), 2), 1e200))
    with pytest.raises(ValueError, match=r"^`encoder`.*embeddings"):
        encoder.compute(**rows)
    assert math.isfinite(metric.compute(**rows, embeddings=VECTORS | {"far": [-1e140, 0.0]})[name])


def test_strings_are_embedded_once_each():
    seen = []

    class Counting:
        def encode(self, texts):
            seen.extend(texts)
            return np.array([[len(text), ord(text[0]) / 100] for text in texts])

    metric = vlgauge.load("mmd_bert", keep_in_memory=True, encoder=Counting())
    metric.compute(predictions=[["aa", "b"], ["aa", "aa"]], references=[["b", "cc"], ["ddd", "b"]])
    assert sorted(seen) == ["aa", "b", "cc", "ddd"]


def test_place_and_chunks_do_not_matter(mmd_bert):
    rng = np.random.default_rng(5)
    words = {f"w{i}": rng.normal(size=3).tolist() for i in range(30)}
    names = list(words)
    sets = [[list(rng.choice(names, size=k)) for k in rng.integers(2, 6, size=2)] for _ in range(25)]
    rows = {"predictions": [s[0] for s in sets], "references": [s[1] for s in sets]}
    whole = mmd_bert.compute(**rows, embeddings=words)
    small = vlgauge.load("mmd_bert", keep_in_memory=True, pvalue="exact", chunk_bytes=1).compute(
        **rows, embeddings=words
    )
    turned = mmd_bert.compute(**{key: value[::-1] for key, value in rows.items()}, embeddings=words)
    for key in ("mmd_bert_scores", "mmd_bert_pvalues", "mmd_bert_zscores"):
        assert small[key] == pytest.approx(whole[key], abs=1e-12, nan_ok=True)
        assert turned[key][::-1] == pytest.approx(whole[key], abs=1e-12, nan_ok=True)


def test_scores_stay_in_their_range(plain):
    # Lowest value: each candidate equals a reference, and all other captions are far away.
    far = {"a": [0.0, 0.0], "b": [1e9, 0.0]}
    result = plain.compute(predictions=[["a", "b"], ["a", "a"]], references=[["a", "b"], ["b", "b"]], embeddings=far)
    assert result["mmd_bert_scores"][0] >= -1.0
    tight = vlgauge.load("mmd_bert", keep_in_memory=True, bandwidth=1.0)
    result = tight.compute(predictions=[["a", "b"], ["a", "a"]], references=[["a", "b"], ["b", "b"]], embeddings=far)
    assert result["mmd_bert_scores"] == [-1.0, 2.0]


def test_order_within_a_set_does_not_matter(mmd_bert):
    one = mmd_bert.compute(predictions=[["a", "b", "c"]], references=[["d", "e"]], embeddings=VECTORS)
    two = mmd_bert.compute(predictions=[["c", "a", "b"]], references=[["e", "d"]], embeddings=VECTORS)
    assert two["mmd_bert"] == pytest.approx(one["mmd_bert"], abs=1e-14)
    assert two["mmd_bert_pvalues"] == one["mmd_bert_pvalues"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"predictions": [], "references": []}, "least one row"),
        (
            {"predictions": [["a"]], "references": [["a"], ["b"]]},
            r"^`references`.*per.*`predictions`",
        ),
        ({"predictions": [["a"], "b"], "references": [["a"], ["b"]]}, r"^`predictions\[1\]`"),
        (
            {"predictions": [["a"], ["b", 3]], "references": [["a"], ["b"]]},
            r"^`predictions\[1\]\[1\]`",
        ),
        (
            {"predictions": [["a"], None], "references": [["a"], ["b"]]},
            r"^`predictions\[1\]`",
        ),
        (
            {"predictions": [["a\ud800"]], "references": [["a"]]},
            r"^`predictions\[0\]\[0\]`.*U\+D800",
        ),
        ({"predictions": [["a"]]}, r"^`references`.*`predictions`.*`references`"),
    ],
)
def test_bad_rows_are_refused(plain, rows, message):
    with pytest.raises(ValueError, match=message):
        plain.compute(**rows)


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        ({"a": [1.0]}, r"^`embeddings`.*`predictions\[0\]\[1\]`.*got none"),
        ({"a": [1.0], "b": [1.0, 2.0], "c": [1.0], "d": [1.0]}, r"dimension.*'b'"),
        (3, r"^`embeddings`.*pair"),
        (([], []), r"^`embeddings\[0\]`.*got 0"),
        (
            ([np.ones((2, 2))], [np.ones((3, 2))]),
            r"^`embeddings\[1\]\[0\]`.*n_captions.*2 rows",
        ),
        (([np.ones((2, 2))], [np.ones((2, 3))]), r"^`embeddings`.*got 2"),
        (([np.ones((2, 0))], [np.ones((2, 0))]), r"^`embeddings`.*got 0"),
        ({name: ["1", "2"] for name in "abcd"}, r"^`embeddings\['a'\]`.*got <U1"),
        ({name: [[1.0], [1.0, 2.0]] for name in "abcd"}, r"^`embeddings\['a'\]`.*array"),
        ({name: [] for name in "abcd"}, r"dimension.*0"),
        (([[["x", "y"]] * 2], [np.ones((2, 2))]), r"^`embeddings\[0\]\[0\]`"),
    ],
)
def test_bad_embeddings_are_refused(plain, embeddings, message):
    with pytest.raises(ValueError, match=message):
        plain.compute(predictions=[["a", "b"]], references=[["c", "d"]], embeddings=embeddings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "unbiassed"}, r"^`estimator`.*got 'unbiassed'"),
        ({"estimator": "released"}, r"^`estimator`.*got 'released'"),
        ({"variant": "print"}, r"^`variant`.*got 'print'"),
        (
            {"variant": "released", "estimator": "biased"},
            r"^`estimator`.*variant='released'",
        ),
        ({"bandwidth": "modal"}, r"^`bandwidth`"),
        ({"bandwidth": -1.0}, r"^`bandwidth`"),
        ({"pvalue": "yes"}, r"^`pvalue` must be one of"),
        ({"permutations": 0}, r"^`permutations`.*at least 1"),
        ({"pooling": "max"}, r"^`pooling`.*'model'.*'cls'"),
        ({"encoder": 3}, r"^`encoder`.*function"),
        ({"profile": "toy"}, r"^`profile`.*'paper'.*'embedded'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        vlgauge.load("mmd_bert", **settings)


def test_the_signature_has_an_estimator_where_one_is_chosen():
    named = [vlgauge.load("mmd_bert", keep_in_memory=True, **settings).signature() for settings in ({}, *SUMS.values())]
    parts = [[part for part in one.split("|") if part.startswith(("variant", "estimator"))] for one in named]
    unbiased = ["variant:paper", "estimator:unbiased"]
    assert parts == [unbiased, unbiased, ["variant:paper", "estimator:biased"], ["variant:released"]]


def test_unknown_settings_are_refused():
    with pytest.raises(TypeError, match=r"^`bandwith`.*mmd_bert.*`bandwidth`"):
        vlgauge.load("mmd_bert", bandwith="median")


def test_too_many_partitions_for_an_exact_test(mmd_bert):
    captions = ["a", "b", "c", "d", "e"] * 2
    with pytest.raises(ValueError, match=r"=20000.*got 184756.*10 candidates"):
        mmd_bert.compute(predictions=[captions], references=[captions], embeddings=VECTORS)
    auto = vlgauge.load("mmd_bert", keep_in_memory=True, pvalue="auto", permutations=99)
    result = auto.compute(predictions=[captions], references=[captions], embeddings=VECTORS, return_details=True)
    assert result["mmd_bert_details"][0]["exact"] is False
    assert 0.01 <= result["mmd_bert_pvalues"][0] <= 1.0


def test_per_call_data_does_not_travel_between_processes(tmp_path):
    metric = vlgauge.load("mmd_bert", num_process=2, process_id=1, experiment_id="x", cache_dir=str(tmp_path))
    with pytest.raises(ValueError, match=r"^`embeddings`.*`num_process`.*over 1"):
        metric.compute(predictions=[["a"]], references=[["b"]], embeddings=VECTORS)


def test_the_signature_names_the_pooling_only_where_it_is_read():
    sides = {"predictions": [["a", "bb"]], "references": [["c", "dddd"]]}
    given = vlgauge.load("mmd_bert", encoder=lambda texts: np.array([[float(len(text)), 1.0] for text in texts]))
    assert "|pooling:" not in given.compute(**sides)["mmd_bert_signature"]
    assert "|pooling:model" in vlgauge.load("mmd_bert").signature()
    vectors = {text: np.ones(2) * len(text) for text in ("a", "bb", "c", "dddd")}
    fields = parse_signature(vlgauge.load("mmd_bert").compute(**sides, embeddings=vectors)["mmd_bert_signature"])[1]
    assert fields["enc"] == "given"
    assert not {"pooling", "dtype", "encoder"} & fields.keys()
