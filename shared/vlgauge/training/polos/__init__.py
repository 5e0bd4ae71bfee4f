"""Heads of Polos, fitted to ratings of captions."""
