"""TRM by its definition (Chan et al., 2024, Eqs. 3 and 4), in plain loops, for comparison in tests."""

import itertools
from collections.abc import Sequence
from fractions import Fraction


def triangle_counts(
    distances: Sequence[Sequence[float]], lone: Sequence[int], pairs: Sequence[int], ties: str
) -> list[Fraction]:
    """Count the triangles (x; y, w) by the rank of d(y, w): smallest, middle, largest (Eq. 3).

    Args:
        distances: d(a, b) of all captions.
        lone: Captions of one side, for x.
        pairs: Captions of the other side, for y and w.
        ties: "paper" counts a tie for each of its ranks, "fractional" divides it among them.
    """
    counts = [Fraction(0)] * 3
    for x in lone:
        for y, w in itertools.permutations(pairs, 2):
            inner, (lower, higher) = distances[y][w], sorted((distances[x][y], distances[x][w]))
            ranks = [inner <= lower, lower <= inner <= higher, inner >= higher]
            for rank in range(3):
                counts[rank] += Fraction(ranks[rank], sum(ranks) if ties == "fractional" else 1)
    return counts


def q_statistics(lone_candidate: Sequence[Fraction], lone_reference: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Compute pooled Q (Eq. 4), and separate Q, its form in the authors' code, from the counts of both types."""
    pooled = [c + r for c, r in zip(lone_candidate, lone_reference, strict=True)]
    return spread(pooled), spread(lone_candidate) + spread(lone_reference)


def spread(counts: Sequence[Fraction]) -> Fraction:
    """Sum the differences between the shares of the three ranks and 1/3."""
    return sum((abs(count / sum(counts) - Fraction(1, 3)) for count in counts), Fraction(0))
