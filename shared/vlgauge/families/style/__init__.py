"""Contrastive n-grams: n-grams that distinguish the captions of one style from the captions of other styles."""

from vlgauge.families.style.explaining import caption_explanations, reference_explanations
from vlgauge.families.style.formula import (
    ORDER_RULES,
    CosineSums,
    cosine_sums,
    mean_over_references,
    own_scores,
    reference_cosines,
    reference_scores,
    score_blocks,
)
from vlgauge.families.style.metric import StyleMetric
from vlgauge.families.style.scoring import blocks, weigh_ngrams, weigh_references
from vlgauge.families.style.table import StyleTable
from vlgauge.families.style.weights import VARIANTS
from vlgauge.inputs.text.ngrams import lengths_of

__all__ = [
    "ORDER_RULES",
    "VARIANTS",
    "CosineSums",
    "StyleMetric",
    "StyleTable",
    "blocks",
    "caption_explanations",
    "cosine_sums",
    "lengths_of",
    "mean_over_references",
    "own_scores",
    "reference_cosines",
    "reference_explanations",
    "reference_scores",
    "score_blocks",
    "weigh_ngrams",
    "weigh_references",
]
