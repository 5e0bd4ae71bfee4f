"""MMD-BERT: the clouds of captions, and the score among those of all ways to split them."""

from vlgauge.explain.caption_sets import CaptionSets


class MmdBert(CaptionSets):
    """Caption sets as clouds of points."""

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
