"""Heads that were fitted to ratings of captions, on vectors of a CLIP and of a text encoder."""
