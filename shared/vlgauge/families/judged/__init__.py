"""Family of the metrics that ask a judge model: base classes and settings."""

from vlgauge.families.judged.metric import ImageJudgeMetric, JudgeMetric, TextJudgeMetric, pictures_of

__all__ = ["ImageJudgeMetric", "JudgeMetric", "TextJudgeMetric", "pictures_of"]
