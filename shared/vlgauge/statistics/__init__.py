"""Permutation tests, p-values over a corpus, intervals, and the comparison of systems."""

from vlgauge.statistics.comparison import Interval
from vlgauge.statistics.comparison import PairedTest
from vlgauge.statistics.comparison import bootstrap_interval
from vlgauge.statistics.comparison import paired_test
from vlgauge.statistics.permutation import PVALUE_MODES
from vlgauge.statistics.permutation import SIGNS
from vlgauge.statistics.permutation import TOLERANCE
from vlgauge.statistics.permutation import Partitions
from vlgauge.statistics.permutation import SetTest
from vlgauge.statistics.permutation import calibrated_harmonic_pvalue
from vlgauge.statistics.permutation import check_partition_count
from vlgauge.statistics.permutation import expected_log_pvalues
from vlgauge.statistics.permutation import harmonic_mean_pvalue
from vlgauge.statistics.permutation import mean_log_pvalue
from vlgauge.statistics.permutation import partitions
from vlgauge.statistics.permutation import permutation_pvalues
from vlgauge.statistics.resampling import RESAMPLES
from vlgauge.statistics.resampling import check_resampling
from vlgauge.statistics.resampling import grouped_intervals

__all__ = [
    "PVALUE_MODES",
    "RESAMPLES",
    "SIGNS",
    "TOLERANCE",
    "Interval",
    "PairedTest",
    "Partitions",
    "SetTest",
    "bootstrap_interval",
    "calibrated_harmonic_pvalue",
    "check_partition_count",
    "check_resampling",
    "expected_log_pvalues",
    "grouped_intervals",
    "harmonic_mean_pvalue",
    "mean_log_pvalue",
    "paired_test",
    "partitions",
    "permutation_pvalues",
]
