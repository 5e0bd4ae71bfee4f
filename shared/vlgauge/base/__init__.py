"""What a metric script imports: the abstract bases, the columns, and the checks of settings.

Scripts write ``from vlgauge import base`` and name the base as ``base.StoryMetric``: the host takes the first
concrete metric class in the namespace of a script, so none of ours may stand there by name.
"""

from vlgauge.base.columns import Captions, Column, Images, Story, Text, valid_unicode
from vlgauge.base.components import ComponentMetric, Components
from vlgauge.base.metric import ImageMetric, Metric, StoryImageMetric, StoryMetric
from vlgauge.caption_sets.corpus_statistic import Statistic
from vlgauge.caption_sets.metric import CaptionSetMetric, CaptionVectorMetric
from vlgauge.clip_score.metric import ClipScoreMetric
from vlgauge.progress import progress_bar
from vlgauge.settings import finite_number, one_of, plain_number, true_or_false, whole_number
from vlgauge.style.metric import References, StyleMetric

__all__ = [
    "CaptionSetMetric",
    "CaptionVectorMetric",
    "Captions",
    "ClipScoreMetric",
    "Column",
    "ComponentMetric",
    "Components",
    "ImageMetric",
    "Images",
    "Metric",
    "References",
    "Statistic",
    "Story",
    "StoryImageMetric",
    "StoryMetric",
    "StyleMetric",
    "Text",
    "finite_number",
    "one_of",
    "plain_number",
    "progress_bar",
    "true_or_false",
    "valid_unicode",
    "whole_number",
]
