"""METEOR 1.5 for English (Denkowski and Lavie, 2014), as the COCO caption evaluation runs it, to the last bit."""

from . import formula, scoring, sources

__all__ = ["formula", "scoring", "sources"]
