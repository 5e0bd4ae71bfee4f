"""Cases of this metric for the tests of all metrics."""

USES_MODELS = True  # those of the metrics whose scores it reads


def changes(files):
    return {"apply_tanh": ({}, {"apply_tanh": False})}
