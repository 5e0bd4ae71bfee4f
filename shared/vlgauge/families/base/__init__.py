"""Base classes, columns and validation functions for metric scripts.

Scripts write ``from vlgauge.families import base`` and refer to a base class as ``base.StoryMetric``, because
`evaluate` uses the first concrete metric class in the namespace of a script. Therefore no base class may be imported
there by name.
"""
# ruff: noqa: E402

from vlgauge.core.lean_imports import lean_import

# Call this before the imports below load `evaluate`. Its evaluators, which no score needs, would load transformers and
# torch.
lean_import("evaluate")

from vlgauge.core.progress import progress_bar, report_progress
from vlgauge.core.validation import check_bool, check_choice, check_float, check_int, plain_number, valid_unicode
from vlgauge.families.base.captions import SAMPLED_COLUMNS, CaptionMetric, TokenMetric, fill_rows
from vlgauge.families.base.columns import Captions, Column, Images, References, Story, Text
from vlgauge.families.base.components import ComponentMetric, Components
from vlgauge.families.base.metric import NEEDS_SENTENCES, ImageMetric, Metric, StoryMetric

__all__ = [
    "NEEDS_SENTENCES",
    "SAMPLED_COLUMNS",
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
    "StoryMetric",
    "Text",
    "TokenMetric",
    "check_bool",
    "check_choice",
    "check_float",
    "check_int",
    "fill_rows",
    "plain_number",
    "progress_bar",
    "report_progress",
    "valid_unicode",
]
