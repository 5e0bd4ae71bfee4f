"""Permutation tests, p-values over a corpus, intervals, and the comparison of systems."""

from vlgauge.statistics.comparison import (
    Interval,
    PairedTest,
    bootstrap_interval,
    bootstrap_intervals,
    holm,
    paired_test,
    paired_tests,
)
from vlgauge.statistics.permutation import (
    PVALUE_MODES,
    SIGNS,
    TOLERANCE,
    Partitions,
    SetTest,
    calibrated_harmonic_pvalue,
    check_partition_count,
    expected_log_pvalues,
    harmonic_mean_pvalue,
    mean_log_pvalue,
    partitions,
    permutation_pvalues,
)
from vlgauge.statistics.resampling import RESAMPLES, check_resampling, grouped_intervals
from vlgauge.statistics.summed import Statistic, summed_intervals, summed_tests, summed_value

__all__ = [
    "PVALUE_MODES",
    "RESAMPLES",
    "SIGNS",
    "TOLERANCE",
    "Interval",
    "PairedTest",
    "Partitions",
    "SetTest",
    "Statistic",
    "bootstrap_interval",
    "bootstrap_intervals",
    "calibrated_harmonic_pvalue",
    "check_partition_count",
    "check_resampling",
    "expected_log_pvalues",
    "grouped_intervals",
    "harmonic_mean_pvalue",
    "holm",
    "mean_log_pvalue",
    "paired_test",
    "paired_tests",
    "partitions",
    "permutation_pvalues",
    "summed_intervals",
    "summed_tests",
    "summed_value",
]
