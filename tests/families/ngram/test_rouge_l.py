"""ROUGE-L of pairs: by hand, against all subsequences, memory, oracles."""

import gzip
import json
import re
import tracemalloc
from itertools import combinations

import folders
import numpy as np
import pytest

from vlgauge.families.ngram import rouge_l as module
from vlgauge.families.ngram.rouge_l import common_lengths, common_subsequences, rouge_l
from vlgauge.inputs.text.ngrams import token_ids

GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "trm.json.gz").read_bytes()))


def random_texts(n_texts, longest, seed):
    rng = np.random.default_rng(seed)
    return [list(map(str, rng.integers(0, 4, rng.integers(0, longest + 1)))) for _ in range(n_texts)]


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_longest_common_subsequence_by_hand():
    texts = [list("abcbdab"), list("bdcaba"), list("xx"), []]
    assert common_subsequences(texts).tolist() == [[7, 4, 0, 0], [4, 6, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]
    # P = 4/7, R = 4/6: 2PR/(P + R) = 8/13
    assert rouge_l(texts)[0].tolist() == pytest.approx([1.0, 8 / 13, 0.0, 0.0], rel=1e-15)


# -- against the definition -------------------------------------------------------------------------------------------
def lcs_by_subsets(a, b):
    for size in range(len(a), -1, -1):
        for kept in combinations(a, size):
            rest = iter(b)
            if all(token in rest for token in kept):
                return size
    return 0


@pytest.mark.parametrize("seed", range(4))
def test_common_subsequences_against_all_subsets(seed):
    texts = random_texts(6, 9, seed)
    expected = [[lcs_by_subsets(a, b) for b in texts] for a in texts]
    assert common_subsequences(texts).tolist() == expected


def test_common_subsequences_do_not_depend_on_what_is_computed_together(monkeypatch):
    texts = random_texts(8, 40, 7)
    expected = common_subsequences(texts)
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 1)
    assert common_subsequences(texts).tolist() == expected.tolist()


def test_common_subsequence_of_a_long_text_takes_memory_by_its_length():
    words = [str(number) for number in range(2**13)]
    texts = token_ids([words, words[::-2], words[::2]])
    tracemalloc.start()
    try:
        assert common_lengths(texts, np.array([0, 0]), np.array([1, 2])).tolist() == [1, 2**12]
        assert tracemalloc.get_traced_memory()[1] < 300 * len(words)
    finally:
        tracemalloc.stop()


# -- oracles ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_distances_of_the_authors_code(case):
    words = [re.findall("[a-z0-9]+", text) for text in case["coco_normalize"]]
    assert 1 - rouge_l(words) == pytest.approx(np.array(case["distances"]["rouge_l"]), abs=1e-12)
