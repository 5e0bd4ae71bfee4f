"""Contrastive n-grams: n-grams that distinguish the captions of one style from the captions of other styles."""

from vlgauge.families.style import explaining, formula, scoring
from vlgauge.families.style.metric import StyleMetric
from vlgauge.families.style.table import StyleTable

__all__ = ["StyleMetric", "StyleTable", "explaining", "formula", "scoring"]
