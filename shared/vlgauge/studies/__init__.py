"""The papers' experiments, for one's own data."""
