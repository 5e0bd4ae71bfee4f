"""METEOR of 2007 against references: the best reference, NLTK's values, and undefined scores."""

import math

import pytest
from coco_captions import coco, needs_coco, random_examples, scores
from one_pair import meteor_score


def older(predictions, references, **settings):
    return scores("meteor", predictions, references, version="2007", **settings)


def test_by_hand():
    result = older(["a dog runs"], [["a dog runs", "runs dog a"]])
    # Three matches in one run: 1 - 0.5/27; in three runs: 1 - 0.5.
    assert result["meteor_details"][0]["per_reference"] == pytest.approx([1 - 0.5 / 27, 0.5])
    assert result["meteor"] == pytest.approx(1 - 0.5 / 27)


def test_precision_and_recall_are_not_the_same():
    longer, shorter = older(["a dog runs home", "a dog"], [["a dog"], ["a dog runs home"]])["meteor_scores"]
    # P = 1/2, R = 1 and the other way round; alpha = .9 leans to recall; two matches in one run.
    assert longer == pytest.approx(0.5 / (0.9 * 0.5 + 0.1) * (1 - 0.5 / 8))
    assert shorter == pytest.approx(0.5 / (0.9 + 0.1 * 0.5) * (1 - 0.5 / 8))


def test_the_best_reference_counts():
    predictions, references = random_examples(30, 3)
    expected = [
        max(meteor_score(reference.split(), caption.split()) for reference in captions)
        for caption, captions in zip(predictions, references, strict=True)
    ]
    assert older(predictions, references)["meteor_scores"] == pytest.approx(expected, rel=1e-12)


def test_without_references_undefined():
    result = older(["a", "", "a"], [[], ["a"], ["a"]])
    assert math.isnan(result["meteor_scores"][0])
    assert result["meteor_scores"][1:] == [0.0, pytest.approx(0.5)]
    assert result["meteor_undefined"] == 1
    assert result["meteor_signature"].endswith("|variant:meteor-2007+wn3.0")


@needs_coco
def test_nltk():
    material = coco()
    result = older(material["tokenized_candidates"], material["tokenized_references"], tokenizer=str.split)
    pairs = material["per_image"]["meteor_nltk_pairs"]
    assert result["meteor_scores"] == pytest.approx([max(scores_) for scores_ in pairs], abs=1e-9)
    found = [details["per_reference"] for details in result["meteor_details"]]
    assert [score for row in found for score in row] == pytest.approx([s for row in pairs for s in row], abs=1e-9)
