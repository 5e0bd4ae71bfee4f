"""PAC-S: captions with their images or videos."""

from vlgauge.explain.captioned import ImageCaptions


class PacS(ImageCaptions):
    """Captions, each with the other captions of its image."""

    name = "pac_s"
    reading = (
        "0 to w (2 by default): how well caption and picture fit, after CLIP was trained further with more right "
        "examples.",
        "Compare captions of one picture; sizes differ from picture to picture and from model to model.",
        "It judges fit, not wording: the right words in a salad can score high.",
    )
    reading_of_videos = (
        "The mean of two parts from CLIP trained further: words and frames, each with what fits it best, "
        "and the caption with the whole video."
    )
