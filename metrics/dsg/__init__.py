"""DSG: the script for `evaluate`, the definition and the explanation."""
