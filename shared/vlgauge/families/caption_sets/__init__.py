"""Metrics that compare two caption sets."""

from vlgauge.families.base.encoding import EncoderSettings
from vlgauge.families.caption_sets.corpus_statistic import Statistic
from vlgauge.families.caption_sets.metric import CaptionSetMetric
from vlgauge.families.caption_sets.permutation_settings import PermutationSettings
from vlgauge.families.caption_sets.vectors import CaptionSets

__all__ = ["CaptionSetMetric", "CaptionSets", "EncoderSettings", "PermutationSettings", "Statistic"]
