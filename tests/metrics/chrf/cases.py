"""Cases of this metric for the tests of all metrics."""


def changes(files):
    return {"word_order": ({}, {"word_order": 2}), "lowercase": ({}, {"lowercase": True})}


def named(files):
    return {"word_order": 2}
