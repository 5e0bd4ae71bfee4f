"""BERTScore: the script for `evaluate`, its formulas and its explanation."""
