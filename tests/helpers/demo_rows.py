"""Rows for the demo metrics, and their results."""

import json

STORIES = ["One two.", "Three", ""]
SETS = {"predictions": [["a", "b"], ["c"], []], "references": [["a"], ["d"], []]}


def same(first, second):
    """Return whether two results are equal, with NaN equal to NaN."""
    return json.dumps(first) == json.dumps(second)
