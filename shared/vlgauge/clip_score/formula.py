"""CLIP-S and PAC-S of captions and images, from vectors of any encoder.

`clip_s` and `pac_s` are one arithmetic: they differ in the projection matrices that made the vectors, and in w.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Positions = npt.NDArray[np.intp]

_PAIRS = 4096  # pairs whose vectors are gathered at once: 16 MB at 512 numbers each


def unit_rows(vectors: npt.NDArray[np.floating]) -> Vectors:
    """Vectors divided by their Euclidean length, in float32, as the authors' code does.

    Args:
        vectors: shape ``(n, d)``.

    Returns:
        shape ``(n, d)``; NaN throughout a row of length zero.
    """
    rows = np.asarray(vectors, dtype=np.float32)
    lengths: Vectors = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = np.nan
    return rows / lengths[:, None]


def pair_cosines(left: Vectors, right: Vectors, pairs: tuple[Positions, Positions]) -> Floats:
    """Cosines of pairs of unit vectors.

    Args:
        left: shape ``(n_left, d)``, rows of unit norm.
        right: shape ``(n_right, d)``, rows of unit norm.
        pairs: row in `left` and row in `right` of each pair, shape ``(n_pairs,)`` each.

    Returns:
        shape ``(n_pairs,)``, range -1..1 up to rounding.
    """
    cosines = np.empty(len(pairs[0]))
    for start in range(0, len(cosines), _PAIRS):
        a, b = (rows[start : start + _PAIRS] for rows in pairs)
        cosines[start : start + _PAIRS] = np.einsum("ij,ij->i", left[a], right[b])
    return cosines


def clip_scores(cosines: npt.ArrayLike, w: float) -> Floats:
    """Stretched cosines w max(c, 0) (Hessel et al., 2021; Sarto et al., 2023, Eq. 1); range 0..w, higher is better.

    Args:
        cosines: c of caption and image, any shape.
        w: 2.5 in CLIP-S, 2 in PAC-S.
    """
    return w * np.maximum(np.asarray(cosines, dtype=np.float64), 0.0)


def reference_scores(scores: npt.ArrayLike, similarities: npt.ArrayLike, *, clamp: bool) -> Floats:
    """Harmonic mean 2 P s / (P + s) of score and similarity to the references (Sarto et al., 2023, Eq. 4).

    Args:
        scores: P, as `clip_scores` makes them.
        similarities: s, largest cosine of the caption and a reference; NaN without references.
        clamp: whether a negative s counts as 0, as in the paper; the authors' code takes it as it is.

    Returns:
        One value per pair of inputs, between P and s for s of at least 0. 0 where P is 0 (the authors' code divides
        0 by 0 there if s is 0 as well); NaN where P + s = 0 with P > 0, or either is NaN.
    """
    p, s = (np.asarray(values, dtype=np.float64) for values in (scores, similarities))
    if clamp:
        s = np.maximum(s, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = 2 * p * s / (p + s)
    means = np.where(np.isinf(means), np.nan, means)
    # Adding 0 turns the -0.0 of a negative s into 0.
    return np.where((p == 0) & ~np.isnan(s), 0.0, means) + 0.0


def group_maxima(values: Floats, groups: Positions, n_groups: int) -> tuple[Floats, Positions]:
    """Largest value of each group, and where it stands first.

    Args:
        values: shape ``(n,)``.
        groups: group of each value, ascending.
        n_groups: number of groups, some of which may be empty.

    Returns:
        Maxima ``(n_groups,)``, NaN for an empty group or one with a NaN; positions ``(n_groups,)`` in `values`, -1
        where the maximum is NaN.
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
    """Mean of the values of each group, shape ``(n_groups,)``; NaN for an empty group or one with a NaN."""
    counts = np.bincount(groups, minlength=n_groups)
    sums = np.bincount(groups, weights=values, minlength=n_groups)
    with np.errstate(invalid="ignore"):
        means: Floats = sums / counts
    return means
