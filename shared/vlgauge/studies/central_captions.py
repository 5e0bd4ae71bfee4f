"""The caption nearest to the others of its image, which a metric of single captions likes best (Chan et al., B.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlgauge.studies.caption_pools import CaptionSets, caption_sets

LEAST = 3
"""Fewest captions of an image of which one is central."""


@dataclass(frozen=True)
class CentralCaption:
    """The central caption of an image, the first of equal ones, and where it stands.

    Beside its mean distance from the others and its words are the means of both over the others.
    """

    position: int
    caption: str
    distance: float
    others: float
    words: int
    words_of_others: float

    @property
    def more_words(self) -> float:
        """How many words it has more than the others."""
        return self.words - self.words_of_others


def central_captions(references: CaptionSets, metric: Any) -> list[CentralCaption | None]:
    """The caption of each image with the smallest mean distance, as the hypothesis, from the other ones.

    Returns:
        One per image; None for one with fewer than three captions, or a distance that is undefined.
    """
    references = caption_sets("references", references)
    return _central_of(references, references, metric)


def central_captions_by_chance(references: CaptionSets, metric: Any, seed: int = 0) -> list[CentralCaption | None]:
    """Return the central captions of sets to which the captions of all images are dealt at random.

    No caption of such a set says more of its image than another: what its central caption has more or fewer words than
    the others is what the distance alone prefers. Directed METEOR prefers long captions.

    Args:
        references: Captions of each image.
        metric: As for `central_captions`; document frequencies stay those of the references.
        seed: Of the dealing.

    Returns:
        One per image, of a set of as many captions; None where `central_captions` has None for lack of captions, or a
        distance is undefined.
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
    """Of one image, from the distance of each caption as the hypothesis, axis 0, from each other one."""
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
