"""The metrics: one folder each, with an `evaluate` module, its formulas, explanation, examples and card."""
