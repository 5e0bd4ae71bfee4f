"""The papers' training recipes."""
