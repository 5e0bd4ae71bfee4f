"""Summed counts from which corpus chrF is computed, because it is not a mean of scores."""

from vlgauge.families.aggregation import CountBasedMetric

from .formula import COUNT_COLUMNS
from .formula import f_score
from .formula import summands

COUNTED = CountBasedMetric(COUNT_COLUMNS, summands, f_score)
