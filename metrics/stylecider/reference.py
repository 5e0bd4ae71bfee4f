"""StyleCIDEr by its definition (Li and Harrison, 2022, Eqs. 7 and 8), in plain loops, for comparison in tests."""

import math
from collections.abc import Callable
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

Weight: TypeAlias = Callable[[tuple[str, ...]], Fraction]


def stylecider(
    tokens: Sequence[str], references: Sequence[Sequence[str]], weight: Weight, variant: str = "paper"
) -> float:
    """Compute the mean over the references of the mean cosine over the four orders (Eq. 7). NaN without references.

    Args:
        tokens: Tokens of the caption.
        references: Tokens of each reference.
        weight: Function that returns CNG_p(t) of an n-gram t in the style p of the caption.
        variant: "released" for the length penalty and the scale of the authors' code.
    """
    scores = []
    for reference in references:
        score = sum(cosine(tokens, reference, n, weight) for n in (1, 2, 3, 4)) / 4
        difference = max(len(tokens) - 1, 0) - max(len(reference) - 1, 0)
        scores.append(score if variant == "paper" else 10 * score * math.exp(-(difference**2) / 72))
    return sum(scores) / len(scores) if scores else math.nan


def cosine(caption: Sequence[str], reference: Sequence[str], n: int, weight: Weight) -> float:
    """Compute cos_n, the cosine of two vectors with one entry per distinct n-gram (Eq. 8). 0 if a norm is 0."""
    g, h = (
        {t: weight(t) for t in {tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}}
        for tokens in (caption, reference)
    )
    product = sum((g[t] * h[t] for t in g if t in h), Fraction(0))
    squares = sum((w * w for w in g.values()), Fraction(0)) * sum((w * w for w in h.values()), Fraction(0))
    return float(product) / math.sqrt(squares) if squares else 0.0
