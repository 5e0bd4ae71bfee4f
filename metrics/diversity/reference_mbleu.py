"""mBLEU (Shetty et al., 2017) by definition, in plain loops, for comparison in tests."""

import math
from collections import Counter
from collections.abc import Sequence

Captions = Sequence[Sequence[str]]


def mbleu(images: Sequence[Captions], order: int) -> float:
    """Compute BLEU of the i-th captions of all images against their other captions, averaged over i."""
    m = len(images[0])
    others = [[[*own[:i], *own[i + 1 :]] for own in images] for i in range(m)]
    return sum(bleu([own[i] for own in images], theirs, order) for i, theirs in enumerate(others)) / m


def bleu(candidates: Captions, references: Sequence[Captions], order: int) -> float:
    """Compute corpus BLEU, with n-grams of up to `order` words and the constants of the COCO caption evaluation."""
    product = 1.0
    for n in range(1, order + 1):
        pairs = [(counts(c, n), [counts(r, n) for r in rs]) for c, rs in zip(candidates, references, strict=True)]
        matches = sum(min(k, max(theirs[g] for theirs in others)) for own, others in pairs for g, k in own.items())
        product *= (matches + 1e-15) / (sum(own.total() for own, _ in pairs) + 1e-9)
    gaps = [min((abs(len(r) - len(c)), len(r)) for r in rs) for c, rs in zip(candidates, references, strict=True)]
    ratio = (sum(map(len, candidates)) + 1e-15) / (sum(closest for _, closest in gaps) + 1e-9)
    return product ** (1 / order) * math.exp(min(0.0, 1 - 1 / ratio))


def counts(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """Count the n-grams of a caption."""
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
