"""Self-CIDEr (Wang and Chan, 2019) and Div-n (Shetty et al., 2017) by definition, for comparison in tests."""

import math
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

Captions = Sequence[Sequence[str]]


def self_cider(captions: Captions, cider_d: Callable[[Sequence[str], Sequence[str]], float]) -> float:
    """Compute -log_m( max_k sqrt(s_k) / sum_k sqrt(s_k) ) of the captions of one image."""
    m = len(captions)
    kernel = [[cider_d(captions[min(i, j)], captions[max(i, j)]) / 10 for j in range(m)] for i in range(m)]
    roots = np.sqrt(np.linalg.svd(np.array(kernel), compute_uv=False))
    return -math.log(max(roots) / sum(roots), m)


def div_n(captions: Captions, n: int) -> float:
    """Compute the number of distinct n-grams, divided by the number of words."""
    distinct = {tuple(own[i : i + n]) for own in captions for i in range(len(own) - n + 1)}
    return len(distinct) / sum(map(len, captions))
