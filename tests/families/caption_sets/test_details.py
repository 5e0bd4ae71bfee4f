"""The plane and the null distribution in the details of a caption set."""

import numpy as np
import pytest

from vlgauge.families.caption_sets.details import N_COLUMNS, null_histogram, principal_plane


def test_principal_plane_keeps_the_largest_spread_and_puts_the_farthest_vector_on_the_positive_side():
    vectors = np.array([[0.0, 0, 1], [0, 0, -1], [-4, 0, 0], [1, 0, 0], [1, 0, 0], [2, 0, 0]])
    found = principal_plane(vectors)
    # The only vectors away from the first axis are the first two, at either end of the second.
    assert np.abs(found["points"][:2, 1]) == pytest.approx([1.0, 1.0])
    assert found["points"][:, 0] == pytest.approx([0, 0, 4, -1, -1, -2], abs=1e-6)
    assert found["variance"] == pytest.approx([22 / 24, 2 / 24])


def test_principal_plane_keeps_distances_of_vectors_in_a_plane_and_shows_equal_ones_as_one_point():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(7, 2)) @ np.linalg.qr(rng.normal(size=(30, 2)))[0].T
    points = principal_plane(flat)["points"]
    apart = np.linalg.norm(flat[:, None] - flat, axis=2)
    assert np.linalg.norm(points[:, None] - points, axis=2) == pytest.approx(apart, abs=1e-6)
    same = principal_plane(np.ones((3, 4)))
    assert not same["points"].any()
    assert not same["variance"].any()


def test_vectors_that_are_not_finite_have_no_plane():
    assert principal_plane(np.array([[1.0, np.nan], [0.0, 1.0]])) == {}


def test_columns_hold_every_split_and_part_at_the_observed_value():
    null = np.concatenate([[0.7], np.random.default_rng(1).uniform(-1, 1, 500), [0.7, 0.7 - 1e-12]])
    found = null_histogram(null, 1e-9)
    assert sum(found["counts"]) == len(null)
    assert sum(found["counts"][found["below"] :]) == np.count_nonzero(null >= 0.7 - 1e-9)
    assert found["low"] <= null.min() < null.max() < found["low"] + found["width"] * len(found["counts"])
    assert N_COLUMNS <= len(found["counts"]) <= N_COLUMNS + 2


def test_equal_values_are_one_column_and_an_undefined_one_has_none():
    assert list(null_histogram(np.full(6, 0.3), 1e-9)["counts"]) == [6]
    assert null_histogram(np.array([np.nan, 1.0]), 1e-9) == {}
