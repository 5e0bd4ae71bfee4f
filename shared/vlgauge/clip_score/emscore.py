"""The same for videos: every word finds its best frame, every frame its best word (Shi et al., 2022, EMScore)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.clip_score.formula import Floats, Positions, Vectors, group_maxima, pair_cosines, unit_rows

_NUMBERS = 2**22  # numbers gathered at once: 16 MB of float32


@dataclass(frozen=True)
class Bags:
    """Sequences of unit vectors: the tokens of texts, or the frames of videos.

    Attributes:
        rows: shape ``(n_rows, d)``, all vectors one after the other, rows of unit norm.
        sizes: shape ``(n_bags,)``, vectors of each; may be 0.
        weights: shape ``(n_rows,)``, u of each vector; 1 for frames.
        wholes: shape ``(n_bags, d)``, the unit vector of each as a whole: that of the end token, or of the mean frame.
    """

    rows: Vectors
    sizes: Positions
    weights: Floats
    wholes: Vectors

    @property
    def starts(self) -> Positions:
        """Row of the first vector of each."""
        return np.cumsum(self.sizes) - self.sizes

    def indices(self, bags: Positions, size: int) -> Positions:
        """Where in `rows` the vectors of some bags of one size stand, shape ``(n, size)``."""
        return self.starts[bags][:, None] + np.arange(size)


@dataclass(frozen=True)
class Matches:
    """How well the two bags of each pair match, all of shape ``(n_pairs,)``; NaN where undefined.

    Attributes:
        precision: P = sum_k u_k max_f S[k,f] / sum_k u_k.
        recall: R = sum_f u_f max_k S[k,f] / sum_f u_f, u_f = 1 for frames.
        fine: 2 P R / (P + R); range about -1..1, and beyond where P and R have opposite signs.
        coarse: cosine of the two wholes.
    """

    precision: Floats
    recall: Floats
    fine: Floats
    coarse: Floats

    @property
    def full(self) -> Floats:
        """(fine + coarse) / 2 (Sarto et al., 2023, Eq. 5); range about -1..1, higher is better."""
        return (self.fine + self.coarse) / 2


def mean_frames(frames: Vectors, sizes: Positions) -> Vectors:
    """V of each video, the mean of its frames divided by its length, shape ``(n_videos, d)``; NaN without frames.

    Args:
        frames: shape ``(n_frames, d)``, the frames of all videos, rows of unit norm.
        sizes: shape ``(n_videos,)``, frames of each.
    """
    means: Vectors = np.full((len(sizes), frames.shape[1]), np.nan, dtype=np.float32)
    there = np.flatnonzero(sizes)
    if len(there):
        sums = np.add.reduceat(frames, (np.cumsum(sizes) - sizes)[there])
        means[there] = unit_rows(sums / sizes[there, None])
    return means


def matches(left: Bags, right: Bags, pairs: tuple[Positions, Positions], *, batch: int | None = None) -> Matches:
    """Match pairs of bags, each by itself: no pair's value depends on another pair.

    Args:
        left: Tokens of captions.
        right: Frames of videos, or tokens of references.
        pairs: bag in `left` and bag in `right` of each pair, shape ``(n_pairs,)`` each.
        batch: With a number, the values of the code of EMScore's authors, which pads batches of so many
            consecutive pairs with zeros that take part in the maxima. A pair then depends on its batch.
    """
    a, b = pairs
    n_left, n_right = left.sizes[a], right.sizes[b]
    precision, recall = np.full(len(a), np.nan), np.full(len(a), np.nan)
    padded_left, padded_right = _padded(n_left, batch), _padded(n_right, batch)
    for at in _equal_sizes(n_left, n_right, left.rows.shape[1]):
        ours, theirs = left.indices(a[at], n_left[at[0]]), right.indices(b[at], n_right[at[0]])
        # S of every token k and frame f: axes pair, k, f.
        cosines = left.rows[ours] @ right.rows[theirs].swapaxes(1, 2)
        best_right, best_left = cosines.max(axis=2), cosines.max(axis=1)
        best_right[padded_right[at]] = np.maximum(best_right[padded_right[at]], 0.0)
        best_left[padded_left[at]] = np.maximum(best_left[padded_left[at]], 0.0)
        precision[at] = weighted_means(best_right, left.weights[ours])
        recall[at] = weighted_means(best_left, right.weights[theirs])
    return Matches(precision, recall, fine_scores(precision, recall), pair_cosines(left.wholes, right.wholes, pairs))


def weighted_means(values: npt.NDArray[np.floating], weights: Floats) -> Floats:
    """Means over the last axis; NaN where the weights add up to 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = (values * weights).sum(axis=-1) / weights.sum(axis=-1)
    return means


def fine_scores(precision: Floats, recall: Floats) -> Floats:
    """2 P R / (P + R); NaN where P + R = 0, though one of them may be negative (the authors' code: infinite)."""
    total = precision + recall
    with np.errstate(invalid="ignore", divide="ignore"):
        fine: Floats = np.where(total == 0, np.nan, 2 * precision * recall / total)
    return fine


def reference_terms(found: Matches, groups: Positions, n_groups: int, *, joint: bool) -> tuple[Floats, Positions]:
    """X, the similarity of each caption to its references.

    Args:
        found: The matches of captions and references.
        groups: caption of each match, ascending.
        n_groups: number of captions.
        joint: whether one reference must have both maxima, X = max_r (fine_r + coarse_r) / 2 (Sarto et al., 2023,
            Eq. 6); the authors' code takes each maximum by itself.

    Returns:
        X ``(n_groups,)``, NaN without references; and the match with the largest (fine + coarse) / 2, -1 without one.
    """
    maxima, best = group_maxima(found.full, groups, n_groups)
    if joint:
        return maxima, best
    fine, coarse = (group_maxima(values, groups, n_groups)[0] for values in (found.fine, found.coarse))
    return (fine + coarse) / 2, best


def scores_with_references(full: Floats, terms: Floats) -> Floats:
    """Mean of the score of caption and video and of X, the similarity to the references (Sarto et al., 2023, Eq. 6)."""
    return (full + terms) / 2


def best_frames(tokens: Vectors, frames: Vectors) -> tuple[list[int], list[float]]:
    """The frame that each token is nearest to, and their cosine.

    Args:
        tokens: shape ``(n_tokens, d)``, rows of unit norm.
        frames: shape ``(n_frames, d)``, rows of unit norm, at least one.
    """
    cosines = tokens @ frames.T
    return cosines.argmax(axis=1).tolist(), cosines.max(axis=1).tolist()


def _padded(sizes: Positions, batch: int | None) -> npt.NDArray[np.bool_]:
    """Which pairs the code of EMScore's authors pads: those that are smaller than the largest of their batch."""
    if batch is None or not len(sizes):
        return np.zeros(len(sizes), dtype=bool)
    largest = np.maximum.reduceat(sizes, np.arange(0, len(sizes), batch))
    return sizes < largest[np.arange(len(sizes)) // batch]


def _equal_sizes(n_left: Positions, n_right: Positions, width: int) -> Iterator[Positions]:
    """Positions of pairs that can be computed at once; pairs with an empty side are left out."""
    there = np.flatnonzero((n_left > 0) & (n_right > 0))
    order = there[np.lexsort((n_right[there], n_left[there]))]
    changes = np.flatnonzero(np.diff(n_left[order]) | np.diff(n_right[order])) + 1
    for group in np.split(order, changes) if len(order) else []:
        step = max(1, _NUMBERS // (max(n_left[group[0]], n_right[group[0]]) * width))
        for start in range(0, len(group), step):
            yield group[start : start + step]
