"""Feature stores in memory and on disk."""
