"""ALOHa's numbers of given objects (Petryk et al., 2024): the object of a caption that its references support least.

An object is a group of alternatives: "a dog or a cat" is one object that may be either. Symbols of the paper: the
objects of the caption are matched one to one with those of the references so that the sum of similarities is greatest;
ALOHa_o is the similarity of a matched object, ALOHa the least of them.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

Floats = npt.NDArray[np.float64]
Groups = Sequence[Sequence[str]]
Similarity = Callable[[Sequence[str], Sequence[str]], Floats]

MOST_CHOICES = 4_096


@dataclass(frozen=True)
class Match:
    """An object of a caption and what it was matched with.

    Attributes:
        object: Of the caption.
        reference: Of the references; None if none was left for it.
        similarity: ALOHa_o; 0 without a reference.
    """

    object: str
    reference: str | None
    similarity: float


def choices(groups: Groups) -> int:
    """In how many ways one alternative of each group can be taken."""
    return prod(len(group) for group in groups)


def matches_of(candidate: Sequence[str], references: Sequence[str], similarity: Similarity) -> list[Match]:
    """ALOHa_o of each object by the matching of greatest sum, one to one (Petryk et al., 2024).

    Args:
        candidate: Objects of the caption, without repetition.
        references: Those of the references, without repetition.
        similarity: From n and m objects to a matrix of shape ``(n, m)``.
    """
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
    """ALOHa, the least similarity of a matching (Petryk et al., 2024).

    Args:
        matches: Of every object of a caption.
        variant: "paper": an object without a reference counts as 0, and a caption without an object has 1, as it
            invents nothing. "released": only matched objects count, since the released code adds zeros to the numbers
            in place of appending them; -inf where caption or references have no object.
    """
    if variant == "released":
        return min((match.similarity for match in matches if match.reference is not None), default=float("-inf"))
    return min((match.similarity for match in matches), default=1.0)


def best_matching(
    candidate: Groups, references: Groups, similarity: Similarity, variant: str = "paper"
) -> tuple[float, list[Match]]:
    """The greatest ALOHa over all ways to take one alternative of each group, and its matching.

    Args:
        candidate: Groups of alternatives of the caption.
        references: Those of the references.
        similarity: As of `matches_of`.
        variant: As of `aloha_score`.

    Returns:
        The score and its matching, the first of equal ones.
    """
    best: tuple[float, list[Match]] | None = None
    for mine in _taken(candidate):
        for theirs in _taken(references):
            found = matches_of(mine, theirs, similarity)
            score = aloha_score(found, variant)
            if best is None or score > best[0]:
                best = (score, found)
    assert best is not None  # `product` of no group gives one empty choice
    return best


def _taken(groups: Groups) -> Iterator[list[str]]:
    """One alternative of each group, equal ones once, sorted, so that no order of sets decides."""
    seen = set()
    for choice in product(*groups):
        objects = tuple(sorted(set(choice)))
        if objects not in seen:
            seen.add(objects)
            yield list(objects)
