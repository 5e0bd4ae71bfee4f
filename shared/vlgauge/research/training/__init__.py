"""Training recipes of the papers."""
