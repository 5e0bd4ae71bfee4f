"""MMD-BERT: captions as point clouds, and the score within the null distribution."""

from vlgauge.explain.caption_sets import CaptionSets


class MmdBertExplanation(CaptionSets):
    """Caption sets as point clouds."""

    name = "mmd_bert"
    reading = (
        "Each caption is a point, and captions with similar meanings are close to each other.",
        "By the unbiased estimator, the default, the score is 0 on average if both sets come from one distribution; "
        "it increases with the difference of the distributions.",
        "The columns show the scores of all splits of the captions or, if there are too many, of a random sample. p "
        "is the share with a score at least as high.",
    )
    on_axis = (0.0,)
    statistic = "squared MMD"
