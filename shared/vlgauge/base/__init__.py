"""What a metric script imports: abstract bases, columns, and the checks of settings; each family has a room of its own.

Scripts write ``from vlgauge import base`` and name the base as ``base.StoryMetric``: the host takes the first
concrete metric class in the namespace of a script, so none of ours may stand there by name.
"""
# ruff: noqa: E402

from vlgauge.lean_imports import lean_import

# Before anything below asks for the host: its evaluators, which no score needs, would bring transformers and torch.
lean_import("evaluate")

from vlgauge.base.captions import CaptionMetric, TokenMetric
from vlgauge.base.columns import Captions, Column, Images, References, Story, Text
from vlgauge.base.components import ComponentMetric, Components
from vlgauge.base.metric import NEEDS_SENTENCES, ImageMetric, Metric, StoryImageMetric, StoryMetric
from vlgauge.progress import progress_bar, reported
from vlgauge.settings import finite_number, one_of, plain_number, true_or_false, valid_unicode, whole_number

__all__ = [
    "NEEDS_SENTENCES",
    "CaptionMetric",
    "Captions",
    "Column",
    "ComponentMetric",
    "Components",
    "ImageMetric",
    "Images",
    "Metric",
    "References",
    "Story",
    "StoryImageMetric",
    "StoryMetric",
    "Text",
    "TokenMetric",
    "finite_number",
    "one_of",
    "plain_number",
    "progress_bar",
    "reported",
    "true_or_false",
    "valid_unicode",
    "whole_number",
]
