"""CLIP-S: captions with their images or videos."""

from vlgauge.explain.captioned import ImageCaptions


class ClipS(ImageCaptions):
    """Captions, each with the other captions of its image."""

    name = "clip_s"
    reading = (
        "The score says how near caption and picture lie to each other in CLIP, times w (2.5 by default), and never "
        "below 0.",
        "Compare captions of one picture; sizes differ from picture to picture and from model to model.",
        "It judges fit, not wording, and CLIP often misses who does what to whom.",
    )
    reading_of_videos = (
        "The mean of two parts from CLIP: words and frames, each with what fits it best, "
        "and the caption with the whole video."
    )
