"""Distances and similarities between two captions."""
