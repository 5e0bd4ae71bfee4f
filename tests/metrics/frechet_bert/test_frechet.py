"""frechet_bert: by hand, against explicit covariances and singular values, properties, the module, oracles."""

import gzip
import itertools
import json
import math

import folders
import numpy as np
import pytest
from folders import TESTS
from scipy import linalg

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.families.caption_sets.details import principal_plane
from vlgauge.stats import partitions, permutation_pvalues

pytestmark = pytest.mark.filterwarnings("ignore:.* is a mean over sets of")  # tested in test_caption_set_corpora.py

GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "frechet.json.gz").read_bytes()))
SHARED = TESTS.parents[1] / "shared" / "oracles" / "trm_kbm.json.gz"  # next to the checkout, not part of it
frechet = folder_module("frechet_bert", "frechet_bert")
plain_distance = folder_module("frechet_bert", "reference").frechet_distance


def example(n, m, *, d=6, shift=0.7, seed=0, n_examples=1):
    vectors = np.random.default_rng([seed, n, m]).normal(size=(n_examples, n + m, d))
    vectors[:, n:] = 1.3 * vectors[:, n:] + shift
    return vectors


def value(vectors, n):
    vectors = np.asarray(vectors, dtype=float)
    return frechet.frechet_distances(frechet.gram_matrices(vectors), np.arange(vectors.shape[1])[None] < n)[:, 0]


def null_and_p(vectors, n, **settings):
    gram = frechet.gram_matrices(np.asarray(vectors, dtype=float))
    null = frechet.frechet_distances(gram, partitions(n, gram.shape[1] - n, **settings).candidates)
    return null, permutation_pvalues(null, tolerance=frechet.tie_tolerances(gram))


# -- by hand ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("candidates", "references", "expected"),
    [
        # In one dimension (mu - mu')^2 + (s - s')^2; here s = sqrt(2), s' = 3 sqrt(2).
        ([[0], [2]], [[4], [10]], 36 + 8),
        ([[0], [2]], [[-3], [-1]], 9),
        # Spread along different axes: no covariance in common, 2 + 2 stays.
        ([[1, 0], [-1, 0]], [[0, 1], [0, -1]], 4),
        ([[1, 0], [-1, 0]], [[1, 0], [-1, 0]], 0),
        ([[1, 0], [1, 0]], [[0, 1], [0, 1], [0, 1]], 2),
    ],
)
def test_value_by_hand(candidates, references, expected):
    assert value([candidates + references], len(candidates)) == pytest.approx([expected], abs=1e-14)


def test_part_of_the_means_by_hand():
    gram = frechet.gram_matrices(np.array([[[0.0], [2.0], [4.0], [10.0]]]))
    assert frechet.compute_squared_mean_distances(gram, 2) == pytest.approx([36], rel=1e-15)


# -- against the definition -------------------------------------------------------------------------------------------
def by_singular_values(candidates, references):
    """Compute the distance from the vectors, with explicit covariances and the singular values of A B^T."""
    a, b = candidates - candidates.mean(axis=0), references - references.mean(axis=0)
    traces = np.trace(np.atleast_2d(np.cov(candidates.T))) + np.trace(np.atleast_2d(np.cov(references.T)))
    nuclear = linalg.svdvals(a @ b.T).sum() / math.sqrt((len(a) - 1) * (len(b) - 1))
    return np.sum((candidates.mean(axis=0) - references.mean(axis=0)) ** 2) + traces - 2 * nuclear


@pytest.mark.parametrize(("n", "m", "d"), [(2, 2, 1), (3, 3, 2), (2, 4, 6), (5, 3, 3), (4, 4, 20)])
def test_null_distribution_against_a_loop_over_all_partitions(n, m, d):
    vectors = example(n, m, d=d, n_examples=2)
    null, pvalues = null_and_p(vectors, n)
    for pooled, values, p in zip(vectors, null, pvalues, strict=True):
        expected = []
        for ours in itertools.combinations(range(n + m), n):
            theirs = [i for i in range(n + m) if i not in ours]
            expected.append(by_singular_values(pooled[list(ours)], pooled[theirs]))
        assert values == pytest.approx(np.maximum(expected, 0), rel=1e-12, abs=1e-12)
        assert p == np.mean(np.array(expected) >= expected[0] - 1e-9)


