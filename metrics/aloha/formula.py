"""ALOHa (Petryk et al., 2024) of parsed objects: similarity of the least supported object of a caption.

An object is a group of alternatives: "a dog or a cat" is one object that may be either. In the symbols of the paper,
the objects of the caption are matched one to one with the objects of the references so that the sum of similarities is
maximal. ALOHa_o is the similarity of a matched object, and ALOHa is the minimum of ALOHa_o.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Groups = Sequence[Sequence[str]]
Similarity = Callable[[Sequence[str], Sequence[str]], Floats]

MOST_CHOICES = 4_096


@dataclass(frozen=True)
class Match:
    """Object of a caption and the reference object that it was matched with.

    Attributes:
        object: Object of the caption.
        reference: Object of the references. None if none was left for it.
        similarity: ALOHa_o. 0 without a reference.
    """

    object: str
    reference: str | None
    similarity: float


def choices(groups: Groups) -> int:
    """Return the number of ways to choose one alternative of each group."""
    return prod(len(group) for group in groups)


def matches_of(candidate: Sequence[str], references: Sequence[str], similarity: Similarity) -> list[Match]:
    """Compute ALOHa_o of each object by the one-to-one matching with the largest sum (Petryk et al., 2024).

    Args:
        candidate: Objects of the caption, without repetition.
        references: Objects of the references, without repetition.
        similarity: Function from n and m objects to a matrix of shape ``(n, m)``.

    Returns:
        One match per object of the caption, in their order.
    """
    from scipy.optimize import linear_sum_assignment  # slower to import than the rest of the metric

    if not candidate or not references:
        return [Match(one, None, 0.0) for one in candidate]
    table = np.asarray(similarity(candidate, references), dtype=np.float64)
    rows, columns = linear_sum_assignment(table, maximize=True)
    partner = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    return [
        Match(one, references[partner[row]], float(table[row, partner[row]]))
        if row in partner
        else Match(one, None, 0.0)
        for row, one in enumerate(candidate)
    ]


def aloha_score(matches: Sequence[Match], variant: str) -> float:
    """Compute ALOHa, the minimum similarity of a matching (Petryk et al., 2024).

    Args:
        matches: Matches of all objects of a caption.
        variant: With "paper", an object without a reference counts as 0, and a caption without objects scores 1,
            because it hallucinates nothing. With "released", only matched objects count, because the released code adds
            zeros to the similarities instead of appending them, and the score is -inf if the caption or its references
            have no objects.
    """
    if variant == "released":
        return min((match.similarity for match in matches if match.reference is not None), default=float("-inf"))
    return min((match.similarity for match in matches), default=1.0)


def best_matching(
    candidate: Groups, references: Groups, similarity: Similarity, variant: str = "paper"
) -> tuple[float, list[Match]]:
    """Compute the maximum ALOHa over all choices of one alternative per group, and its matching.

    Args:
        candidate: Groups of alternatives of the caption.
        references: Groups of alternatives of the references.
        similarity: See `matches_of`.
        variant: See `aloha_score`.

    Returns:
        The score and its matching. Among equal scores, the first one.
    """
    best: tuple[float, list[Match]] | None = None
    for mine in _take_alternatives(candidate):
        for theirs in _take_alternatives(references):
            found = matches_of(mine, theirs, similarity)
            score = aloha_score(found, variant)
            if best is None or score > best[0]:
                best = (score, found)
    assert best is not None  # `product` of no groups yields one empty choice
    return best


def _take_alternatives(groups: Groups) -> Iterator[list[str]]:
    """Yield each choice of one alternative per group once, sorted, so that the result does not depend on set order."""
    seen = set()
    for choice in product(*groups):
        objects = tuple(sorted(set(choice)))
        if objects not in seen:
            seen.add(objects)
            yield list(objects)
