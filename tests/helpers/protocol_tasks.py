"""Tasks of the evaluation protocols with given ratings or votes. The content of their rows does not matter."""

import numpy as np

from vlgauge.research.protocols.evaluation import judge
from vlgauge.research.protocols.pairs import CaptionPairs
from vlgauge.research.protocols.ratings import RatedCaptions


def rated(ratings, groups=None, **more):
    ratings = np.asarray(ratings, dtype=float)
    ratings = ratings.reshape(len(ratings), -1)
    groups = [str(i) for i in range(len(ratings))] if groups is None else groups
    return RatedCaptions("x", {"predictions": ["a"] * len(ratings)}, groups, {"ratings": "rows"}, ratings, **more)


def pairs(votes, kinds=None, groups=None, rows=None, **more):
    n = len(votes)
    groups = [str(i) for i in range(n)] if groups is None else groups
    columns = {"predictions": ["a"] * (2 * n if rows is None else rows)}
    return CaptionPairs("x", columns, groups, {}, np.array(votes), kinds or ["pairs"] * n, **more)


def interleaved(a, b):
    return np.stack([a, b], axis=1).ravel().tolist()


def values(evaluation):
    return {name: figure.value for name, figure in evaluation.figures.items()}


def evaluated(task, scores, **how):
    return judge(task, {"": scores}, **how).evaluations[""]


def plain_figures(task, scores, **how):
    return values(evaluated(task, scores, resamples=0, **how))