# Roots of eigenvalues near 0 have an error of 1e-8, so only covariances of full rank are compared tightly.
@pytest.mark.parametrize(("n", "m", "d", "error"), [(8, 9, 3, 1e-11), (20, 15, 4, 1e-11), (4, 7, 6, 1e-6)])
def test_value_against_the_definition(n, m, d, error):
    for pooled in example(n, m, d=d, n_examples=3):
        assert value(pooled[None], n) == pytest.approx([plain_distance(pooled[:n], pooled[n:])], rel=error)


# -- properties -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "m"), [(4, 4), (3, 5)])
def test_swapped_sides_give_the_same_value_and_p(n, m):
    vectors = example(n, m, n_examples=10)
    ours, theirs = null_and_p(vectors, n), null_and_p(np.roll(vectors, -n, axis=1), m)
    assert ours[0][:, 0] == pytest.approx(theirs[0][:, 0], rel=1e-12)
    assert np.array_equal(ours[1], theirs[1])


def test_order_shift_and_rotation_do_not_matter():
    vectors = example(4, 5, n_examples=10)
    rotation = linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    changed = vectors[:, [2, 0, 3, 1, 8, 5, 4, 7, 6]] @ rotation + 1000.0
    assert value(changed, 4) == pytest.approx(value(vectors, 4), rel=1e-9)
    assert np.array_equal(null_and_p(changed, 4)[1], null_and_p(vectors, 4)[1])


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scale_is_squared_in_the_value_and_absent_from_p(scale):
    vectors = example(4, 5, n_examples=10)
    vectors[:, 6] = vectors[:, 1]  # ties between partitions
    assert value(scale * vectors, 4) == pytest.approx(scale**2 * value(vectors, 4), rel=1e-9)
    assert np.array_equal(null_and_p(scale * vectors, 4)[1], null_and_p(vectors, 4)[1])


