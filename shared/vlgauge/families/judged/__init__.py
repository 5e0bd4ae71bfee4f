"""Family of the metrics that ask a judge model: base class and settings."""

from vlgauge.families.judged.metric import IMAGE_COLUMNS, TEXT_COLUMNS, JudgeMetric, pictures_of

__all__ = ["IMAGE_COLUMNS", "TEXT_COLUMNS", "JudgeMetric", "pictures_of"]
