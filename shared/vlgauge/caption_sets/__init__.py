"""Metrics of two sets of captions."""

from vlgauge.caption_sets.corpus_statistic import Statistic
from vlgauge.caption_sets.metric import CITATION, CaptionSetMetric, CaptionVectorMetric, VectorSetMetric

__all__ = ["CITATION", "CaptionSetMetric", "CaptionVectorMetric", "Statistic", "VectorSetMetric"]
