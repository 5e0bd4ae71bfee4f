"""Corpus results of trm, mmd_bert and frechet_bert: the p-value, the excess, and warnings about set sizes."""

import math
import re
import warnings

import numpy as np
import pytest

import vlgauge
from vlgauge.stats import bootstrap_interval

METRICS = ("trm", "mmd_bert", "frechet_bert")


def points(n_examples, *, n=5, m=5, shift=0.0, every=1, scale=1.0, seed=0):
    """Return candidates and references as Gaussian vectors. One in `every` examples is shifted."""
    rng = np.random.default_rng(seed)
    ours, theirs = (list(rng.normal(size=(n_examples, size, 10))) for size in (n, m))
    for i in range(0, n_examples, every):
        ours[i] = ours[i] + shift
    return [scale * one for one in ours], [scale * one for one in theirs]


def scored(name, sides, **settings):
    """Return the result of a metric on vectors, with names of the vectors as captions."""
    captions = [[[f"{i}.{j}.{side}" for j in range(len(one))] for i, one in enumerate(sides[side])] for side in (0, 1)]
    rows = {"predictions": captions[0], "references": captions[1]}
    if name == "trm":
        pooled = [np.concatenate(pair) for pair in zip(*sides, strict=True)]
        matrices = [np.linalg.norm(one[:, None] - one[None], axis=2) for one in pooled]
        metric = vlgauge.load("trm", keep_in_memory=True, distance="precomputed", **settings)
        return metric.compute(**rows, distances=matrices)
    metric = vlgauge.load(name, keep_in_memory=True, **settings)
    return metric.compute(**rows, embeddings=sides)


@pytest.mark.parametrize("name", METRICS)
def test_the_corpus_p_leads_and_no_harmonic_mean_is_next_to_it(name):
    result = scored(name, points(4), pvalue="exact")
    assert list(result)[4:8] == [f"{name}_{key}" for key in ("pvalue", "z", "excess", "excess_interval")]
    assert not [key for key in result if "harmonic" in key or "stratified" in key]


@pytest.mark.parametrize("name", METRICS)
def test_the_excess_is_the_score_less_its_null_mean(name):
    result = scored(name, points(20, shift=0.6, seed=5), pvalue="exact")
    scores, null_means = (np.array(result[f"{name}_{key}"]) for key in ("scores", "null_means"))
    assert result[f"{name}_excess_scores"] == pytest.approx(scores - null_means)
    assert result[f"{name}_excess"] == pytest.approx(np.mean(scores - null_means))
    interval = bootstrap_interval(scores - null_means)
    assert result[f"{name}_excess_interval"] == pytest.approx([interval.low, interval.high])
    assert interval.low > 0.0


@pytest.mark.parametrize("name", METRICS)
def test_the_corpus_p_finds_what_harmonic_means_miss(name):
    # One image in ten is wrong. The smallest p of each is 2/252, for which a harmonic mean is not significant.
    result = scored(name, points(100, shift=1.0, every=10), pvalue="exact")
    assert result[f"{name}_pvalue"] <= 0.05
    assert vlgauge.stats.compute_calibrated_harmonic_pvalue(result[f"{name}_pvalues"]) > 0.05


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(("n", "m"), [(2, 3), (5, 5)])
def test_mean_log_p_has_the_expectation_of_its_lattice(name, n, m):
    result = scored(name, points(150, n=n, m=m, seed=1), pvalue="exact")
    found, expected = (result[f"{name}_{key}"] for key in ("mean_log_pvalue", "expected_mean_log_pvalue"))
    error = np.std(np.log(result[f"{name}_pvalues"])) / math.sqrt(150)
    assert abs(found - expected) < 4 * error
    assert expected + 1.0 > (0.2 if n == 2 else 0.02)


@pytest.mark.parametrize("name", METRICS)
def test_one_seed_one_corpus_p_and_never_0(name):
    sides = points(30, shift=3.0, seed=2)
    first, again = (scored(name, sides, pvalue="exact", permutations=199) for _ in range(2))
    in_chunks = scored(name, sides, pvalue="exact", permutations=199, chunk_bytes=1)
    assert first[f"{name}_pvalue"] == again[f"{name}_pvalue"] == in_chunks[f"{name}_pvalue"] == 1 / 200
    null = points(30, seed=3)
    of_seeds = {scored(name, null, pvalue="exact", permutations=199, seed=seed)[f"{name}_pvalue"] for seed in range(3)}
    assert len(of_seeds) > 1


@pytest.mark.parametrize("scale", [1e-120, 1e-6, 1e6, 1e120])
def test_the_corpus_p_of_frechet_does_not_depend_on_the_scale_of_vectors(scale):
    one, other = (scored("frechet_bert", points(30, shift=0.4, scale=by), pvalue="exact") for by in (1.0, scale))
    for key in ("pvalue", "z", "mean_log_pvalue", "expected_mean_log_pvalue"):
        assert other[f"frechet_bert_{key}"] == pytest.approx(one[f"frechet_bert_{key}"], rel=1e-6), key
    assert other["frechet_bert_zscores"] == pytest.approx(one["frechet_bert_zscores"], rel=1e-6)
    assert other["frechet_bert_excess"] == pytest.approx(scale**2 * one["frechet_bert_excess"], rel=1e-6)


