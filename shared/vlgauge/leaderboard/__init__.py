"""Comparison of systems, and records of their results with exports for the Hub."""

from vlgauge.leaderboard.comparison import (
    MetricComparison,
    RunComparison,
    System,
    SystemPair,
    compare,
    rank_groups,
    rows_that_differ,
)
from vlgauge.leaderboard.record import Dataset, Model, Record, RecordSource
from vlgauge.leaderboard.records import append_records, parse_records, read_records, record_of
from vlgauge.leaderboard.runs import read_run

__all__ = [
    "Dataset",
    "MetricComparison",
    "Model",
    "Record",
    "RecordSource",
    "RunComparison",
    "System",
    "SystemPair",
    "append_records",
    "compare",
    "parse_records",
    "rank_groups",
    "read_records",
    "read_run",
    "record_of",
    "rows_that_differ",
]
