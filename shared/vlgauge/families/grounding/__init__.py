"""Family of groovist and rovist_vg, which compare the words of a story with the regions of its images."""

from vlgauge.families.grounding.evidence import Evidence, Spots, best_regions, encode_stories, read_stories
from vlgauge.families.grounding.metric import GroundingMetric, RegionSettings, SentenceSettings

__all__ = [
    "Evidence",
    "GroundingMetric",
    "RegionSettings",
    "SentenceSettings",
    "Spots",
    "best_regions",
    "encode_stories",
    "read_stories",
]