@pytest.mark.parametrize("name", METRICS)
def test_captions_that_are_all_equal_have_no_excess_at_all(name):
    sides = [np.full((2, 3, 4), 0.1), np.full((2, 5, 4), 0.1)]
    result = scored(name, sides, pvalue="exact")
    assert result[f"{name}_pvalues"] == [1.0, 1.0]
    assert result[f"{name}_excess_interval"] == [0.0, 0.0]
    assert math.isnan(result[f"{name}_pvalue"])  # all captions are equal, so that there is no test


# -- sizes ------------------------------------------------------------------------------------------------------------
def ragged(*sizes):
    sides = [points(1, n=n, m=m, seed=i) for i, (n, m) in enumerate(sizes)]
    return [one[0][0] for one in sides], [one[1][0] for one in sides]


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(
    ("pvalue", "advice"), [(None, "load it with `pvalue` and read `{}_excess` first"), ("exact", "read `{}_excess`")]
)
def test_mixed_sizes_are_told_once_with_their_counts(name, pvalue, advice):
    sides = ragged((3, 4), (2, 2), (3, 4), (1, 4))
    with pytest.warns(UserWarning, match="over sets") as caught:
        scored(name, sides, pvalue=pvalue, chunk_bytes=1)
    assert {warning.filename for warning in caught} == {__file__}
    assert len(caught) == 1
    expected = f"`{name}` is a mean over sets of 2 sizes, whose scores are not comparable: 2 of 3v4, 1 of 2v2; "
    assert str(caught[0].message).startswith(expected + advice.format(name))


def test_many_sizes_are_not_all_named():
    sizes = [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 3)]
    with pytest.warns(
        UserWarning, match=re.escape("1 of 3v2 and 1 other sizes") + "|2 of 3v3, .* and 1 other sizes"
    ) as caught:
        scored("trm", ragged(*sizes))
    assert {warning.filename for warning in caught} == {__file__}


def test_equal_sizes_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scored("trm", ragged((3, 4), (3, 4), (1, 4)), pvalue="exact")


@pytest.mark.parametrize("name", METRICS)
def test_one_candidate_per_image_is_told(name):
    sides = ragged((1, 3), (1, 1), (0, 2))
    message = (
        f"`{name}` is undefined for all of 3 rows, because each side requires at least 2 captions: 3 rows have fewer "
    )
    with pytest.warns(UserWarning, match=message + "candidates, 1 fewer references") as caught:
        result = scored(name, sides, pvalue="exact")
    assert {warning.filename for warning in caught} == {__file__}
    assert result[f"{name}_undefined"] == 3
    assert math.isnan(result[f"{name}_pvalue"])
    assert np.isnan(result[f"{name}_excess_interval"]).all()


@pytest.mark.parametrize("name", ["mmd_bert", "frechet_bert"])
@pytest.mark.filterwarnings("ignore:.* texts have no word in")
def test_captions_of_which_the_encoder_knows_no_word_are_undefined_and_not_the_best(name, tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("dog 1 0\nplane 0 1\n", encoding="utf-8")
    metric = vlgauge.load(name, encoder=f"vectors:{file}", pvalue="exact", keep_in_memory=True)
    unknown = ["собака", "кот"]
    with pytest.warns(UserWarning, match=rf"1 rows.*`encoder`.*`{name}`"):
        result = metric.compute(
            predictions=[unknown, unknown, ["dog", "dog"]],
            references=[["пёс", "самолёт"], ["dog", "plane"], ["dog", "dog"]],
            return_details=True,
        )
    # There is a score if one side is known, or if the captions are equal.
    assert np.isnan(result[f"{name}_scores"]).tolist() == [True, False, False]
    assert np.isnan(result[f"{name}_pvalues"]).tolist() == [True, False, False]
    assert result[f"{name}_undefined"] == 1
    assert result[f"{name}_details"][0]["plane"] == {}


@pytest.mark.parametrize("name", ["mmd_bert", "frechet_bert"])
def test_captions_that_differ_and_have_one_vector_are_told(name):
    def blind(texts):
        return np.ones((len(texts), 2))

    metric = vlgauge.load(name, encoder=blind, keep_in_memory=True)
    with pytest.warns(UserWarning, match=r"^`encoder`.*1 rows"):
        result = metric.compute(
            predictions=[["a dog", "a cat"], ["A dog", "a dog"]], references=[["a jet", "a bus"], ["a  dog", "a dog"]]
        )
    assert result[f"{name}_scores"] == [0.0, 0.0]
