"""N-grams of captions as integers."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_definition import CAPTIONS, FEW

from vlgauge.inputs.text.ngrams import _check_room, ngram_sets, sort_with_places, token_ids


@pytest.mark.parametrize("repeated_only", [False, True])
@FEW
@given(captions=st.lists(CAPTIONS, max_size=8))
def test_ids_are_positions_in_the_sorted_ngrams_of_all_captions(captions, repeated_only):
    texts = token_ids(captions)
    assert texts.tokens == sorted(set().union(*map(set, captions)))
    every = list(ngram_sets(texts, max_order=6, repeated_only=repeated_only))
    assert len(every) == 6
    for n, sets in enumerate(every, 1):
        windows = [list(zip(*(caption[start:] for start in range(n)), strict=False)) for caption in captions]
        occurrences = Counter(chain.from_iterable(windows))
        everything = sorted(ngram for ngram, number in occurrences.items() if number > repeated_only)
        expected = [(i, c, own.count(u)) for i, u in enumerate(everything) for c, own in enumerate(windows) if u in own]
        assert list(zip(*(x.tolist() for x in (sets.ngrams, sets.captions, sets.counts)), strict=True)) == expected
        assert len(sets.keys) == len(everything)
        assert (np.diff(sets.keys) > 0).all()


def test_captions_may_be_chosen_several_times_and_grouped():
    texts = token_ids(iter([["b", "a"], [], ["c"]]))
    chosen = texts.select(np.array([2, 0, 0, 1]))
    assert (chosen.tokens, chosen.ids.tolist(), chosen.lengths.tolist()) == (
        ["a", "b", "c"],
        [2, 1, 0, 1, 0],
        [1, 2, 2, 0],
    )
    assert list(chosen.iter_groups(np.array([0, 0, 1, 1]))) == [[["c"], ["b", "a"]], [["b", "a"], []]]


@pytest.mark.parametrize("bits", [8, 62])
def test_places_of_equal_values_ascend_also_where_they_do_not_fit_next_to_the_values(bits):
    values = np.array([3, 2**bits - 1, 0, 3, 0])
    ascending, places = sort_with_places(values, 2**bits - 1)
    assert ascending.tolist() == [0, 0, 3, 3, 2**bits - 1]
    assert places.tolist() == [2, 4, 0, 3, 1]
    assert sort_with_places(values, 2**bits - 1, np.array([1, 4, 5, 7, 9]))[1].tolist() == [5, 9, 1, 7, 4]


def test_ids_that_64_bits_cannot_hold_are_refused():
    _check_room(2**31, 2**31)
    with pytest.raises(ValueError, match=r"^`captions`.*got 4294967296 x.*2147483648"):
        _check_room(2**32, 2**31)
