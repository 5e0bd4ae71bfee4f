"""Formulas of CLIP-S and PAC-S: scores of images and videos, word weights, long captions."""

from vlgauge.families.clip_score.backbone_metric import REFERENCED_COLUMNS, BackboneMetric, warn_of_images
from vlgauge.families.clip_score.calibration import read_calibration
from vlgauge.families.clip_score.metric import ClipScoreMetric
from vlgauge.families.clip_score.rows import place_of

__all__ = [
    "REFERENCED_COLUMNS",
    "BackboneMetric",
    "ClipScoreMetric",
    "place_of",
    "read_calibration",
    "warn_of_images",
]
