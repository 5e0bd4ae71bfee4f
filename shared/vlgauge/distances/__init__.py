"""Distances and similarities of two captions."""
