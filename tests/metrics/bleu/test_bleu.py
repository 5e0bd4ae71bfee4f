"""BLEU: by hand, against its definition, the COCO caption evaluation, and input errors."""

import math
from collections import Counter

import numpy as np
import pytest
from coco_captions import coco, needs_coco, random_examples, scores

import vlgauge
from vlgauge.families.ngram.bleu import COUNT_COLUMNS


def grams(tokens, n):
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def plain_bleu(rows):
    """Compute BLEU-1 to BLEU-4 of pairs (caption, references), with the counts of all rows summed first."""
    matches, guesses, length, closest = [0] * 4, [0] * 4, 0, 0
    for caption, references in rows:
        tokens, others = caption.split(), [reference.split() for reference in references]
        length += len(tokens)
        closest += min((abs(len(other) - len(tokens)), len(other)) for other in others)[1]
        for n in range(1, 5):
            own = grams(tokens, n)
            guesses[n - 1] += sum(own.values())
            matches[n - 1] += sum(min(count, max(grams(o, n)[gram] for o in others)) for gram, count in own.items())
    product, found = 1.0, []
    for n in range(1, 5):
        product *= (matches[n - 1] + 1e-15) / (guesses[n - 1] + 1e-9)
        ratio = (length + 1e-15) / (closest + 1e-9)
        found.append(product ** (1 / n) * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0))
    return found


def test_by_hand():
    result = scores("bleu", ["a a b c"], [["a b c", "a b d e"]])
    # One a of two counts; of a a, a b, b c two; of a a b, a b c one; none of four. r = 4, since 4 is as long.
    details = result["bleu_details"][0]
    assert (details["matches"], details["guesses"]) == ([3, 2, 1, 0], [4, 3, 2, 1])
    assert (details["length"], details["closest"]) == (4, 4)
    assert result["bleu_1"] == pytest.approx(3 / 4)
    assert result["bleu_3"] == pytest.approx((3 / 4 * 2 / 3 * 1 / 2) ** (1 / 3))
    assert result["bleu"] == result["bleu_4"] == pytest.approx(0, abs=1e-3)


def test_the_corpus_is_no_mean_and_short_captions_pay():
    result = scores("bleu", ["a dog runs on the grass", "two cats"], ["a dog runs on the grass", "two cats sleep here"])
    # All n-grams match, 8 tokens against 10.
    assert result["bleu_1"] == pytest.approx(math.exp(1 - 10 / 8))
    assert result["bleu_scores"][0] == pytest.approx(1.0)
    assert result["bleu"] != pytest.approx(np.mean(result["bleu_scores"]), abs=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_equals_the_definition(seed):
    predictions, references = random_examples(40, seed)
    result = scores("bleu", predictions, references)
    rows = list(zip(predictions, references, strict=True))
    assert [result[f"bleu_{n}"] for n in range(1, 5)] == pytest.approx(plain_bleu(rows), rel=1e-10)
    assert result["bleu_scores"] == pytest.approx([plain_bleu([row])[3] for row in rows], rel=1e-10, abs=1e-15)


def test_of_two_equally_close_references_the_shorter_counts():
    assert scores("bleu", ["a b c"], [["a b c d", "a b"]])["bleu_details"][0]["closest"] == 2


def test_without_references_undefined_and_out_of_the_corpus():
    predictions, references = random_examples(10, 7)
    whole = scores("bleu", predictions, references)
    more = scores("bleu", [*predictions[:4], "a dog", *predictions[4:]], [*references[:4], [], *references[4:]])
    assert math.isnan(more["bleu_scores"][4])
    assert more["bleu_undefined"] == 1
    assert (more["bleu"], more["bleu_1"]) == (whole["bleu"], whole["bleu_1"])
    assert more["bleu_details"][4] == {}
    nothing = scores("bleu", ["a"], [[]])
    assert math.isnan(nothing["bleu"])
    assert math.isnan(nothing["bleu_1"])


def test_counts_of_each_caption_come_with_every_result():
    predictions, references = random_examples(6, 8)
    result = vlgauge.load("bleu", keep_in_memory=True).compute(
        predictions=[*predictions, "a dog"], references=[*references, []]
    )
    details = scores("bleu", predictions, references)["bleu_details"]
    for order in range(4):
        assert result[f"bleu_matches_{order + 1}"][:-1] == [one["matches"][order] for one in details]
    assert result["bleu_length"][:-1] == [one["length"] for one in details]
    assert result["bleu_closest"][:-1] == [one["closest"] for one in details]
    assert all(math.isnan(result[f"bleu_{name}"][-1]) for name in COUNT_COLUMNS)


@needs_coco
def test_coco_caption_evaluation():
    """Compare both raw captions and captions tokenized by the Java program."""
    material = coco()
    for kind, settings in (("", {}), ("tokenized_", {"tokenizer": str.split})):
        result = scores("bleu", material[f"{kind}candidates"], material[f"{kind}references"], **settings)
        assert [result[f"bleu_{n}"] for n in range(1, 5)] == pytest.approx(material["corpus"]["bleu"], abs=1e-12)
        assert result["bleu_scores"] == pytest.approx(material["per_image"]["bleu_4"], abs=1e-12)
