"""Frechet-BERT: captions as point clouds with mean and spread, and the score within the null distribution."""

from typing import Any

from vlgauge.explain.caption_sets import CaptionSets


class FrechetBert(CaptionSets):
    """Caption sets as point clouds with mean and spread."""

    name = "frechet_bert"
    reading = (
        "Each caption becomes a point; the score compares mean and spread of the two clouds, drawn as ellipses.",
        "It is above 0 even where both sides draw from one cloud, the more so the fewer captions there are: look at "
        "the tick, which is what chance gives.",
        "The columns show the score of other ways to split the captions, of all or, where they are too many, of a "
        "random sample; p is the share at least as far apart as these.",
    )
    statistic = "Fréchet distance"
    ellipses = True

    def values(self, row: int) -> dict[str, Any]:
        """Return the template values of a row, with the share of the score due to the means."""
        found, score = super().values(row), self.scores[row]
        part = self.details[row]["squared_mean_distance"]
        between = (
            f"{part / score:.0%} of the distance lies between the means, the rest in the spread. " if score > 0 else ""
        )
        return found | {"meaning": between + found["meaning"]}
