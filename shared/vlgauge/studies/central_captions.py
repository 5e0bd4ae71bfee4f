"""The caption nearest to the others of its image, which a metric of single captions likes best (Chan et al., B.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlgauge.studies.caption_pools import CaptionSets, caption_sets


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


def central_captions(references: CaptionSets, metric: Any) -> list[CentralCaption | None]:
    """The caption of each image with the smallest mean distance, as the hypothesis, from the other ones.

    Returns:
        One per image; None for one with fewer than three captions, or a distance that is undefined.
    """
    references = caption_sets("references", references)
    compared = metric.compared(references, references)
    return [_central(texts, compared.from_others(row, texts)) for row, texts in enumerate(references)]


def _central(texts: Sequence[str], distances: np.ndarray) -> CentralCaption | None:
    """Of one image, from the distance of each caption as the hypothesis, axis 0, from each other one."""
    n = len(texts)
    if n < 3 or np.isnan(distances).any():
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
