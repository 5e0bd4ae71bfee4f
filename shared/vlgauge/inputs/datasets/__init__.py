"""Datasets of the Hub, opened in the sandbox."""
