"""SPECS: captions with their images."""

from vlgauge.explain.captioned import ImageCaptions


class SpecsExplanation(ImageCaptions):
    """Captions, each with the other captions of its image."""

    name = "specs"
    first_config = ""
    reading = (
        "A score of 0.5 means that the embeddings of caption and image are orthogonal. The example of the authors "
        "scores 0.43 to 0.46, so compare differences.",
        "Compare captions of one image; an additional right detail should raise the score by 0.01 to 0.02.",
        "It measures the match, not the wording, and uses the first 248 tokens of a caption.",
    )
