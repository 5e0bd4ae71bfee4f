"""Captions are encoded once and pairs of an example compared once, with the scores of separate calls."""

from collections import Counter

import numpy as np
import pytest

import vlgauge
from vlgauge.research.studies.caption_pools import share_comparisons, together
from vlgauge.research.studies.sensitivity import sensitivity

WORDS = ["dog", "cat", "tree", "road", "sun", "child", "ball", "park"]


@pytest.fixture(scope="module")
def sets():
    """Return candidates and references of 6 rows, with some captions twice."""
    rng = np.random.default_rng(0)
    texts = [[" ".join(rng.choice(WORDS, 4)) for _ in range(7)] for _ in range(6)]
    return [[*row[:3], row[3], row[3]] for row in texts], [row[3:] for row in texts]


def letters(texts):
    """Return a vector per text with the count of each letter."""
    return np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], dtype=float)


def test_captions_are_encoded_and_compared_once(sets):
    predictions, references = sets
    encoded, compared = Counter(), Counter()

    def encode(texts):
        encoded.update(texts)
        return letters(texts)

    def distance(one, other):
        compared[one, other] += 1
        return abs(len(one) - len(other)) + (one != other)

    metrics = {
        "a": vlgauge.load("mmd_bert", encoder=encode, pvalue="exact"),
        "b": vlgauge.load("frechet_bert", encoder=encode, pvalue="exact"),
        "c": vlgauge.load("trm", distance=distance, pvalue="exact"),
    }
    sensitivity(predictions, references, metrics, sizes=[2, 3, 5])
    pooled = [set(row) for row in together(predictions, references)]
    assert encoded == Counter(set().union(*pooled))
    assert sum(compared.values()) == sum(len(row) ** 2 for row in pooled)


SETTINGS = [
    ("mmd_bert", {"encoder": letters}),
    ("trm", {"distance": "bert", "encoder": letters, "mean_aggregate": True}),
    ("trm", {"distance": "cider_d", "mean_aggregate": True}),
    ("trm", {"distance": "rouge_l", "mean_aggregate": True}),
    ("trm", {"force_zero_self": True}),
]


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.filterwarnings("ignore:CIDEr-D takes document")
def test_numbers_are_those_of_calls_on_their_own(sets, name, settings, pairs):
    predictions, references = sets
    metric = vlgauge.load(name, pvalue="exact", keep_in_memory=True, **settings)
    nested = {"predictions": [row[:3] for row in predictions], "references": references}
    alone = metric.compute(**nested)
    with share_comparisons({"x": metric}, together(predictions, references), references, pairs=pairs):
        among = metric.compute(**nested)
    assert among.keys() == alone.keys()
    for key, value in alone.items():
        assert among[key] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-9, nan_ok=True))


def test_a_context_ends_and_the_outer_one_counts(sets):
    predictions, references = sets
    metric = vlgauge.load("trm", distance="cider_d", df="pooled", keep_in_memory=True)
    alone = metric.compute(predictions=predictions, references=references)["trm_scores"]
    fewer = [row[:2] for row in references]
    with share_comparisons({"x": metric}, together(predictions, references), references):
        outer = metric.compute(predictions=predictions, references=fewer)["trm_scores"]
        with share_comparisons({"x": metric}, together(predictions, fewer), fewer):
            assert metric.compute(predictions=predictions, references=fewer)["trm_scores"] == outer
    assert metric.compute(predictions=predictions, references=references)["trm_scores"] == alone
    assert metric.compute(predictions=predictions, references=fewer)["trm_scores"] != outer  # other documents


def test_sides_of_unequal_length():
    with pytest.raises(ValueError, match=r"^`predictions`.*`references`.*got 2"):
        together([["a"], ["b"]], [["c"]])
