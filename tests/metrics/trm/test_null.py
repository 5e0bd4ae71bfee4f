"""Null distributions of trm on draws of known distributions: size of the tests, null means, Monte-Carlo."""

import numpy as np
import pytest

from vlgauge.core.catalog import folder_module
from vlgauge.stats import partitions

triangles = folder_module("trm", "triangles")


def q_of(distances, candidates, ties="fractional"):
    return triangles.triangle_tests(triangles.levels(distances, 1e-12), candidates, ties)


def gaussian_distances(n, m, *, n_examples, shift=0.0, seed=0):
    points = np.random.default_rng([seed, n, m]).normal(size=(n_examples, n + m, 10))
    points[:, n:] += shift
    return np.linalg.norm(points[:, :, None] - points[:, None], axis=3)


def test_far_apart_sides_reach_the_ends_of_the_ranges_and_the_smallest_p():
    found = q_of(gaussian_distances(5, 5, n_examples=3, shift=50.0), partitions(5, 5).candidates)
    assert found.q[:, :, 0] == pytest.approx(np.tile([[4 / 3], [8 / 3]], 3), rel=1e-15)
    assert found.pvalues == pytest.approx(np.full((2, 3), 2 / 252), rel=1e-15)


@pytest.mark.parametrize("ties", ["fractional", "paper"])
def test_monte_carlo_pvalues_are_near_the_exact_ones(ties):
    distances, draws = gaussian_distances(5, 5, n_examples=40, shift=0.4), 9_999
    sampled = partitions(5, 5, pvalue="monte_carlo", draws=draws).candidates
    exact = q_of(distances, partitions(5, 5).candidates, ties).pvalues
    found = q_of(distances, sampled, ties).pvalues
    assert np.all(np.abs(found - exact) < 4 * np.sqrt(exact * (1 - exact) / draws) + 1 / draws)
    assert found * (draws + 1) == pytest.approx(np.rint(found * (draws + 1)), rel=1e-14)


def test_size_of_the_exact_tests():
    pvalues = q_of(gaussian_distances(5, 5, n_examples=2_000, seed=1), partitions(5, 5).candidates).pvalues
    for share in np.mean(pvalues <= 0.05, axis=1):
        assert 0.03 <= share <= 0.06


def test_null_means_of_one_distribution():
    # 0.17 and 0.62 at 5 v 5, 0.08 and 0.35 at 10 v 10: Q of different sizes cannot be compared.
    for n, expected in ((5, (0.17, 0.62)), (10, (0.08, 0.35))):
        q = q_of(gaussian_distances(n, n, n_examples=1_200), np.arange(2 * n)[None] < n).q[:, :, 0]
        assert q.mean(axis=1) == pytest.approx(expected, abs=0.012)
