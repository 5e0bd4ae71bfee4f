"""Studies, protocols, verification of published tables, and training recipes of the papers."""
