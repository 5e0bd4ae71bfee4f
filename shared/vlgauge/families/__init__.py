"""Base classes and formulas that several metrics share."""
