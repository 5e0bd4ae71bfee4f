"""Contrastive n-grams: which n-grams the captions of a style have and those of other styles have not."""

from vlgauge.style.cosine_sums import CosineSums, cosine_sums
from vlgauge.style.counts import StyleTable
from vlgauge.style.explaining import caption_explanations, reference_explanations
from vlgauge.style.metric import StyleMetric
from vlgauge.style.scoring import (
    AUTHORS_SCALE,
    ORDER_RULES,
    blocks,
    length_penalties,
    score_blocks,
    weighted_ngrams,
    weighted_references,
)
from vlgauge.style.weights import VARIANTS

__all__ = [
    "AUTHORS_SCALE",
    "ORDER_RULES",
    "VARIANTS",
    "CosineSums",
    "StyleMetric",
    "StyleTable",
    "blocks",
    "caption_explanations",
    "cosine_sums",
    "length_penalties",
    "reference_explanations",
    "score_blocks",
    "weighted_ngrams",
    "weighted_references",
]
