"""chrF and chrF++ by their definition (Popović, 2015, Eq. 1, and 2017), in plain loops, for comparison in tests."""

from collections import Counter
from collections.abc import Sequence

from .formula import characters
from .formula import words


def order_counts(caption: str, reference: str, word_order: int) -> Sequence[Sequence[int]]:
    """Count the n-grams of each order: shared, of the caption, of the reference."""
    found = []
    for split, longest in ((characters, 6), (words, word_order)):
        for n in range(1, longest + 1):
            own, theirs = (
                Counter(tuple(units[i : i + n]) for i in range(len(units) - n + 1))
                for units in (split(caption), split(reference))
            )
            found.append(((own & theirs).total(), own.total() if theirs else 0, theirs.total()))
    return found


def f_score(counts: Sequence[Sequence[int]]) -> float:
    """Compute (1 + b^2) P R / (b^2 P + R) with b = 2 (Eq. 1) and means over the orders that both texts have."""
    kept = [row for row in counts if row[1] and row[2]]
    precision = sum(shared / own for shared, own, _ in kept) / max(1, len(kept))
    recall = sum(shared / theirs for shared, _, theirs in kept) / max(1, len(kept))
    return 5 * precision * recall / (4 * precision + recall) if precision else 0.0


def chrf(predictions: Sequence[str], references: Sequence[Sequence[str]], word_order: int) -> tuple[list[float], float]:
    """Compute the best score of each caption over its references, and the corpus score from summed counts."""
    best = [
        max((order_counts(caption, reference, word_order) for reference in own), key=f_score)
        for caption, own in zip(predictions, references, strict=True)
    ]
    sums = [tuple(map(sum, zip(*rows, strict=True))) for rows in zip(*best, strict=True)]
    return [f_score(counts) for counts in best], f_score(sums)
