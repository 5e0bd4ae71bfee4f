"""Models that embed nouns and image regions in one space."""
