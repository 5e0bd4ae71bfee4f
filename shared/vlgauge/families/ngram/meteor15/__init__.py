"""METEOR 1.5 for English (Denkowski and Lavie, 2014), bitwise identical to the COCO caption evaluation."""

from . import formula, scoring, sources

__all__ = ["formula", "scoring", "sources"]
