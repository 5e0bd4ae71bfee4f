"""The formulas of clip_s and pac_s for images."""

import math

import numpy as np
import pytest
from tiny_clip import golden_json

from vlgauge.families.clip_score.formula import (
    clip_scores,
    group_maxima,
    group_means,
    pair_cosines,
    reference_scores,
    unit_rows,
)

ROWS = golden_json("formula.json")["rows"]
W = golden_json("formula.json")["meta"]["w"]


def definition(caption, image, references, w, clamp):
    """Score and reference score of one caption, number by number, in double precision."""

    def cosine(a, b):
        dot = sum(float(x) * float(y) for x, y in zip(a, b, strict=True))
        return dot / math.sqrt(sum(float(x) ** 2 for x in a)) / math.sqrt(sum(float(y) ** 2 for y in b))

    p = w * max(cosine(caption, image), 0.0)
    if not references:
        return p, math.nan
    s = max(cosine(caption, reference) for reference in references)
    s = max(s, 0.0) if clamp else s
    if p == 0:
        return p, 0.0
    return p, 2 * p * s / (p + s) if p + s else math.nan


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_worked_example():
    vectors = unit_rows(np.array([[3.0, 4.0], [4.0, 3.0], [0.0, 2.0], [1.0, 0.0]]))
    caption, image, one, two = np.arange(4)
    c = pair_cosines(vectors, vectors, (np.array([caption]), np.array([image])))
    s = pair_cosines(vectors, vectors, (np.array([caption, caption]), np.array([one, two])))
    assert c == pytest.approx([24 / 25], abs=1e-7)
    assert s == pytest.approx([4 / 5, 3 / 5], abs=1e-7)
    best, at = group_maxima(s, np.array([0, 0]), 1)
    p = clip_scores(c, 2.0)
    assert p == pytest.approx([48 / 25], abs=1e-6)
    assert at.tolist() == [0]
    assert reference_scores(p, best, clamp=False) == pytest.approx([2 * 1.92 * 0.8 / 2.72], abs=1e-6)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
@pytest.mark.parametrize("metric", ["pac_s", "clip_s"])
@pytest.mark.parametrize("variant", ["released", "paper"])
def test_golden_formula(row, metric, variant):
    wanted, p = row[f"ref_{metric}_{variant}"], clip_scores(row["image_text_cos"], W[metric])
    found = reference_scores(p, max(row["reference_cos"], default=math.nan), clamp=variant == "paper")
    assert float(p) == pytest.approx(row[metric], abs=1e-12)
    assert float(found) == pytest.approx(math.nan if wanted is None else wanted, abs=1e-12, nan_ok=True)
    released = row[f"reference_ref_{metric}"]
    if variant == "released" and released is not None:
        assert float(found) == pytest.approx(released, abs=1e-12)


