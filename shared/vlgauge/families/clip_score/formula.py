"""CLIP-S and PAC-S of captions and images, from the embeddings of any encoder.

`clip_s` and `pac_s` share the same formulas. They differ in the projection matrices that produced the embeddings, and
in w.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Positions = npt.NDArray[np.intp]

_PAIRS = 4096  # pairs whose embeddings are gathered at once: 16 MB for 512 values per embedding


def unit_rows(vectors: npt.NDArray[np.floating]) -> Vectors:
    """L2-normalize vectors in float32, as in the authors' code.

    Args:
        vectors: Shape ``(n, d)``.

    Returns:
        Shape ``(n, d)``, float32. All NaN for a row of norm zero.
    """
    rows = np.asarray(vectors, dtype=np.float32)
    lengths: Vectors = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = np.nan
    return rows / lengths[:, None]


def pair_cosines(left: Vectors, right: Vectors, pairs: tuple[Positions, Positions]) -> Floats:
    """Compute the cosines of pairs of L2-normalized vectors.

    Args:
        left: Shape ``(n_left, d)``, L2-normalized rows.
        right: Shape ``(n_right, d)``, L2-normalized rows.
        pairs: Row in `left` and row in `right` of each pair, shape ``(n_pairs,)`` each.

    Returns:
        Shape ``(n_pairs,)``, float64, range -1 to 1 up to rounding.
    """
    cosines = np.empty(len(pairs[0]))
    for start in range(0, len(cosines), _PAIRS):
        a, b = (rows[start : start + _PAIRS] for rows in pairs)
        cosines[start : start + _PAIRS] = np.einsum("ij,ij->i", left[a], right[b])
    return cosines


def clip_scores(cosines: npt.ArrayLike, w: float) -> Floats:
    """Compute w max(c, 0) (Hessel et al., 2021; Sarto et al., 2023, Eq. 1), range 0 to w, higher is better.

    Args:
        cosines: c of caption and image, any shape.
        w: 2.5 in CLIP-S, 2 in PAC-S.
    """
    return w * np.maximum(np.asarray(cosines, dtype=np.float64), 0.0)


def reference_scores(scores: npt.ArrayLike, similarities: npt.ArrayLike, *, clamp: bool) -> Floats:
    """Compute 2 P s / (P + s), the harmonic mean of score and reference similarity (Sarto et al., 2023, Eq. 4).

    With scores of CLIP-S, it is RefCLIP-S (Hessel et al., 2021).

    Args:
        scores: P, from `clip_scores`, shape ``(n,)``.
        similarities: s, maximum cosine of the caption and a reference, shape ``(n,)``. NaN without references.
        clamp: Whether a negative s counts as 0, as in the paper. The authors' code does not clamp it.

    Returns:
        Shape ``(n,)``, float64, between P and s if s is at least 0. 0 if P is 0 (the authors' code divides 0 by 0
        if s is also 0). NaN if P + s = 0 with P > 0, or if P or s is NaN.
    """
    p, s = (np.asarray(values, dtype=np.float64) for values in (scores, similarities))
    if clamp:
        s = np.maximum(s, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = 2 * p * s / (p + s)
    means = np.where(np.isinf(means), np.nan, means)
    # Adding 0 converts the -0.0 of a negative s to 0.
    return np.where((p == 0) & ~np.isnan(s), 0.0, means) + 0.0


def group_maxima(values: Floats, groups: Positions, n_groups: int) -> tuple[Floats, Positions]:
    """Compute the maximum of each group, and the index of its first occurrence.

    Args:
        values: Shape ``(n,)``.
        groups: Shape ``(n,)``, group of each value, ascending.
        n_groups: Number of groups, some of which may be empty.

    Returns:
        Maxima, shape ``(n_groups,)``, NaN for an empty group or a group with a NaN. Indices in `values`, shape
        ``(n_groups,)``, -1 if the maximum is NaN.
    """
    maxima = np.full(n_groups, np.nan)
    positions = np.full(n_groups, -1, dtype=np.intp)
    there, starts = np.unique(groups, return_index=True)
    if len(there):
        maxima[there] = np.maximum.reduceat(values, starts)
    at = np.flatnonzero(values == maxima[groups])
    found, first = np.unique(groups[at], return_index=True)
    positions[found] = at[first]
    return maxima, positions


def group_means(values: Floats, groups: Positions, n_groups: int) -> Floats:
    """Compute the mean of each group, shape ``(n_groups,)``. NaN for an empty group or a group with a NaN."""
    counts = np.bincount(groups, minlength=n_groups)
    sums = np.bincount(groups, weights=values, minlength=n_groups)
    with np.errstate(invalid="ignore"):
        means: Floats = sums / counts
    return means
