"""Names of the input columns of all metrics, in a module without heavy imports for the command line."""

COLUMNS = ("predictions", "references", "images", "videos", "styles")
"""Names of all input columns.

A metric ignores the columns that it does not use, so that `evaluate.combine` can pass the same columns to different
metrics.
"""
