"""RoViST-VG of one story from cosine similarities and idf weights (Wang et al., 2022, Sections 3.1 and 3.2)."""

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

AGGREGATES = ("log_sum_exp", "sum", "mean")


def grounding_score(cosines: Floats, idf: Floats, aggregate: str = "log_sum_exp") -> float:
    """Compute S_VG of the nouns of a story, including repetitions.

    "log_sum_exp" is log sum_k exp(idf_k c_k), Eq. 2, and "sum" and "mean" aggregate idf_k c_k. "log_sum_exp" grows with
    the number of nouns: for n nouns with cosine similarity 0 it is ln n.

    Args:
        cosines: c, the maximum cosine similarity of each noun, shape ``(n_nouns,)``.
        idf: Weights, shape ``(n_nouns,)``.
        aggregate: One of `AGGREGATES`.

    Returns:
        S_VG. NaN without nouns.
    """
    if not len(cosines):
        return math.nan
    weighted = np.asarray(idf, dtype=np.float64) * cosines
    if aggregate != "log_sum_exp":
        return math.fsum(weighted) / (len(weighted) if aggregate == "mean" else 1)
    largest = float(weighted.max())
    return largest + math.log(math.fsum(np.exp(weighted - largest)))


def scale_score(score: float) -> float:
    """Compute 2 / (1 + exp(-S/2)) - 1 = tanh(S/4) (Eq. 3).

    The result is in (-1, 1), and negative for a negative S.
    """
    return math.tanh(score / 4)
