"""CLIP-S: captions with their images or videos."""

from vlgauge.explain.captioned import ImageCaptions


class ClipSExplanation(ImageCaptions):
    """Captions, each with the other captions of its image."""

    name = "clip_s"
