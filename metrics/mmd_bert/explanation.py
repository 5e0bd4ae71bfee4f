"""MMD-BERT: captions as point clouds, and the score within the null distribution."""

from vlgauge.explain.caption_sets import CaptionSets


class MmdBertExplanation(CaptionSets):
    """Caption sets as point clouds."""

    name = "mmd_bert"
    on_axis = (0.0,)
    statistic = "squared MMD"
