"""The formulas of clip_s and pac_s for videos."""

import math

import numpy as np
import pytest

from vlgauge.families.clip_score.emscore import (
    Bags,
    GreedyMatches,
    best_frames,
    compute_weighted_means,
    fine_scores,
    matches,
    mean_frames,
    reference_terms,
    scores_with_references,
)
from vlgauge.families.clip_score.formula import unit_rows


def bags_of(lists, weights=None):
    """Return bags of the vectors. The last vector of each bag is the vector of the whole."""
    width = max((np.shape(vectors)[-1] for vectors in lists if len(vectors)), default=2)
    rows = np.concatenate([np.reshape(vectors, (-1, width)) for vectors in lists]).astype(np.float32)
    wholes = np.stack([vectors[-1] if len(vectors) else np.full(width, np.nan) for vectors in lists])
    sizes = np.array([len(vectors) for vectors in lists])
    weights = np.ones(len(rows)) if weights is None else np.concatenate(weights)
    return Bags(rows, sizes, weights, wholes.astype(np.float32))


def random_bags(rng, n, d, largest=7):
    lists = [unit_rows(rng.normal(size=(int(size), d))) for size in rng.integers(1, largest, size=n)]
    weights = [rng.uniform(0, 2, size=len(vectors)) for vectors in lists]
    return lists, weights, bags_of(lists, weights)


def definition(ours, theirs, u, v):
    """Compute P, R, fine and coarse of one pair with double loops in double precision."""
    cosines = [[math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True)) for b in theirs] for a in ours]
    p = math.fsum(w * max(line) for w, line in zip(u, cosines, strict=True)) / math.fsum(u)
    r = math.fsum(w * max(line) for w, line in zip(v, zip(*cosines, strict=True), strict=True)) / math.fsum(v)
    return p, r, 2 * p * r / (p + r), cosines[-1][-1]


def padded_definition(pairs, batch):
    """Compute fine scores as EMScore does, with batches whose zero padding is included in the maxima."""
    found = []
    for start in range(0, len(pairs), batch):
        part = pairs[start : start + batch]
        longest = [max(len(pair[side]) for pair in part) for side in (0, 1)]
        for ours, theirs, u, v in part:
            table = np.zeros(longest)
            table[: len(ours), : len(theirs)] = ours @ theirs.T
            p = (table.max(axis=1)[: len(ours)] * u).sum() / u.sum()
            r = (table.max(axis=0)[: len(theirs)] * v).sum() / v.sum()
            found.append(2 * p * r / (p + r) if p + r else math.nan)
    return found


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_worked_example():
    # Cosines, words by frames: [[1, 0.6], [0, 0.8]].
    words, frames = bags_of([[[1.0, 0.0], [0.0, 1.0]]], [[1.0, 3.0]]), bags_of([[[1.0, 0.0], [0.6, 0.8]]])
    found = matches(words, frames, (np.array([0]), np.array([0])))
    assert found.precision == pytest.approx([(1 * 1.0 + 3 * 0.8) / 4], abs=1e-7)
    assert found.recall == pytest.approx([(1.0 + 0.8) / 2], abs=1e-7)
    assert found.fine == pytest.approx([2 * 0.85 * 0.9 / 1.75], abs=1e-7)
    assert found.coarse == pytest.approx([0.8], abs=1e-7)
    assert found.full == pytest.approx((found.fine + found.coarse) / 2)
    assert best_frames(words.rows, frames.rows) == ([0, 1], pytest.approx([1.0, 0.8]))


# -- the definition ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(5))
def test_brute_force(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 9)), 30
    ours, u, left = random_bags(rng, 6, d)
    theirs, v, right = random_bags(rng, 5, d, largest=4)
    a, b = rng.integers(6, size=n), rng.integers(5, size=n)
    found = matches(left, right, (a, b))
    for i in range(n):
        p, r, fine, coarse = definition(ours[a[i]], theirs[b[i]], u[a[i]], v[b[i]])
        assert (found.precision[i], found.recall[i]) == pytest.approx((p, r), abs=1e-6)
        assert found.coarse[i] == pytest.approx(coarse, abs=1e-6)
        assert found.fine[i] == pytest.approx(fine, abs=1e-5 / min(1, abs(p + r)) ** 2)


@pytest.mark.parametrize("batch", [1, 2, 3, 64])
def test_padding_of_the_released_code(batch):
    rng = np.random.default_rng(7)
    ours, u, left = random_bags(rng, 8, 4)
    theirs, v, right = random_bags(rng, 8, 4)
    a, b = rng.permutation(8), rng.permutation(8)
    found = matches(left, right, (a, b), batch=batch)
    pairs = [(ours[i], theirs[j], u[i], v[j]) for i, j in zip(a, b, strict=True)]
    assert found.fine == pytest.approx(padded_definition(pairs, batch), rel=1e-4, nan_ok=True)
    alone = matches(left, right, (a, b))
    assert (batch == 1) == np.allclose(found.fine, alone.fine, rtol=1e-5)


