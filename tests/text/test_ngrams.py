"""N-grams of captions as integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_definition import (
    CAPTIONS,
    ngrams_of,
)

from vlgauge.text.ngrams import _check_room, vocabulary_and_ngrams


@given(st.lists(CAPTIONS, max_size=8))
def test_ids_are_positions_in_the_sorted_ngrams_of_all_captions(captions):
    tokens, orders = vocabulary_and_ngrams(captions)
    assert tokens == sorted(set().union(*map(set, captions)))
    for n, sets in enumerate(orders, 1):
        everything = sorted(set().union(*(ngrams_of(caption, n) for caption in captions)))
        expected = [(i, everything.index(u)) for i, c in enumerate(captions) for u in sorted(ngrams_of(c, n))]
        assert list(zip(sets.captions.tolist(), sets.ngrams.tolist(), strict=True)) == expected
        assert len(sets.keys) == len(everything)
        assert (np.diff(sets.keys) > 0).all()


def test_ids_that_64_bits_cannot_hold_are_refused():
    _check_room(2**31, 2**31)
    with pytest.raises(
        ValueError, match=r"`captions` must have fewer distinct n-grams, got 4294967296 x 2147483648 >= 2"
    ):
        _check_room(2**32, 2**31)
