"""SPECS: captions with their images."""

from vlgauge.explain.captioned import ImageCaptions


class SpecsExplanation(ImageCaptions):
    """Captions, each with the other captions of its image."""

    name = "specs"
    first_config = ""
