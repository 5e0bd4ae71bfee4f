"""Permutation tests, p-values of a corpus, confidence intervals, and comparisons of systems."""

from vlgauge.stats.intervals import FEW, FEW_MARK, FEW_NOTE, METHOD, Interval, bootstrap_interval, bootstrap_intervals
from vlgauge.stats.paired import PairedTest, differences, holm, paired_test, paired_tests
from vlgauge.stats.permutation import (
    TOLERANCE,
    Partitions,
    SetTest,
    compute_calibrated_harmonic_pvalue,
    expected_log_pvalues,
    harmonic_mean_pvalue,
    mean_log_pvalue,
    partitions,
    permutation_pvalues,
)
from vlgauge.stats.resampling import (
    RESAMPLES,
    bootstrap_pvalue,
    compute_grouped_samples,
    percentile_interval,
)
from vlgauge.stats.scores import LARGEST
from vlgauge.stats.significance import (
    LEAST_SAMPLES,
    alpha,
    can_be_significant,
    default_resamples,
    is_significant,
    min_resamples,
)
from vlgauge.stats.summed import Statistic, count_statistic, count_statistic_intervals, count_statistic_tests

__all__ = [
    "FEW",
    "FEW_MARK",
    "FEW_NOTE",
    "LARGEST",
    "LEAST_SAMPLES",
    "METHOD",
    "RESAMPLES",
    "TOLERANCE",
    "Interval",
    "PairedTest",
    "Partitions",
    "SetTest",
    "Statistic",
    "alpha",
    "bootstrap_interval",
    "bootstrap_intervals",
    "bootstrap_pvalue",
    "can_be_significant",
    "compute_calibrated_harmonic_pvalue",
    "compute_grouped_samples",
    "count_statistic",
    "count_statistic_intervals",
    "count_statistic_tests",
    "default_resamples",
    "differences",
    "expected_log_pvalues",
    "harmonic_mean_pvalue",
    "holm",
    "is_significant",
    "mean_log_pvalue",
    "min_resamples",
    "paired_test",
    "paired_tests",
    "partitions",
    "percentile_interval",
    "permutation_pvalues",
]
