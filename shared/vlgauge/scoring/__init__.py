"""Rows in, tables and pictures out: what `vlgauge.score`, `vlgauge.compare` and the commands share."""