# -- the definition ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("clamp", [False, True])
def test_brute_force(seed, clamp):
    rng = np.random.default_rng(seed)
    n, d, w = int(rng.integers(1, 40)), int(rng.integers(2, 9)), float(rng.uniform(0.5, 3))
    captions, images = rng.normal(size=(n, d)), rng.normal(size=(max(1, n // 3), d)) * 5
    image_of = rng.integers(len(images), size=n)
    counts = rng.integers(0, 4, size=n)
    references = rng.normal(size=(counts.sum(), d)) / 7
    groups = np.repeat(np.arange(n), counts)
    text, seen, refs = (unit_rows(vectors) if len(vectors) else vectors for vectors in (captions, images, references))
    p = clip_scores(pair_cosines(text, seen, (np.arange(n), image_of)), w)
    s, _ = group_maxima(pair_cosines(text, refs, (groups, np.arange(len(refs)))), groups, n)
    found = reference_scores(p, s, clamp=clamp)
    for i in range(n):
        of_row = references[groups == i].tolist()
        wanted = definition(captions[i], images[image_of[i]], of_row, w, clamp)
        assert p[i] == pytest.approx(wanted[0], abs=1e-5)
        # Where P and s nearly cancel, rounding to float32 is blown up.
        assert found[i] == pytest.approx(wanted[1], abs=1e-3, rel=1e-3, nan_ok=True)


# -- properties -------------------------------------------------------------------------------------------------------
def test_reference_score_lies_between_score_and_similarity():
    rng = np.random.default_rng(0)
    p, s = rng.uniform(0, 2.5, size=1000), rng.uniform(0, 1, size=1000)
    found = reference_scores(p, s, clamp=False)
    assert (found >= np.minimum(p, s) - 1e-15).all()
    assert (found <= np.maximum(p, s) + 1e-15).all()
    assert np.array_equal(found, reference_scores(p, s, clamp=True))


def test_scores_grow_with_the_cosine_and_are_never_negative_zero():
    cosines = np.linspace(-1, 1, 201)
    scores = clip_scores(cosines, 2.5)
    assert (np.diff(scores) >= 0).all()
    assert scores.max() == 2.5
    for clamp in (False, True):
        assert not np.signbit(reference_scores(clip_scores([-0.5, 0.0], 2.0), [-0.5, -0.5], clamp=clamp)).any()


@pytest.mark.parametrize(
    ("p", "s", "clamp", "wanted"),
    [
        (0.0, 0.0, False, 0.0),
        (0.0, -0.3, False, 0.0),
        (0.2, -0.2, False, math.nan),
        (0.2, -0.2, True, 0.0),
        (0.2, -0.1, False, -0.4),
        (math.nan, 0.5, False, math.nan),
        (0.5, math.nan, True, math.nan),
        (0.0, math.nan, False, math.nan),
    ],
)
def test_special_cases(p, s, clamp, wanted):
    assert float(reference_scores(p, s, clamp=clamp)) == pytest.approx(wanted, abs=1e-15, nan_ok=True)


def test_length_does_not_matter_and_zero_is_undefined():
    rows = np.random.default_rng(1).normal(size=(4, 5))
    assert unit_rows(rows * 1000) == pytest.approx(unit_rows(rows), abs=1e-6)
    assert np.linalg.norm(unit_rows(rows), axis=1) == pytest.approx(np.ones(4), abs=1e-6)
    assert unit_rows(rows).dtype == np.float32
    assert np.isnan(unit_rows(np.zeros((1, 3)))).all()


def test_cosines_of_many_pairs_equal_those_of_few():
    vectors = unit_rows(np.random.default_rng(2).normal(size=(50, 8)))
    rng = np.random.default_rng(3)
    pairs = rng.integers(50, size=10_000), rng.integers(50, size=10_000)
    found = pair_cosines(vectors, vectors, pairs)
    few = pair_cosines(vectors, vectors, (pairs[0][9_000:], pairs[1][9_000:]))
    assert found[9_000:] == pytest.approx(few, abs=1e-6)
    assert found == pytest.approx((vectors @ vectors.T)[pairs], abs=1e-6)


# -- groups -----------------------------------------------------------------------------------------------------------
def test_maxima_of_ragged_groups():
    values = np.array([1.0, 3.0, 3.0, -2.0, math.nan, 5.0])
    maxima, at = group_maxima(values, np.array([0, 0, 0, 2, 4, 4]), 6)
    assert maxima == pytest.approx([3.0, math.nan, -2.0, math.nan, math.nan, math.nan], nan_ok=True)
    assert at.tolist() == [1, -1, 3, -1, -1, -1]


def test_means_of_ragged_groups():
    values = np.array([1.0, 3.0, -2.0, math.nan, 5.0])
    means = group_means(values, np.array([0, 0, 2, 3, 3]), 5)
    assert means == pytest.approx([2.0, math.nan, -2.0, math.nan, math.nan], nan_ok=True)


def test_no_groups():
    nothing = np.zeros(0, dtype=np.intp)
    assert group_maxima(np.zeros(0), nothing, 2)[1].tolist() == [-1, -1]
    assert np.isnan(group_means(np.zeros(0), nothing, 2)).all()
    assert len(pair_cosines(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), (nothing, nothing))) == 0
