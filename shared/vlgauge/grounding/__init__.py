"""What groovist and rovist_vg share: words of a story and regions of its images, compared as unit vectors."""

from vlgauge.grounding.evidence import Evidence, Spots, best_regions
from vlgauge.grounding.metric import GroundingMetric

__all__ = ["Evidence", "GroundingMetric", "Spots", "best_regions"]
