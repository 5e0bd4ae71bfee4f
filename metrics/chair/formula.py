"""CHAIR (Rohrbach et al., 2018) of extracted objects: objects that a caption mentions and that are not in its image.

In the symbols of the paper, CHAIR_i is the proportion of hallucinated objects among the mentioned objects, and CHAIR_s
is the proportion of captions with a hallucinated object. Objects are nodes, which are the first names of rows of
synonyms.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

COUNTS = ("invented", "mentions", "found", "present", "named", "words")
"""Counts of each caption: hallucinated mentions, all mentions, distinct mentioned nodes in the image, nodes of the
image, distinct mentioned nodes, and words after multi-word names were merged."""


def counts_of(mentions: Sequence[str], present: frozenset[str], n_words: int) -> tuple[int, ...]:
    """Compute the `COUNTS` of a caption.

    Args:
        mentions: Nodes of its mentioned objects, one per mention.
        present: Nodes of the image.
        n_words: Number of words in the caption.
    """
    named = set(mentions)
    invented = sum(node not in present for node in mentions)
    return invented, len(mentions), len(named & present), len(present), len(named), n_words


def chair_i(counts: Floats) -> Floats:
    """Compute CHAIR_i = hallucinated mentions / mentions (Rohrbach et al., 2018).

    Args:
        counts: Counts of captions, or their sums, shape ``(..., 6)``. See `COUNTS`.

    Returns:
        CHAIR_i, shape ``(...)``. NaN if no objects are mentioned.
    """
    return _ratio(counts[..., 0], counts[..., 1])


def recall(counts: Floats) -> Floats:
    """Compute recall, the proportion of nodes in the images that are mentioned.

    Args:
        counts: Counts of captions, or their sums, shape ``(..., 6)``. See `COUNTS`.

    Returns:
        Recall, shape ``(...)``. NaN if the images have no nodes.
    """
    return _ratio(counts[..., 2], counts[..., 3])


def precision(counts: Floats) -> Floats:
    """Compute precision, the proportion of distinct mentioned nodes that are in the image.

    Args:
        counts: Counts of captions, or their sums, shape ``(..., 6)``. See `COUNTS`.

    Returns:
        Precision, shape ``(...)``. NaN if no objects are mentioned.
    """
    return _ratio(counts[..., 2], counts[..., 4])


def f1(counts: Floats) -> Floats:
    """Compute F1 = 2 P R / (P + R) of `precision` and `recall`.

    Args:
        counts: Counts of captions, or their sums, shape ``(..., 6)``. See `COUNTS`.

    Returns:
        F1, shape ``(...)``. 0 if precision and recall are both 0, NaN if one of them is NaN.
    """
    both = precision(counts) + recall(counts)
    return np.where(both == 0, 0.0, _ratio(2 * precision(counts) * recall(counts), both))


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)
