"""Frechet-BERT by its definition (Chan et al., 2024, Eq. 5), in plain loops, for comparison in tests."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

Vectors: TypeAlias = Sequence[Sequence[float]]


def frechet_distance(candidates: Vectors, references: Vectors) -> float:
    """Compute |mu_c - mu_r|^2 + Tr S_c + Tr S_r - 2 Tr (S_c S_r)^(1/2) (Eq. 5, which prints no square)."""
    mean_c, mean_r = mean(candidates), mean(references)
    s_c, s_r = covariance(candidates), covariance(references)
    squares = sum((c - r) ** 2 for c, r in zip(mean_c, mean_r, strict=True))
    traces = sum(s_c[i][i] + s_r[i][i] for i in range(len(mean_c)))
    # The trace of the root of a matrix is the sum of the roots of its eigenvalues, here at least 0 but for rounding.
    roots = [max(0.0, value.real) ** 0.5 for value in np.linalg.eigvals(np.array(s_c) @ np.array(s_r)).tolist()]
    return squares + traces - 2 * sum(roots)


def mean(vectors: Vectors) -> list[float]:
    """Compute mu."""
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def covariance(vectors: Vectors) -> list[list[float]]:
    """Compute S, over n - 1."""
    mu = mean(vectors)
    return [
        [sum((v[i] - mu[i]) * (v[j] - mu[j]) for v in vectors) / (len(vectors) - 1) for j in range(len(mu))]
        for i in range(len(mu))
    ]
