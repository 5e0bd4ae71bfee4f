"""Models that ground a noun in a region."""
