"""Frechet-BERT: captions as point clouds with mean and spread, and the score within the null distribution."""

from typing import Any

from vlgauge.explain.caption_sets import CaptionSets


class FrechetBertExplanation(CaptionSets):
    """Caption sets as point clouds with mean and spread."""

    name = "frechet_bert"
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
