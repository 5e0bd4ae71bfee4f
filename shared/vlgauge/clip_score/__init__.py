"""Formulas of CLIP-S and PAC-S: scores of images and videos, word weights, long captions."""

from vlgauge.clip_score.backbone_metric import BackboneMetric, ReferencedBackboneMetric
from vlgauge.clip_score.calibration import read_calibration
from vlgauge.clip_score.inputs import INPUTS
from vlgauge.clip_score.metric import ClipScoreMetric

__all__ = ["INPUTS", "BackboneMetric", "ClipScoreMetric", "ReferencedBackboneMetric", "read_calibration"]
