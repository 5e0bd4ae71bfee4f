"""CIDEr-D (Vedantam et al., 2015) and CIDEr-R (Santos et al., 2021) by their definitions, for comparison in tests.

With an end token (Rennie et al., 2017), the last token of both captions is "<eos>".
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence


def cider_d(h: Sequence[str], r: Sequence[str], df: Mapping[tuple[str, ...], int], n_documents: int) -> float:
    """Compute CIDEr-D, from 0 to 10, of a hypothesis and a reference, with the document frequencies of n-grams."""
    bigrams, theirs = (max(len(tokens) - 1, 0) for tokens in (h, r))
    return math.exp(-((bigrams - theirs) ** 2) / (2 * 6.0**2)) * similarity(h, r, df, n_documents)


def cider_r(h: Sequence[str], r: Sequence[str], df: Mapping[tuple[str, ...], int], n_documents: int) -> float:
    """Compute CIDEr-R, from 0 to 10, of a hypothesis and a reference, with the document frequencies of n-grams."""
    length, theirs = (max(len(tokens), 1) for tokens in (h, r))
    counts, known = (Counter(re.findall(r"\w+", " ".join(tokens))) for tokens in (h, r))
    factors = [1 / (1 + abs(count - known.get(word, 1))) for word, count in counts.items()]
    repetition = math.prod(factors) ** (1 / len(factors)) if factors else 1.0
    return repetition**0.8 * math.exp(-(((length - theirs) / theirs) ** 2)) ** 0.2 * similarity(h, r, df, n_documents)


def similarity(h: Sequence[str], r: Sequence[str], df: Mapping[tuple[str, ...], int], n_documents: int) -> float:
    """Compute 10 times the mean of the clipped cosines of n-grams, with counts as in the COCO code (Eq. 1)."""
    total = 0.0
    for n in (1, 2, 3, 4):
        counts = [Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)) for tokens in (h, r)]
        idf = {g: math.log(n_documents) - math.log(max(1, df.get(g, 0))) for own in counts for g in own}
        a, b = ({g: count * idf[g] for g, count in own.items()} for own in counts)
        product = math.fsum(min(a[g], b[g]) * b[g] for g in a if g in b)
        norms = math.hypot(*a.values()) * math.hypot(*b.values())
        total += 10 / 4 * product / norms if norms else 0.0
    return total
