"""Comparing systems, keeping records of their results, and exporting them."""

from vlgauge.leaderboard.comparison import (
    Comparison,
    MetricComparison,
    Pair,
    System,
    compare,
    rank_groups,
    rows_that_differ,
)
from vlgauge.leaderboard.runs import read_run

__all__ = [
    "Comparison",
    "MetricComparison",
    "Pair",
    "System",
    "compare",
    "rank_groups",
    "read_run",
    "rows_that_differ",
]
