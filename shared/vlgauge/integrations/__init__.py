"""Metrics in training loops and on clusters, with one module per library that is imported only when it is used."""
