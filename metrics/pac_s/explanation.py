"""PAC-S: captions with their images or videos."""

from vlgauge.explain.captioned import ImageCaptions


class PacSExplanation(ImageCaptions):
    """Captions, each with the other captions of its image."""

    name = "pac_s"
    reading = (
        "0 to w (2 by default): the similarity of caption and image in a CLIP that was fine-tuned with additional "
        "generated captions and images.",
        "Compare captions of one image; the level of the scores differs between images and models.",
        "It measures the match, not the wording: the right words in a random order can score high.",
    )
    reading_of_videos = (
        "The score is the mean of two similarities in a fine-tuned CLIP: words and frames, each with its best match, "
        "and the caption with the whole video."
    )
