"""Summed counts from which METEOR 1.5 of a corpus is computed, because it is not a mean of scores."""

from vlgauge.families.aggregation import CountBasedMetric
from vlgauge.families.ngram.meteor15.formula import COLUMNS
from vlgauge.families.ngram.meteor15.formula import scores_of
from vlgauge.families.ngram.meteor15.formula import summands

COUNTED = CountBasedMetric(COLUMNS, summands, scores_of, unless="version:2007")
