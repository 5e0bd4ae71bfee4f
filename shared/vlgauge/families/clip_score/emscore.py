"""CLIP-S and PAC-S of videos, which match each word with its best frame and vice versa (EMScore, Shi et al., 2022)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.families.clip_score.formula import Floats, Positions, Vectors, group_maxima, pair_cosines, unit_rows

_NUMBERS = 2**22  # values gathered at once: 16 MB of float32


@dataclass(frozen=True)
class Bags:
    """Sequences of L2-normalized vectors: the tokens of texts, or the frames of videos.

    Attributes:
        rows: Shape ``(n_rows, d)``, all vectors of all sequences, L2-normalized.
        sizes: Shape ``(n_bags,)``, number of vectors of each sequence, which may be 0.
        weights: Shape ``(n_rows,)``, weight u of each vector, 1 for frames.
        wholes: Shape ``(n_bags, d)``, L2-normalized vector of each whole sequence, from the end token or the mean
            frame.
    """

    rows: Vectors
    sizes: Positions
    weights: Floats
    wholes: Vectors

    @property
    def starts(self) -> Positions:
        """Row of the first vector of each sequence, shape ``(n_sequences,)``."""
        return np.cumsum(self.sizes) - self.sizes

    def indices(self, bags: Positions, size: int) -> Positions:
        """Return the indices in `rows` of the vectors of some sequences of equal size, shape ``(n, size)``."""
        return self.starts[bags][:, None] + np.arange(size)


@dataclass(frozen=True)
class GreedyMatches:
    """Matching scores of pairs of sequences, shape ``(n_pairs,)`` each. NaN if undefined.

    Attributes:
        precision: P = sum_k u_k max_f S[k,f] / sum_k u_k.
        recall: R = sum_f u_f max_k S[k,f] / sum_f u_f, with u_f = 1 for frames.
        fine: 2 P R / (P + R), range about -1 to 1, and beyond if P and R have opposite signs.
        coarse: Cosine of the two whole sequences.
    """

    precision: Floats
    recall: Floats
    fine: Floats
    coarse: Floats

    @property
    def full(self) -> Floats:
        """(fine + coarse) / 2 (Sarto et al., 2023, Eq. 5), shape ``(n,)``, range about -1 to 1, higher is better."""
        return (self.fine + self.coarse) / 2


def mean_frames(frames: Vectors, sizes: Positions) -> Vectors:
    """Compute the L2-normalized mean V of the frames of each video, shape ``(n_videos, d)``. NaN without frames.

    Args:
        frames: Shape ``(n_frames, d)``, the frames of all videos, L2-normalized.
        sizes: Shape ``(n_videos,)``, number of frames of each video.
    """
    means: Vectors = np.full((len(sizes), frames.shape[1]), np.nan, dtype=np.float32)
    there = np.flatnonzero(sizes)
    if len(there):
        sums = np.add.reduceat(frames, (np.cumsum(sizes) - sizes)[there])
        means[there] = unit_rows(sums / sizes[there, None])
    return means


def matches(left: Bags, right: Bags, pairs: tuple[Positions, Positions], *, batch: int | None = None) -> GreedyMatches:
    """Match pairs of sequences independently of each other.

    Args:
        left: Tokens of captions.
        right: Frames of videos, or tokens of references.
        pairs: Index in `left` and index in `right` of each pair, shape ``(n_pairs,)`` each.
        batch: Batch size to reproduce the authors' code of EMScore, which pads batches of consecutive pairs with zeros
            that are included in the maxima. A pair then depends on its batch. None for no padding.
    """
    a, b = pairs
    n_left, n_right = left.sizes[a], right.sizes[b]
    precision, recall = np.full(len(a), np.nan), np.full(len(a), np.nan)
    padded_left, padded_right = _mark_padded(n_left, batch), _mark_padded(n_right, batch)
    for at in _equal_sizes(n_left, n_right, left.rows.shape[1]):
        ours, theirs = left.indices(a[at], n_left[at[0]]), right.indices(b[at], n_right[at[0]])
        # S of every token k and frame f, with axes pair, k, f.
        cosines = left.rows[ours] @ right.rows[theirs].swapaxes(1, 2)
        best_right, best_left = cosines.max(axis=2), cosines.max(axis=1)
        best_right[padded_right[at]] = np.maximum(best_right[padded_right[at]], 0.0)
        best_left[padded_left[at]] = np.maximum(best_left[padded_left[at]], 0.0)
        precision[at] = compute_weighted_means(best_right, left.weights[ours])
        recall[at] = compute_weighted_means(best_left, right.weights[theirs])
    return GreedyMatches(
        precision, recall, fine_scores(precision, recall), pair_cosines(left.wholes, right.wholes, pairs)
    )


def compute_weighted_means(values: npt.NDArray[np.floating], weights: Floats) -> Floats:
    """Compute weighted means over the last axis. NaN if the weights sum to 0.

    Args:
        values: Shape ``(..., n)``.
        weights: Shape ``(..., n)``, or a shape that broadcasts to it.

    Returns:
        Shape ``(...)``, float64.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = (values * weights).sum(axis=-1) / weights.sum(axis=-1)
    return means


