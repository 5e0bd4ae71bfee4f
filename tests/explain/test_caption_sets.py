"""The demo's words and plots of caption sets."""

import numpy as np
import pytest

from vlgauge.explain import sections as explain


@pytest.mark.parametrize(
    ("arguments", "start", "end"),
    [
        ((2, 252, 5, 5), "Only 2 of 252 ways to split these ten captions into five and five give", "references are."),
        ((1, 56, 3, 5), "Only 1 of 56 ways to split these eight captions into three and five gives", "references are."),
        ((200, 1287, 8, 5), "200 of 1287 ways to split these 13 captions into eight and five give", "cannot tell."),
        ((252, 252, 5, 5), "252 of 252 ways", "could pass for references."),
    ],
)
def test_meaning_of_a_pvalue(arguments, start, end):
    sentence = explain.caption_sets.meaning(*arguments)
    assert sentence.startswith(start)
    assert sentence.endswith(end)
    assert ("mirror image" in sentence) == (arguments[0] == 2)


def test_principal_plane_keeps_distances_in_a_plane():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(7, 2)) * [3.0, 1.0]
    vectors = flat @ np.linalg.qr(rng.normal(size=(9, 2)))[0].T + 5.0
    points, shares = explain.caption_plots.principal_plane(vectors)
    distances = [np.linalg.norm(array[:, None] - array, axis=2) for array in (flat, points)]
    np.testing.assert_allclose(*distances, atol=1e-12)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] > shares[1]
    assert (points.max(axis=0) >= -points.min(axis=0)).all()


def test_principal_plane_of_equal_vectors():
    points, shares = explain.caption_plots.principal_plane(np.ones((4, 9)))
    assert not points.any()
    assert not shares.any()


def test_deviation_ellipse_is_one_standard_deviation_wide_in_every_direction():
    points = np.random.default_rng(1).normal(size=(6, 2)) @ [[2.0, 0.5], [0.0, 0.7]] + [3.0, -1.0]
    outline = explain.caption_plots.deviation_ellipse(points)
    for angle in (0.0, 0.4, 1.3, 2.5):
        direction = np.array([np.cos(angle), np.sin(angle)])
        reach = ((outline - points.mean(axis=0)) @ direction).max()
        assert reach == pytest.approx((points @ direction).std(ddof=1), rel=2e-3)


def test_deviation_ellipse_of_equal_points():
    outline = explain.caption_plots.deviation_ellipse(np.full((3, 2), 0.25))
    np.testing.assert_allclose(outline, 0.25, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "m", "reason"),
    [
        (2, 2, ""),
        (1, 5, "each side needs two captions or more, got one candidate and five references"),
        (13, 0, "each side needs two captions or more, got 13 candidates and no references"),
    ],
)
def test_reason_why_a_set_is_undefined(n, m, reason):
    row = {"predictions": ["a"] * n, "references": ["b"] * m}
    assert explain.caption_sets.why_undefined(row) == reason


def test_parts_of_a_distance_in_words():
    parts_in_words = explain.frechet_bert.parts_in_words
    assert parts_in_words(0.5, 2.0).startswith("25% of the distance lies between the means")
    assert parts_in_words(0.0, 0.0) == "The two sides have the same mean and the same spread."


def test_values_that_tie_with_the_observed_one_count():
    null = np.array([2.0, 1.0, 2.0 - 1e-6, 3.0])
    exact, loose = (explain.caption_plots.null_histogram("x", null, "thing", tolerance) for tolerance in (1e-9, 1e-3))
    assert "p = 2/4" in exact
    assert "p = 3/4" in loose
    assert "thing of a split" in exact
