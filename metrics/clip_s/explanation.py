"""CLIP-S: captions with their images or videos."""

from vlgauge.explain.captioned import ImageCaptions


class ClipSExplanation(ImageCaptions):
    """Captions, each with the other captions of its image."""

    name = "clip_s"
    reading = (
        "The score is the cosine similarity of caption and image in CLIP, times w (2.5 by default), and at least 0.",
        "Compare captions of one image; the level of the scores differs between images and models.",
        "It measures the match, not the wording, and CLIP often confuses who does what to whom.",
    )
    reading_of_videos = (
        "The score is the mean of two similarities in CLIP: words and frames, each with its best match, and the "
        "caption with the whole video."
    )
