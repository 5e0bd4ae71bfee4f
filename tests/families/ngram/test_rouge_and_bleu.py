"""ROUGE-L and BLEU-4 of pairs: by hand, against the definition, empty captions, oracles."""

import gzip
import json
import math
import re
import tracemalloc
from collections import Counter
from itertools import combinations

import folders
import numpy as np
import pytest
from coco_captions import by_example

from vlgauge.families.ngram import rouge_bleu
from vlgauge.families.ngram.rouge_bleu import (
    bleu_4,
    bleu_counts,
    coco_bleu,
    common_lengths,
    common_subsequences,
    rouge_l,
)
from vlgauge.inputs.text.ngrams import token_ids

GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "trm.json.gz").read_bytes()))


def coco_bleu_4(candidate, references):
    return float(coco_bleu(bleu_counts(*by_example([candidate], [references])))[0, 3])


def random_texts(n_texts, longest, seed):
    rng = np.random.default_rng(seed)
    return [list(map(str, rng.integers(0, 4, rng.integers(0, longest + 1)))) for _ in range(n_texts)]


# -- by hand ----------------------------------------------------------------------------------------------------------
def test_longest_common_subsequence_by_hand():
    texts = [list("abcbdab"), list("bdcaba"), list("xx"), []]
    assert common_subsequences(texts).tolist() == [[7, 4, 0, 0], [4, 6, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]
    # P = 4/7, R = 4/6: 2PR/(P + R) = 8/13
    assert rouge_l(texts)[0].tolist() == pytest.approx([1.0, 8 / 13, 0.0, 0.0], rel=1e-15)


def test_bleu_by_hand():
    long, short = ["a", "b", "c", "d", "e", "f"], ["a", "b", "c", "d", "e"]
    found = bleu_4([long, short])
    assert found[0, 1] == pytest.approx((5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25, rel=1e-14)
    assert found[1, 0] == pytest.approx(math.exp(1 - 6 / 5), rel=1e-14)
    assert found.diagonal().tolist() == [1.0, 1.0]


def test_bleu_clips_counts():
    found = bleu_4([["a"] * 6, ["a"] * 5 + ["b"]])
    assert found[0, 1] == pytest.approx((5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25, rel=1e-14)


@pytest.mark.parametrize("text", ["", "a", "a b c", "x y z w"])
def test_bleu_is_0_without_four_common_tokens(text):
    assert bleu_4([text.split(), ["a", "b", "c", "d"]])[0, 1] == 0.0


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
    monkeypatch.setattr(rouge_bleu, "_CELLS_AT_ONCE", 1)
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


def bleu_by_loops(hypothesis, reference):
    precisions = []
    for n in (1, 2, 3, 4):
        guessed, there = (
            Counter(" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
            for tokens in (hypothesis, reference)
        )
        if not guessed:
            return 0.0
        precisions.append(sum(min(count, there[ngram]) for ngram, count in guessed.items()) / guessed.total())
    penalty = 1.0 if len(hypothesis) > len(reference) else math.exp(1 - len(reference) / len(hypothesis))
    return math.prod(precisions) ** 0.25 * penalty


@pytest.mark.parametrize("seed", range(4))
def test_bleu_against_the_definition(seed):
    texts = random_texts(10, 14, seed)
    expected = np.array([[bleu_by_loops(h, r) for r in texts] for h in texts])
    assert bleu_4(texts) == pytest.approx(expected, rel=1e-13)


def test_coco_bleu_of_one_reference_is_near_bleu():
    texts = random_texts(10, 14, 9)
    plain = bleu_4(texts)
    for i, j in combinations(range(10), 2):
        if plain[i, j] > 0:
            assert coco_bleu_4(texts[i], [texts[j]]) == pytest.approx(plain[i, j], rel=1e-7)


def test_coco_bleu_by_hand():
    four = ["a", "b", "c", "d"]
    shares = [(5 - n + 1e-15) / (5 - n + 1e-9) for n in (1, 2, 3, 4)]
    penalty = math.exp(1 - (4 + 1e-9) / (4 + 1e-15))
    assert coco_bleu_4(four, [four]) == pytest.approx(math.prod(shares) ** 0.25 * penalty, rel=1e-14)


def test_coco_bleu_of_empty_captions():
    assert coco_bleu_4([], [["a"], ["b"]]) == 0.0
    assert coco_bleu_4(["a"], [[]]) < 1e-5


def test_coco_bleu_takes_the_shorter_of_two_equally_close_references():
    hypothesis = ["a", "b", "c", "d", "e"]
    shorter, longer = hypothesis[:4], [*hypothesis, "f"]
    assert coco_bleu_4(hypothesis, [longer, shorter]) == pytest.approx(1.0, abs=1e-8)


# -- oracles ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_distances_of_the_authors_code(case):
    words = [re.findall("[a-z0-9]+", text) for text in case["coco_normalize"]]
    assert 1 - rouge_l(words) == pytest.approx(np.array(case["distances"]["rouge_l"]), abs=1e-12)
    # Theirs is 2 - BLEU with a little smoothing.
    tokens = [text.split() for text in case["coco_normalize"]]
    assert 2 - bleu_4(tokens) == pytest.approx(np.array(case["distances"]["bleu_4"]), abs=1e-7)
