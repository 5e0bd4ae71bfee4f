"""Experiments of the papers, for your own data."""