@pytest.mark.parametrize("n_captions", [4, 6, 10])
def test_mirror_images_of_equal_sizes_tie(n_captions):
    null, pvalues = null_and_p(example(n_captions // 2, n_captions // 2, n_examples=5), n_captions // 2)
    assert np.array_equal(null, null[:, ::-1])
    assert np.all(pvalues * null.shape[1] >= 2 - 1e-12)


def test_half_of_some_partitions_is_not_enough():
    candidates = partitions(3, 3).candidates[:7]
    gram = frechet.gram_matrices(example(3, 3))
    expected = frechet.frechet_distances(gram, partitions(3, 3).candidates)[:, :7]
    assert frechet.frechet_distances(gram, candidates) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("d", [1, 3, 384])
def test_never_negative_and_0_for_identical_sets(d):
    half = np.random.default_rng(1).normal(size=(50, 5, d))
    pooled = np.concatenate([half, half[:, ::-1]], axis=1)
    null, pvalues = null_and_p(pooled, 5)
    assert null.min() >= 0
    assert null[:, 0].tolist() == [0.0] * 50
    assert np.all(pvalues == 1.0)
    assert frechet.compute_squared_mean_distances(frechet.gram_matrices(pooled), 5).tolist() == [0.0] * 50


@pytest.mark.parametrize("seed", range(5))
def test_equal_vectors_are_0_apart_and_have_no_plane(seed):
    same = np.repeat(np.random.default_rng(seed).normal(size=(1, 1, 8)), 7, axis=1)
    assert frechet.gram_matrices(same).tolist() == np.zeros((1, 7, 7)).tolist()
    assert value(same, 3).tolist() == [0.0]
    plane = principal_plane(same[0])
    assert plane["points"].tolist() == np.zeros((7, 2)).tolist()
    assert plane["variance"].tolist() == [0.0, 0.0]


def test_equal_captions_are_at_distance_0_with_p_1():
    null, pvalues = null_and_p(np.full((2, 10, 8), 0.3, dtype=np.float32), 5)
    assert null.max() <= 1e-30
    assert pvalues.tolist() == [1.0, 1.0]


def test_an_example_does_not_depend_on_the_others_or_on_blocks(monkeypatch):
    vectors = example(5, 4, n_examples=30)
    whole = null_and_p(vectors, 5)[0]
    assert null_and_p(vectors[-3:], 5)[0] == pytest.approx(whole[-3:], rel=1e-12)
    monkeypatch.setattr(frechet, "_BLOCK", 1)
    assert null_and_p(vectors, 5)[0] == pytest.approx(whole, rel=1e-12)


def test_monte_carlo_pvalues_are_near_the_exact_ones():
    vectors, draws = example(5, 5, shift=0.3, n_examples=10), 9_999
    exact = null_and_p(vectors, 5)[1]
    found = null_and_p(vectors, 5, pvalue="monte_carlo", draws=draws)[1]
    assert np.all(np.abs(found - exact) < 4 * np.sqrt(exact * (1 - exact) / draws) + 1 / draws)


def test_exact_pvalues_are_uniform_under_the_null():
    vectors = np.random.default_rng(3).normal(size=(1_000, 10, 10))
    assert 0.03 <= np.mean(null_and_p(vectors, 5)[1] <= 0.05) <= 0.07


# -- degenerate input and errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_a_vector_that_is_not_finite_makes_only_its_example_nan(bad):
    vectors = example(3, 3, n_examples=3)
    vectors[1, 4, 0] = bad
    null, pvalues = null_and_p(vectors, 3)
    assert np.isnan(null).all(axis=1).tolist() == [False, True, False]
    assert np.isnan(pvalues).tolist() == [False, True, False]
    assert null[::2] == pytest.approx(null_and_p(vectors[::2], 3)[0], rel=1e-12)


# -- the module -------------------------------------------------------------------------------------------------------
VECTORS = {"a": [0.0, 0.0], "b": [1.0, 0.0], "c": [0.0, 2.0], "d": [3.0, 1.0], "e": [0.5, 0.5]}


@pytest.fixture(scope="module")
def metric():
    return vlgauge.load("frechet_bert", keep_in_memory=True, profile="embedded", pvalue="exact", device="cpu")


def test_captions_to_numbers(metric, no_sockets):
    cases = GOLDEN["cases"][::2]
    result = metric.compute(predictions=[c["predictions"] for c in cases], references=[c["references"] for c in cases])
    wanted = [case["frechet"] for case in cases]
    assert result["frechet_bert_scores"] == pytest.approx([one["value"] for one in wanted], abs=1e-5)
    assert min(result["frechet_bert_scores"]) >= 0
    assert result["frechet_bert_pvalues"] == pytest.approx([one["p"] for one in wanted], abs=1e-12)
    assert result["frechet_bert_null_means"] == pytest.approx([one["null_mean"] for one in wanted], abs=1e-5)
    assert (
        "|profile:embedded|enc:sentence-transformers/all-MiniLM-L6-v2@c9745ed1|dtype:float32|"
        in result["frechet_bert_signature"]
    )


def test_details_and_undefined_examples(metric):
    rows = {"predictions": [["a", "b"], ["a"], []], "references": [["c", "d", "d"], ["b", "c"], ["a", "b"]]}
    result = metric.compute(**rows, embeddings=VECTORS, return_details=True)
    assert np.isnan(result["frechet_bert_scores"]).tolist() == [False, True, True]
    assert result["frechet_bert_undefined"] == 2
    first = result["frechet_bert_details"][0]
    assert first == {
        **{"squared_mean_distance": pytest.approx((2.0 - 0.5) ** 2 + (4 / 3) ** 2), "n_distinct": 4},
        **{"n_partitions": 10, "exact": True, "null_std": first["null_std"]},
        **{"null": first["null"], "plane": first["plane"]},
    }
    assert sum(first["null"]["counts"]) == 10
    assert len(first["plane"]["points"]) == 5
    assert first["null_std"] > 0
    assert result["frechet_bert_details"][1:] == [{}, {}]


def test_score_without_a_test_is_the_same(metric):
    plain = vlgauge.load("frechet_bert", keep_in_memory=True)
    rows = {"predictions": [["a", "b"], ["e", "c"]], "references": [["c", "d", "d"], ["b", "c"]]}
    without, with_test = (m.compute(**rows, embeddings=VECTORS) for m in (plain, metric))
    assert without["frechet_bert_scores"] == pytest.approx(with_test["frechet_bert_scores"], rel=1e-14)
    assert list(without) == [f"frechet_bert{key}" for key in ("", "_scores", "_undefined", "_signature")]


def test_pvalues_of_the_module_do_not_depend_on_the_scale(metric):
    rows = {"predictions": [["a", "e", "b"]], "references": [["d", "c", "d"]]}
    tiny = {caption: [1e-6 * x for x in vector] for caption, vector in VECTORS.items()}
    one, other = (metric.compute(**rows, embeddings=vectors) for vectors in (VECTORS, tiny))
    assert 0.1 <= one["frechet_bert_pvalues"][0] < 1
    assert other["frechet_bert_pvalues"] == one["frechet_bert_pvalues"]


def test_too_many_partitions_are_told_before_the_captions_are_encoded():
    def never(texts):
        raise AssertionError

    sizes = {"predictions": [["a"] * 200], "references": [["b"] * 200]}
    metric = vlgauge.load("frechet_bert", keep_in_memory=True, pvalue="exact", encoder=never)
    with pytest.raises(ValueError, match=r"`max_partitions`=20000.*got 1\.0e119"):
        metric.compute(**sizes)


# -- oracles ----------------------------------------------------------------------------------------------------------
def check_case(case):
    gram = np.array(case["gram"])
    centring = np.eye(len(gram)) - 1 / len(gram)
    gram = (centring @ gram @ centring)[None]
    gram[np.abs(gram) < 1e-14] = 0.0  # the remainder of equal captions after the product is rounding, not variance
    n = len(case["predictions"])
    null = frechet.frechet_distances(gram, partitions(n, gram.shape[1] - n).candidates)
    found = {"value": null[0, 0], "p": permutation_pvalues(null, tolerance=frechet.tie_tolerances(gram))[0]}
    found |= {"null_mean": null.mean(), "null_std": null.std()}
    assert found == pytest.approx(case["frechet"], abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_captions_of_the_oracle(case):
    check_case(case)


@pytest.mark.parametrize("case", GOLDEN["arrays"], ids=lambda case: case["name"])
def test_arrays_of_the_oracle(case):
    expected = case["frechet"]
    null, pvalues = null_and_p([case["predictions"] + case["references"]], len(case["predictions"]))
    assert [null[0, 0], pvalues[0]] == pytest.approx([expected["value"], expected["p"]], abs=1e-12)
    # The null moments of the file hold to 5e-8: with 50 digits they come out up to 4.4e-8 higher, as here.
    assert [null.mean(), null.std()] == pytest.approx([expected["null_mean"], expected["null_std"]], abs=5e-8)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the reference material next to the checkout")
@pytest.mark.parametrize("name", ["13_coco_two_images", "18_paper_figure_1"])
def test_coco_captions_of_the_reference_material(name):
    cases = json.loads(gzip.decompress(SHARED.read_bytes()))["cases"]
    check_case(next(case for case in cases if case["name"] == name))
