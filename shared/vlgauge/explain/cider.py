"""CIDEr-D: the rare n-grams that a caption shares with its references."""

from __future__ import annotations

from .referenced import ReferencedCaption


class Cider(ReferencedCaption):
    """Captions with the words marked that a reference has too."""

    name = "cider"
    reading = (
        "The score is how alike caption and references are in n-grams, where those that few images have count most.",
        "It depends on the corpus in which n-grams were counted: compare only numbers made with one table.",
        "It lies between 0 and 10, people among themselves often near 1; many papers print it times 100.",
    )
