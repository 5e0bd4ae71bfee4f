"""Formulas of BERTScore (Zhang et al., 2020) on the best similarity of each token."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def compute_weighted_means(values: Floats, weights: Floats, sizes: Ints) -> Floats:
    """Compute the weighted mean of the best similarities of each text, P or R with idf weights (Zhang et al., 2020).

    Args:
        values: Best similarity of each token of n texts, concatenated, shape ``(n_tokens,)``.
        weights: Weight of each token, at least 0, shape ``(n_tokens,)``.
        sizes: Number of tokens of each text, at least 1, shape ``(n,)``.

    Returns:
        Means, shape ``(n,)``. 0 for a text whose weights are all 0.
    """
    starts = np.cumsum(sizes) - sizes
    if not len(starts):
        return np.zeros(0)
    total = np.add.reduceat(weights, starts)
    means = np.add.reduceat(values * weights, starts) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, means, 0.0)


def f_measure(precision: Floats, recall: Floats) -> Floats:
    """Compute F = 2 P R / (P + R) of each pair (Zhang et al., 2020), and 0 unless P and R have the same sign.

    F is NaN if P or R is NaN.
    """
    product = precision * recall
    same = product > 0
    return np.where(same, 2 * product / np.where(same, precision + recall, 1.0), np.where(np.isnan(product), np.nan, 0))


def inverse_frequencies(df: Ints, n: int) -> Floats:
    """Compute the weights ln((N + 1) / (df + 1)) of tokens that df of N references contain.

    They are -ln(df / N) of the paper with plus-one smoothing, exactly 0 if df = N.
    """
    return np.log((n + 1) / (df + 1))


def rescale(scores: Floats, baseline: Floats | float) -> Floats:
    """Rescale scores linearly, so that the baseline becomes 0 and 1 stays 1."""
    return (scores - baseline) / (1 - baseline)
