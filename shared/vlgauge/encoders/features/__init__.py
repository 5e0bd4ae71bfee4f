"""Features kept in memory and on the disk."""
