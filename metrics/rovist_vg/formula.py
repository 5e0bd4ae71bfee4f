"""RoViST-VG of one story from cosines and idf weights (Wang et al., 2022, sections 3.1 and 3.2)."""

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

AGGREGATES = ("log_sum_exp", "sum", "mean")


def grounding_score(cosines: Floats, idf: Floats, aggregate: str = "log_sum_exp") -> float:
    """S_VG of the nouns of a story, repetitions included; NaN without a noun.

    "log_sum_exp": log sum_k exp(idf_k c_k), Eq. 2; "sum" and "mean" of idf_k c_k. With n nouns of cosine 0 the first is
    ln n: it grows with the number of nouns.

    Args:
        cosines: c, the best cosine of each noun, shape ``(n_nouns,)``.
        idf: Weights, shape ``(n_nouns,)``.
        aggregate: One of `AGGREGATES`.
    """
    if not len(cosines):
        return math.nan
    weighted = np.asarray(idf, dtype=np.float64) * cosines
    if aggregate != "log_sum_exp":
        return math.fsum(weighted) / (len(weighted) if aggregate == "mean" else 1)
    largest = float(weighted.max())
    return largest + math.log(math.fsum(np.exp(weighted - largest)))


def scaled_score(score: float) -> float:
    """2 / (1 + exp(-S/2)) - 1 (Eq. 3), in (-1, 1), negative for a negative S; the same as tanh(S/4)."""
    return math.tanh(score / 4)
