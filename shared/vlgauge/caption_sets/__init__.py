"""Metrics of two sets of captions."""
