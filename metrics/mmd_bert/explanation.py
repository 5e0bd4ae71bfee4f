"""MMD-BERT: captions as point clouds, and the score within the null distribution."""

from vlgauge.explain.caption_sets import CaptionSets


class MmdBert(CaptionSets):
    """Caption sets as point clouds."""

    name = "mmd_bert"
    reading = (
        "Each caption becomes a point, and near points mean alike things.",
        "By the unbiased estimator, the default, the score is 0 on average where both sides draw from one cloud; it "
        "grows as the clouds part.",
        "The columns show the score of other ways to split the captions, of all or, where they are too many, of a "
        "random sample; p is the share at least as far apart as these.",
    )
    on_axis = (0.0,)
    statistic = "squared MMD"
