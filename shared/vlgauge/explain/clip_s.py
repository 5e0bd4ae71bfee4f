"""CLIP-S: captions beside their pictures or videos."""

from __future__ import annotations

from .captioned import CaptionedPicture


class ClipS(CaptionedPicture):
    """Captions with the others of their picture."""

    name = "clip_s"
    reading = (
        "The score says how near caption and picture lie to each other in CLIP, times 2.5, and never below 0.",
        "Compare captions of one picture; sizes differ from picture to picture and from model to model.",
        "It judges fit, not wording, and CLIP often misses who does what to whom.",
    )
    reading_of_videos = (
        "The mean of two cosines in CLIP: each word with the frame that saw it best, and "
        "the caption with the whole video."
    )
