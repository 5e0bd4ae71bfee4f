"""Summed counts from which corpus BLEU is computed, because it is not a mean of scores."""

from functools import partial

from vlgauge.families.aggregation import CountBasedMetric
from vlgauge.families.ngram.bleu import COUNT_COLUMNS
from vlgauge.families.ngram.bleu import compute_bleu
from vlgauge.families.ngram.bleu import compute_bleu_4
from vlgauge.families.ngram.bleu import counts_of_columns
from vlgauge.families.ngram.bleu import without_match
from vlgauge.families.ngram.cider import ORDERS

COUNTED = CountBasedMetric(
    COUNT_COLUMNS,
    counts_of_columns,
    compute_bleu_4,
    without_match,
    "neither system matches four words in a row",
    others={f"bleu_{order}": partial(compute_bleu, order=order) for order in ORDERS},
)
