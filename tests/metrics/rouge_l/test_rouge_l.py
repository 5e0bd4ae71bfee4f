"""ROUGE-L: by hand, against its definition, the COCO caption evaluation, and undefined scores."""

import math

import pytest
from coco_captions import coco, needs_coco, random_examples, scores


def plain_common(a, b):
    """Compute the length of the longest common subsequence with the table of all prefixes."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            table[i][j] = table[i - 1][j - 1] + 1 if x == y else max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def plain_rouge_l(caption, references):
    tokens, others = caption.split(), [reference.split() for reference in references]
    precision = max(plain_common(tokens, other) / max(1, len(tokens)) for other in others)
    recall = max(plain_common(tokens, other) / len(other) for other in others)
    return (1 + 1.44) * precision * recall / (recall + 1.44 * precision) if precision else 0.0


def test_by_hand():
    result = scores("rouge_l", ["a dog runs on grass"], [["the dog on the grass", "a dog"]])
    # dog on grass: 3 of 5; a dog: both tokens of the second reference. P = 3/5 from one, R = 1 from the other.
    details = result["rouge_l_details"][0]
    assert (details["common"], details["precision"], details["recall"]) == ([3, 2], 0.6, 1.0)
    assert result["rouge_l"] == pytest.approx(2.44 * 0.6 / (1 + 1.44 * 0.6))


@pytest.mark.parametrize("seed", range(3))
def test_equals_the_definition(seed):
    predictions, references = random_examples(40, seed)
    expected = [plain_rouge_l(*row) for row in zip(predictions, references, strict=True)]
    assert scores("rouge_l", predictions, references)["rouge_l_scores"] == pytest.approx(expected, rel=1e-12)


def test_nothing_in_common_and_nothing_at_all():
    result = scores("rouge_l", ["a", "", "a", "x"], [["b"], ["b"], [], ["x"]])
    assert result["rouge_l_scores"][:2] == [0.0, 0.0]
    assert math.isnan(result["rouge_l_scores"][2])
    assert result["rouge_l_scores"][3] == pytest.approx(1.0)
    assert result["rouge_l_undefined"] == 1


@needs_coco
def test_coco_caption_evaluation():
    """Compare both raw captions and captions tokenized by the Java program."""
    material = coco()
    for kind, settings in (("", {}), ("tokenized_", {"tokenizer": str.split})):
        result = scores("rouge_l", material[f"{kind}candidates"], material[f"{kind}references"], **settings)
        assert result["rouge_l_scores"] == pytest.approx(material["per_image"]["rouge_l"], abs=1e-12)
        assert result["rouge_l"] == pytest.approx(material["corpus"]["rouge_l"], abs=1e-12)
