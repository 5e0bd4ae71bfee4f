"""Self-CIDEr, mBLEU and Div-n: by hand, against the definitions on random sets, and identities."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vlgauge
from vlgauge.core.catalog import folder_module
from vlgauge.families.ngram.cider import DocumentFrequency

definition = folder_module("diversity", "reference")
mbleu_definition = folder_module("diversity", "reference_mbleu")
cider_d = folder_module("cider", "reference").cider_d

WORDS = ("a", "a", "a", "dog", "dog", "cat", "runs", "sits", "on", "on", "grass", "red", "two", "big", "tree")
KEYS = tuple(f"diversity_{key}" for key in ("mbleu_1", "mbleu_2", "mbleu_3", "mbleu_4", "div_1", "div_2"))


def random_sets(rng, n_rows, m):
    lengths = rng.integers(1, 12, (n_rows, m))
    return [[" ".join(rng.choice(WORDS, length)) for length in own] for own in lengths]


def scored(sets, **given):
    return vlgauge.load("diversity", keep_in_memory=True, progress=False, **given).compute(predictions=sets)


def test_by_hand():
    # With ln 2 as the weight of all words, K is 1 on the diagonal, and 1/4 (3/4 + 2/3 + 1/2) next to it.
    result = scored([["a dog runs fast", "a dog runs home"]])
    off = (3 / 4 + 2 / 3 + 1 / 2) / 4
    roots = np.sqrt([1 + off, 1 - off])
    assert result["diversity"] == pytest.approx(-math.log2(roots[0] / roots.sum()), rel=1e-12)
    assert result["diversity_div_1"] == 5 / 8
    assert result["diversity_div_2"] == 4 / 8
    assert result["diversity_mbleu_1"] == pytest.approx(3 / 4)
    assert result["diversity_mbleu_3"] == pytest.approx((3 / 4 * 2 / 3 * 1 / 2) ** (1 / 3))
    assert result["diversity_vocabulary"] == 5
    assert result["diversity_distinct"] == 1.0


@pytest.mark.parametrize("m", [2, 3, 5, 8, 10])
@pytest.mark.parametrize("df", [DocumentFrequency({("a",): 60, ("dog",): 9, ("on", "grass"): 3}, 100), "predictions"])
def test_equals_the_definitions(m, df):
    """500 sets in all."""
    sets = random_sets(np.random.default_rng(m), 50, m)
    result = scored(sets, df=df)
    counts, n_documents = {}, 51
    if df == "predictions":
        counts = DocumentFrequency.from_references(sets).counts
    else:
        counts, n_documents = df.counts, df.n_documents
    images = [[caption.split() for caption in own] for own in sets]
    expected = [definition.self_cider(own, lambda h, r: cider_d(h, r, counts, n_documents)) for own in images]
    assert result["diversity_scores"] == pytest.approx(expected, rel=1e-9, abs=1e-7)
    for order in (1, 2):
        div = [definition.div_n(own, order) for own in images]
        assert result[f"diversity_div_{order}_scores"] == pytest.approx(div, rel=1e-12)
    for order in (1, 2, 3, 4):
        assert result[f"diversity_mbleu_{order}"] == pytest.approx(mbleu_definition.mbleu(images, order), rel=1e-12)
    assert result["diversity_vocabulary"] == len({word for own in images for caption in own for word in caption})
    assert result["diversity_distinct_scores"] == [len(set(own)) / m for own in sets]


@pytest.mark.parametrize("m", [2, 3, 5, 10])
@pytest.mark.parametrize("caption", ["dog", "a dog", "a a a a", "a brown dog runs on the grass"])
def test_identical_captions(m, caption):
    result = scored([[caption] * m, [caption] * m])
    assert result["diversity_scores"] == [0.0, 0.0]
    assert result["diversity_distinct"] == 1 / m
    assert result["diversity_mbleu_1"] == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("m", [2, 3, 5, 10])
def test_disjoint_captions(m):
    sets = [[" ".join(f"w{row}x{i}x{k}" for k in range(4 + i)) for i in range(m)] for row in range(3)]
    result = scored(sets)
    assert result["diversity_scores"] == pytest.approx([1.0] * 3, abs=1e-12)
    assert max(result["diversity_scores"]) <= 1.0
    assert result["diversity_div_1"] == result["diversity_distinct"] == 1.0
    assert result["diversity_mbleu_1"] == pytest.approx(0.0, abs=1e-12)


def test_short_captions_and_captions_without_words_lower_the_score():
    # CIDEr-D of a caption of one word with itself is 2.5, and a caption without words has a row of zeros.
    found = scored([["dog", "a cat sits here"], ["", "a cat sits here"], ["", "..."], ["dog"], []])
    roots = np.sqrt([1.0, 0.25])
    assert found["diversity_scores"][0] == pytest.approx(-math.log2(roots[0] / roots.sum()), rel=1e-12)
    assert found["diversity_scores"][1] == 0.0
    assert np.isnan(found["diversity_scores"][2:]).all()
    assert found["diversity_undefined"] == 3
    assert found["diversity_distinct_undefined"] == 2


captions = st.lists(st.sampled_from("abcd"), max_size=7).map(" ".join)


@given(st.lists(st.lists(captions, min_size=2, max_size=5), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
@pytest.mark.filterwarnings("ignore:`diversity` is a mean over sets", "ignore:every score of diversity is undefined")
def test_values_are_within_their_bounds(sets):
    result = scored(sets)
    for key in ("", "_div_1", "_div_2", "_distinct"):
        values = np.array(result[f"diversity{key}_scores"])
        assert ((values >= 0) & (values <= 1) | np.isnan(values)).all()
    assert all(0 <= result[key] <= 1 or math.isnan(result[key]) for key in KEYS)
