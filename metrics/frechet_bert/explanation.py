"""Frechet-BERT: captions as point clouds with mean and spread, and the score within the null distribution."""

from typing import Any

from vlgauge.explain.caption_sets import CaptionSets


class FrechetBertExplanation(CaptionSets):
    """Caption sets as point clouds with mean and spread."""

    name = "frechet_bert"
    reading = (
        "Each caption is a point. The score compares mean and covariance of the two sets of points, drawn as ellipses.",
        "It is above 0 even if both sets come from one distribution, and the more so the smaller the sets are: "
        "compare it with the tick, which is its expected value by chance.",
        "The columns show the scores of all splits of the captions or, if there are too many, of a random sample. p "
        "is the share with a score at least as high.",
    )
    statistic = "Fréchet distance"
    ellipses = True

    def values(self, row: int) -> dict[str, Any]:
        """Return the template variables of a row, with the share of the score due to the means.

        Returns:
            The variables of `CaptionSets.values`. ``meaning`` begins with the share.
        """
        found, score = super().values(row), self.scores[row]
        part = self.details[row]["squared_mean_distance"]
        between = (
            f"{part / score:.0%} of the distance lies between the means, the rest in the spread. " if score > 0 else ""
        )
        return found | {"meaning": between + found["meaning"]}
