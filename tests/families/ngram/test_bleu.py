"""BLEU-4 of pairs: by hand, against the definition, empty captions, oracles."""

import gzip
import json
import math
from collections import Counter
from itertools import combinations

import folders
import numpy as np
import pytest
from coco_captions import by_example

from vlgauge.families.ngram.bleu import bleu_4, bleu_counts, coco_bleu, leave_one_out_counts
from vlgauge.inputs.text.ngrams import token_ids

GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "trm.json.gz").read_bytes()))


def coco_bleu_4(candidate, references):
    return float(coco_bleu(bleu_counts(*by_example([candidate], [references])))[0, 3])


def random_texts(n_texts, longest, seed):
    rng = np.random.default_rng(seed)
    return [list(map(str, rng.integers(0, 4, rng.integers(0, longest + 1)))) for _ in range(n_texts)]


# -- by hand ----------------------------------------------------------------------------------------------------------
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
    # Theirs is 2 - BLEU with a little smoothing.
    tokens = [text.split() for text in case["coco_normalize"]]
    assert 2 - bleu_4(tokens) == pytest.approx(np.array(case["distances"]["bleu_4"]), abs=1e-7)


# -- each text against the others --------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(5))
def test_leave_one_out_counts_equal_those_of_each_text_against_the_others(seed):
    rng = np.random.default_rng(seed)
    rows = [random_texts(int(rng.integers(2, 6)), 7, seed + 10 * row) for row in range(9)]
    example = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    found = leave_one_out_counts(token_ids([text for own in rows for text in own]), example)
    apart = [(own[i], [*own[:i], *own[i + 1 :]]) for own in rows for i in range(len(own))]
    expected = bleu_counts(*by_example([text for text, _ in apart], [others for _, others in apart]))
    np.testing.assert_array_equal(found, expected)
