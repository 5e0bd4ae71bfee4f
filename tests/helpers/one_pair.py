"""Distances of the captions of one example, which the package computes for many at a time."""

from vlgauge.families.ngram.cider import cider_d_of_examples
from vlgauge.families.ngram.meteor import meteor_matrices, meteor_scores


def cider_d(texts, df):
    return next(cider_d_of_examples([texts], df))


def meteor_score(reference, hypothesis):
    return next(meteor_scores([hypothesis], [[reference]]))[0]


def meteor_distances(captions, **settings):
    return next(meteor_matrices([captions], **settings))