def fine_scores(precision: Floats, recall: Floats) -> Floats:
    """Compute 2 P R / (P + R). NaN if P + R = 0, which is infinite in the authors' code if P and R are not 0.

    Args:
        precision: P, shape ``(n,)``.
        recall: R, shape ``(n,)``.

    Returns:
        Shape ``(n,)``, range about -1 to 1.
    """
    total = precision + recall
    with np.errstate(invalid="ignore", divide="ignore"):
        fine: Floats = np.where(total == 0, np.nan, 2 * precision * recall / total)
    return fine


def reference_terms(found: GreedyMatches, groups: Positions, n_groups: int, *, joint: bool) -> tuple[Floats, Positions]:
    """Compute X, the similarity of each caption to its references.

    Args:
        found: Matches of captions and references.
        groups: Shape ``(n_pairs,)``, caption of each match, ascending.
        n_groups: Number of captions.
        joint: Whether a single reference must have both maxima, X = max_r (fine_r + coarse_r) / 2 (Sarto et al., 2023,
            Eq. 6). The authors' code computes each maximum separately.

    Returns:
        X, shape ``(n_groups,)``, NaN without references. Index of the match with the largest (fine + coarse) / 2, shape
        ``(n_groups,)``, -1 if there is none.
    """
    maxima, best = group_maxima(found.full, groups, n_groups)
    if joint:
        return maxima, best
    fine, coarse = (group_maxima(values, groups, n_groups)[0] for values in (found.fine, found.coarse))
    return (fine + coarse) / 2, best


def scores_with_references(full: Floats, terms: Floats) -> Floats:
    """Compute the mean of the video score and the reference similarity X (Sarto et al., 2023, Eq. 6).

    Args:
        full: Video scores, shape ``(n,)``.
        terms: X, the same score against the tokens of the best reference, shape ``(n,)``.

    Returns:
        Shape ``(n,)``.
    """
    return (full + terms) / 2


def best_frames(tokens: Vectors, frames: Vectors) -> tuple[list[int], list[float]]:
    """Return the most similar frame of each token, and their cosine.

    Args:
        tokens: Shape ``(n_tokens, d)``, L2-normalized rows.
        frames: Shape ``(n_frames, d)``, L2-normalized rows, at least one.

    Returns:
        Index of the frame, and the cosine in [-1, 1], one per token.
    """
    cosines = tokens @ frames.T
    return cosines.argmax(axis=1).tolist(), cosines.max(axis=1).tolist()


def _mark_padded(sizes: Positions, batch: int | None) -> npt.NDArray[np.bool_]:
    """Return which pairs the authors' code of EMScore pads, which are smaller than the largest in their batch."""
    if batch is None or not len(sizes):
        return np.zeros(len(sizes), dtype=bool)
    largest = np.maximum.reduceat(sizes, np.arange(0, len(sizes), batch))
    return sizes < largest[np.arange(len(sizes)) // batch]


def _equal_sizes(n_left: Positions, n_right: Positions, width: int) -> Iterator[Positions]:
    """Yield the indices of pairs that can be computed at once. Pairs with an empty side are left out."""
    there = np.flatnonzero((n_left > 0) & (n_right > 0))
    order = there[np.lexsort((n_right[there], n_left[there]))]
    changes = np.flatnonzero(np.diff(n_left[order]) | np.diff(n_right[order])) + 1
    for group in np.split(order, changes) if len(order) else []:
        step = max(1, _NUMBERS // (max(n_left[group[0]], n_right[group[0]]) * width))
        for start in range(0, len(group), step):
            yield group[start : start + step]
