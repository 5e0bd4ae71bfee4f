"""PAC-S: captions beside their pictures or videos."""

from __future__ import annotations

from .captioned import CaptionedPicture


class PacS(CaptionedPicture):
    """Captions with the others of their picture."""

    name = "pac_s"
    reading = (
        "0 to 2: how well caption and picture fit, after CLIP was trained further with more right examples.",
        "Compare captions of one picture; sizes differ from picture to picture and from model to model.",
        "It judges fit, not wording: the right words in a salad can score high.",
    )
    reading_of_videos = (
        "The mean of two cosines in CLIP trained further: each word with the frame that saw it best, and "
        "the caption with the whole video."
    )
