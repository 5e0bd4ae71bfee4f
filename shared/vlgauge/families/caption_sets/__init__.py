"""Metrics that compare two caption sets."""

from vlgauge.families.caption_sets.corpus_statistic import Statistic
from vlgauge.families.caption_sets.metric import CaptionSetMetric, CaptionVectorMetric, VectorSetMetric

__all__ = ["CaptionSetMetric", "CaptionVectorMetric", "Statistic", "VectorSetMetric"]
