"""Scoring and comparison of tables with output of tables and figures, shared by the Python functions and the CLI."""
