"""Family of the metrics that ask a judge model: base classes and settings."""

from vlgauge.families.judged.metric import JudgeMetric, PictureJudgeMetric, TextJudgeMetric, pictures_of

__all__ = ["JudgeMetric", "PictureJudgeMetric", "TextJudgeMetric", "pictures_of"]
