"""Models fitted to human ratings of captions, on features of a CLIP and of a text encoder."""
