"""Contrastive n-grams: which n-grams the captions of a style have and those of other styles have not."""

from vlgauge.ngrams.cosine_sums import CosineSums
from vlgauge.ngrams.cosine_sums import cosine_sums
from vlgauge.ngrams.explaining import caption_explanations
from vlgauge.ngrams.explaining import reference_explanations
from vlgauge.ngrams.frequencies import VARIANTS
from vlgauge.ngrams.table import StyleTable
from vlgauge.ngrams.weighing import AUTHORS_SCALE
from vlgauge.ngrams.weighing import ORDER_RULES
from vlgauge.ngrams.weighing import blocks
from vlgauge.ngrams.weighing import length_penalties
from vlgauge.ngrams.weighing import score_blocks
from vlgauge.ngrams.weighing import weighted_ngrams
from vlgauge.ngrams.weighing import weighted_references

__all__ = [
    "AUTHORS_SCALE",
    "ORDER_RULES",
    "VARIANTS",
    "CosineSums",
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
