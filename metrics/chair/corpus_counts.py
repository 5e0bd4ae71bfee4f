"""Summed counts from which CHAIR_i of a corpus is computed, because it is not a mean of scores."""

from vlgauge.families.aggregation import CountBasedMetric

from .formula import chair_i

# A caption without objects has an undefined score, but adds 0 to both counts.
COUNTED = CountBasedMetric(("invented", "mentions"), lambda columns: columns, chair_i)
