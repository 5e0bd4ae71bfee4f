"""Vectors of the caller, normalized to unit vectors as in groovist and rovist_vg."""

import math

import numpy as np
import pytest

from vlgauge.families.grounding.features import unit_vectors

SMALLEST = 5e-324


def test_by_hand():
    assert unit_vectors([[3.0, 4.0], [0.0, -2.0]], "x").tolist() == [[0.6, 0.8], [0.0, -1.0]]
    assert unit_vectors([[SMALLEST, 0.0], [-SMALLEST, 0.0]], "x").tolist() == [[1.0, 0.0], [-1.0, 0.0]]
    assert unit_vectors([], "x").shape == (0, 0)
    assert unit_vectors(np.zeros((0, 5)), "x", width=3).shape == (0, 3)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-5, 1e5, 1e200, 1e300])
def test_any_size_gives_the_same(size):
    rows = np.random.default_rng(3).normal(size=(20, 7))
    lengths = [math.sqrt(math.fsum(value * value for value in row)) for row in rows.tolist()]
    expected = [[value / length for value in row] for row, length in zip(rows.tolist(), lengths, strict=True)]
    np.testing.assert_allclose(unit_vectors(rows * size, "x"), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8])
def test_other_numbers_are_taken_in_float64(kind):
    rows = np.array([[100, 100, 1], [3, 0, 4]], dtype=kind)
    unit = unit_vectors(rows, "x")
    assert unit.dtype == np.float64
    np.testing.assert_array_equal(unit, unit_vectors(rows.astype(np.float64), "x"))


class Elsewhere:
    """A tensor with a gradient, or on another device."""

    def __array__(self, *_, **__):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("vectors", "options", "message"),
    [
        ([[1.0, 0.0], [math.nan, 0.0]], {}, r"^`x`.*0\.0.*row 1"),
        ([[0.0, 0.0]], {}, r"^`x`.*got \[0\.0.*0\.0"),
        ([[1.0], [-math.inf]], {"names": ["a", "b"]}, r"^`x`.*'b'"),
        ([[1.0], [0.0]], {"names": [7, 9]}, r"^`x`.*got \[0\.0\].*row 9"),
        ([[1.0], [1.0, 2.0]], {}, r"^`x`.*different lengths or types"),
        (Elsewhere(), {}, r"^`x`.*different lengths or types"),
        ([1.0, 2.0], {}, r"^`x`.*got shape \(2,\)"),
        (1.0, {}, r"^`x`.*got shape \(\)"),
        ([[], []], {}, r"^`x`.*got shape \(2, 0\)"),
        ([[1.0, 2.0]], {"width": 3}, r"^`x`.*previous ones"),
    ],
)
def test_what_is_no_vector_is_refused(vectors, options, message):
    with pytest.raises(ValueError, match=message):
        unit_vectors(vectors, "x", **options)
