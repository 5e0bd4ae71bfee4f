"""BERTScore of two captions in plain loops (Zhang et al., 2020, Section 3)."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float64]


def bertscore(x: Vectors, y: Vectors, x_weights: Sequence[float], y_weights: Sequence[float]) -> tuple[float, ...]:
    """Return P, R and F of the token vectors x of a candidate and y of a reference."""

    def best(own: Vectors, others: Vectors, weights: Sequence[float]) -> float:
        total = 0.0
        for vector, weight in zip(own, weights, strict=True):
            cosines = []
            for other in others:
                cosines.append(vector @ other / math.sqrt(vector @ vector) / math.sqrt(other @ other))
            total += weight * max(cosines)
        return total / sum(weights) if sum(weights) else 0.0

    precision, recall = best(x, y, x_weights), best(y, x, y_weights)
    same = precision * recall > 0
    return precision, recall, 2 * precision * recall / (precision + recall) if same else 0.0


def idf(token: int, references: Sequence[Sequence[int]]) -> float:
    """Return the weight of a token by the number of references that contain it."""
    df = sum(token in reference for reference in references)
    return -math.log((df + 1) / (len(references) + 1))