def test_padding_can_leave_nothing_to_divide_by():
    opposite = bags_of([[[1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]])
    frames = bags_of([[[-1.0, 0.0]], [[-1.0, 0.0], [-1.0, 0.0]]])
    pairs = np.array([0, 1]), np.array([0, 1])
    assert matches(opposite, frames, pairs).fine == pytest.approx([-1.0, -1.0])
    assert np.isnan(matches(opposite, frames, pairs, batch=64).fine).tolist() == [True, False]


# -- properties -------------------------------------------------------------------------------------------------------
def test_a_pair_does_not_depend_on_the_others():
    rng = np.random.default_rng(3)
    _, _, left = random_bags(rng, 20, 5)
    _, _, right = random_bags(rng, 20, 5)
    a, b = rng.integers(20, size=65), rng.integers(20, size=65)
    together = matches(left, right, (a, b))
    turned = matches(left, right, (a[::-1], b[::-1]))
    for part in ("precision", "recall", "fine", "coarse"):
        expected = pytest.approx(getattr(together, part), rel=1e-5, abs=1e-6)
        assert getattr(turned, part)[::-1] == expected
        alone = [getattr(matches(left, right, (a[i : i + 1], b[i : i + 1])), part)[0] for i in range(65)]
        assert np.array(alone) == expected


def test_order_of_frames_does_not_matter_and_words_that_weigh_nothing_do_not_count():
    rng = np.random.default_rng(4)
    (words,), _, _ = random_bags(rng, 1, 6)
    (frames,), _, _ = random_bags(rng, 1, 6)
    pair = np.array([0]), np.array([0])
    weights = [np.r_[np.ones(len(words)), 0.0]]
    other = unit_rows(rng.normal(size=(1, 6)))
    before = matches(bags_of([words]), bags_of([frames]), pair)
    after = matches(bags_of([np.concatenate([words, other])], weights), bags_of([frames[::-1]]), pair)
    assert after.precision == pytest.approx(before.precision, abs=1e-6)
    assert after.recall >= before.recall - 1e-6


def test_a_bag_matches_itself():
    rng = np.random.default_rng(5)
    (words,), _, bags = random_bags(rng, 1, 6)
    found = matches(bags, bags, (np.array([0]), np.array([0])))
    for part in ("precision", "recall", "fine", "coarse", "full"):
        assert getattr(found, part) == pytest.approx([1.0], abs=1e-6)
    assert best_frames(words, words)[0] == list(range(len(words)))


# -- undefined --------------------------------------------------------------------------------------------------------
def test_undefined_pairs():
    words = bags_of([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0]]], [[1.0, 1.0], [0.0]])
    frames = bags_of([np.zeros((0, 2)), [[1.0, 0.0]]])
    found = matches(words, frames, (np.array([0, 1, 0]), np.array([0, 1, 1])))
    assert np.isnan(found.full).tolist() == [True, True, False]
    assert np.isnan(found.precision).tolist() == [True, True, False]
    assert np.isnan(found.coarse).tolist() == [True, False, False]


def test_precision_and_recall_that_cancel():
    found = fine_scores(np.array([0.5, 0.0, 0.5, -0.2]), np.array([-0.5, 0.0, -0.25, -0.2]))
    assert found == pytest.approx([math.nan, math.nan, -1.0, -0.2], nan_ok=True)
    assert compute_weighted_means(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0]])) == pytest.approx([1.75])


def test_terms_of_references():
    fine, coarse = np.array([0.2, 0.8, 0.4]), np.array([0.9, 0.1, 0.4])
    found = GreedyMatches(fine, fine, fine, coarse)
    groups = np.array([0, 0, 2])
    released, best = reference_terms(found, groups, 3, joint=False)
    joint, same = reference_terms(found, groups, 3, joint=True)
    assert released == pytest.approx([(0.8 + 0.9) / 2, math.nan, 0.4], nan_ok=True)
    assert joint == pytest.approx([0.55, math.nan, 0.4], nan_ok=True)
    assert best.tolist() == same.tolist() == [0, -1, 2]


def test_a_score_with_references_is_the_mean_of_both():
    assert scores_with_references(np.array([0.2, 0.4]), np.array([0.6, math.nan])) == pytest.approx(
        [0.4, math.nan], nan_ok=True
    )


def test_a_video_is_its_mean_frame():
    frames = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    means = mean_frames(frames, np.array([0, 2, 1, 0, 2]))
    half = math.sqrt(0.5)
    wanted = [[math.nan] * 2, [half, half], [0.6, 0.8], [math.nan] * 2, [math.nan] * 2]
    assert means == pytest.approx(np.array(wanted), abs=1e-6, nan_ok=True)
    assert mean_frames(frames[:0], np.zeros(1, dtype=np.intp)).shape == (1, 2)


def test_no_pairs():
    nothing = np.zeros(0, dtype=np.intp)
    bags = bags_of([[[1.0, 0.0]]])
    assert len(matches(bags, bags, (nothing, nothing), batch=64).full) == 0
