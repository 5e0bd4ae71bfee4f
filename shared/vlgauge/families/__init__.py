"""What several metrics share: base classes and formulas."""
