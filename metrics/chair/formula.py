"""CHAIR's numbers of given objects (Rohrbach et al., 2018): objects that a caption names and its picture does not have.

Symbols of the paper: CHAIR_i is the share of the named objects that are invented, CHAIR_s that of the captions with an
invented object. Objects are nodes: the first name of a row of synonyms.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

COUNTS = ("invented", "mentions", "found", "present", "named", "words")
"""Of each caption: mentions that are invented; all mentions; distinct nodes that the picture has; nodes of the picture;
distinct nodes of the caption; words after names of several words have become one."""


def counts_of(mentions: Sequence[str], present: frozenset[str], n_words: int) -> tuple[int, ...]:
    """The `COUNTS` of a caption.

    Args:
        mentions: Nodes of the objects that it names, each time that it does.
        present: Nodes of the picture.
        n_words: Number of its words.
    """
    named = set(mentions)
    invented = sum(node not in present for node in mentions)
    return invented, len(mentions), len(named & present), len(present), len(named), n_words


def chair_i(counts: Floats) -> Floats:
    """CHAIR_i = invented mentions / mentions (Rohrbach et al., 2018); NaN where nothing is named.

    Args:
        counts: Of captions, or their sums, shape ``(..., 6)``; see `COUNTS`.
    """
    return _ratio(counts[..., 0], counts[..., 1])


def recall(counts: Floats) -> Floats:
    """Nodes of the pictures that are named, by all of them; NaN where pictures have none. Shapes as of `chair_i`."""
    return _ratio(counts[..., 2], counts[..., 3])


def precision(counts: Floats) -> Floats:
    """Distinct nodes that are in the picture, by all that are named; NaN where nothing is. Shapes as of `chair_i`."""
    return _ratio(counts[..., 2], counts[..., 4])


def f1(counts: Floats) -> Floats:
    """2 P R / (P + R) of `precision` and `recall`; 0 where both are. Shapes as of `chair_i`."""
    both = precision(counts) + recall(counts)
    return np.where(both == 0, 0.0, _ratio(2 * precision(counts) * recall(counts), both))


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)
