"""Caption closest to the other captions of its image, which metrics of single captions prefer (Chan et al., B.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlgauge.research.studies.caption_pools import CaptionSets, caption_sets

LEAST = 3
"""Minimum number of captions per image for a central caption."""


@dataclass(frozen=True)
class CentralCaption:
    """Central caption of an image, the first of ties, and its position.

    It includes its mean distance from the other captions and its number of words, with the means of both over the
    others.
    """

    position: int
    caption: str
    distance: float
    others: float
    words: int
    words_of_others: float

    @property
    def more_words(self) -> float:
        """Number of words minus the mean number of words of the others."""
        return self.words - self.words_of_others


def central_captions(references: CaptionSets, metric: Any) -> list[CentralCaption | None]:
    """Find the caption of each image with the smallest mean distance, as the hypothesis, from the other captions.

    Returns:
        One per image. None for fewer than three captions or an undefined distance.

    Raises:
        ValueError: If a row is not a list of captions.
    """
    references = caption_sets("references", references)
    return _central_of(references, references, metric)


def central_captions_by_chance(references: CaptionSets, metric: Any, seed: int = 0) -> list[CentralCaption | None]:
    """Find the central captions of sets to which the captions of all images are dealt at random.

    No caption of such a set fits an image better than the others. Therefore the difference in words between its central
    caption and the others is caused by the distance alone. Directed METEOR prefers long captions.

    Args:
        references: Captions of each image.
        metric: Same as in `central_captions`. Document frequencies are still computed from the references.
        seed: Seed of the random dealing.

    Returns:
        One per image, from a set of the same size. None for fewer than three captions or an undefined distance.

    Raises:
        ValueError: If a row is not a list of captions.
    """
    references = caption_sets("references", references)
    every = [text for texts in references if len(texts) >= LEAST for text in texts]
    order = iter(np.random.default_rng(seed).permutation(len(every)).tolist())
    dealt = [[every[next(order)] for _ in texts] if len(texts) >= LEAST else texts for texts in references]
    return _central_of(dealt, references, metric)


def _central_of(captions: CaptionSets, references: CaptionSets, metric: Any) -> list[CentralCaption | None]:
    compared = metric.compared(captions, references)
    return [_central(texts, compared.from_others(row, texts)) for row, texts in enumerate(captions)]


def _central(texts: Sequence[str], distances: np.ndarray) -> CentralCaption | None:
    """Select the central caption of one image.

    Args:
        texts: Captions of the image.
        distances: Distance of each caption as the hypothesis (axis 0) from each other caption.
    """
    n = len(texts)
    if n < LEAST or np.isnan(distances).any():
        return None
    means = (distances.sum(axis=1) - distances.diagonal()) / (n - 1)
    best = int(np.argmin(means))
    words = [len(text.split()) for text in texts]
    return CentralCaption(
        position=best,
        caption=texts[best],
        distance=float(means[best]),
        others=float((means.sum() - means[best]) / (n - 1)),
        words=words[best],
        words_of_others=(sum(words) - words[best]) / (n - 1),
    )
