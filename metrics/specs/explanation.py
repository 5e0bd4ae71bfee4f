"""SPECS: captions with their images."""

from vlgauge.explain.captioned import ImageCaptions


class Specs(ImageCaptions):
    """Captions, each with the other captions of its image."""

    name = "specs"
    first_config = ""
    reading = (
        "0.5 is a right angle between caption and picture; the authors' own example has 0.43 to 0.46, so look at "
        "differences.",
        "Compare captions of one picture; a right detail more should raise the score by one or two hundredths.",
        "It judges fit, not wording, and reads 248 tokens of a caption.",
    )
