"""MMD of two sets of embeddings by its definition (Chan et al., 2024, Eq. 6), in plain loops, for comparison in tests.

Eq. 6 has no normalization and the wrong sign at the cross sum, so the estimators are by Gretton et al. (2012).
"""

import itertools
import math
from collections.abc import Callable
from collections.abc import Sequence
from typing import TypeAlias

Vectors: TypeAlias = Sequence[Sequence[float]]


def median_bandwidth(vectors: Vectors) -> float:
    """Compute half the lower median of the distances between the N pooled captions, N >= 2 (Appendix A.7)."""
    distances = sorted(math.dist(a, b) for a, b in itertools.combinations(vectors, 2))
    return distances[(len(distances) - 1) // 2] / 2


def squared_mmd(candidates: Vectors, references: Vectors, bandwidth: float, estimator: str = "unbiased") -> float:
    """Compute the squared MMD: "unbiased" (Gretton et al., Eq. 3), "biased" (their Eq. 5) or "released"."""

    def kernel(a: Sequence[float], b: Sequence[float]) -> float:
        return math.exp(-(math.dist(a, b) ** 2) / (2 * bandwidth**2))

    across = math.fsum(kernel(c, r) for c in candidates for r in references) / (len(candidates) * len(references))
    return mean_within(candidates, kernel, estimator) + mean_within(references, kernel, estimator) - 2 * across


def mean_within(vectors: Vectors, kernel: Callable[[Sequence[float], Sequence[float]], float], estimator: str) -> float:
    """Compute the mean of the kernel over the pairs of one side."""
    n = len(vectors)
    if estimator == "biased":
        return math.fsum(kernel(a, b) for a in vectors for b in vectors) / n**2
    jitter = n * (1 + 1e-5) if estimator == "released" else 0.0  # in the sum, as in the authors' code
    return (math.fsum(kernel(a, b) for a, b in itertools.permutations(vectors, 2)) + jitter) / (n * (n - 1))
