"""What a metric script imports: the abstract bases, the columns, and the checks of settings.

Scripts write ``from vlgauge import module`` and name the base as ``module.StoryMetric``: the host takes the first
concrete metric class in the namespace of a script, so none of ours may stand there by name.
"""

from vlgauge.module.base import ImageMetric
from vlgauge.module.base import Metric
from vlgauge.module.base import StoryImageMetric
from vlgauge.module.base import StoryMetric
from vlgauge.module.clip_scores import ClipScoreMetric
from vlgauge.module.columns import Captions
from vlgauge.module.columns import Column
from vlgauge.module.columns import Images
from vlgauge.module.columns import Story
from vlgauge.module.columns import Text
from vlgauge.module.columns import valid_unicode
from vlgauge.module.components import ComponentMetric
from vlgauge.module.components import Components
from vlgauge.module.set_statistics import Statistic
from vlgauge.module.sets import CaptionSetMetric
from vlgauge.module.sets import CaptionVectorMetric
from vlgauge.module.styles import References
from vlgauge.module.styles import StyleMetric
from vlgauge.progress import progress_bar
from vlgauge.settings import finite_number
from vlgauge.settings import one_of
from vlgauge.settings import plain_number
from vlgauge.settings import true_or_false
from vlgauge.settings import whole_number

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
