"""N-grams of captions as integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_definition import (
    CAPTIONS,
    ngrams_of,
)

from vlgauge.text.ngrams import _check_room, sorted_with_places, vocabulary_and_ngrams


@given(st.lists(CAPTIONS, max_size=8))
def test_ids_are_positions_in_the_sorted_ngrams_of_all_captions(captions):
    tokens, orders = vocabulary_and_ngrams(captions)
    assert tokens == sorted(set().union(*map(set, captions)))
    for n, sets in enumerate(orders, 1):
        everything = sorted(set().union(*(ngrams_of(caption, n) for caption in captions)))
        windows = [list(zip(*(caption[start:] for start in range(n)), strict=False)) for caption in captions]
        expected = [(i, c, own.count(u)) for i, u in enumerate(everything) for c, own in enumerate(windows) if u in own]
        assert list(zip(*(x.tolist() for x in (sets.ngrams, sets.captions, sets.counts)), strict=True)) == expected
        assert len(sets.keys) == len(everything)
        assert (np.diff(sets.keys) > 0).all()


@pytest.mark.parametrize("bits", [8, 62])
def test_places_of_equal_values_ascend_also_where_they_do_not_fit_beside_the_values(bits):
    values = np.array([3, 2**bits - 1, 0, 3, 0])
    ascending, places = sorted_with_places(values, 2**bits - 1)
    assert ascending.tolist() == [0, 0, 3, 3, 2**bits - 1]
    assert places.tolist() == [2, 4, 0, 3, 1]


def test_ids_that_64_bits_cannot_hold_are_refused():
    _check_room(2**31, 2**31)
    with pytest.raises(
        ValueError, match=r"`captions` must have fewer distinct n-grams, got 4294967296 x 2147483648 >= 2"
    ):
        _check_room(2**32, 2**31)
