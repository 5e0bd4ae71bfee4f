"""PAC-S: captions with their images or videos."""

from vlgauge.explain.captioned import ImageCaptions


class PacSExplanation(ImageCaptions):
    """Captions, each with the other captions of its image."""

    name = "pac_s"
