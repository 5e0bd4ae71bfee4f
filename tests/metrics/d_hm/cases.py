"""Cases of this metric for the tests of all metrics."""


def changes(files):
    return {"apply_tanh": ({}, {"apply_tanh": False})}
