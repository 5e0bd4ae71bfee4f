"""CAPTURE (Dong et al., 2024) of parsed scene graphs: objects, attributes and relations, matched in three stages.

Two lists are matched one to one, first exact matches, then synonyms. For each remaining phrase, the similarity to the
most similar remaining phrase of the other list is added.
"""

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Parts = tuple[str, ...]
Similarity = Callable[[Sequence[str], Sequence[str]], Floats]

EPSILON = 1e-6
# Weights of the F-scores of objects, attributes and relations, 5 to 5 to 2.
WEIGHTS = (0.5, 0.5, 0.2)


@dataclass(frozen=True)
class Matched:
    """Matching of two lists of one kind.

    Attributes:
        pairs: Index pairs of candidate and reference, exact matches before synonyms.
        candidate: Number of matches plus the similarities of the remaining candidate phrases.
        reference: Number of matches plus the similarities of the remaining reference phrases.
    """

    pairs: tuple[tuple[int, int], ...]
    candidate: float
    reference: float


def match(
    candidate: Sequence[Parts],
    reference: Sequence[Parts],
    synonymous: Callable[[str, str], bool],
    similarity: Similarity | None,
    *,
    released: bool,
) -> Matched:
    """Match two lists, first exact matches, then synonyms, then by similarity.

    Args:
        candidate: Unique objects or attributes as tuples of one word, or relations as triples.
        reference: Unique tuples of the reference, in the same form.
        synonymous: Function that returns whether two words are synonyms. For relations, all three parts must be
            synonyms.
        similarity: Function from n and m phrases to their cosine similarities, shape ``(n, m)``. None to skip the third
            stage.
        released: Whether to follow the authors' code: each phrase is paired with its first remaining synonym, and
            negative cosine similarities count, so that the F-score is unbounded if the two sums nearly cancel.
            Otherwise the number of synonym pairs is maximized, and negative cosine similarities count as 0.
    """
    pairs = _greedy([[one == other for other in reference] for one in candidate])
    left, others = _find_unpaired(pairs, len(candidate), len(reference))
    fits = [[_fits(candidate[i], reference[j], synonymous) for j in others] for i in left]
    found = _greedy(fits) if released else _most(fits)
    pairs += [(left[row], others[column]) for row, column in found]
    mine, theirs = _find_unpaired(pairs, len(candidate), len(reference))
    n = float(len(pairs))
    if similarity is None or not mine or not theirs:
        return Matched(tuple(pairs), n, n)
    cosines = similarity([" ".join(candidate[i]) for i in mine], [" ".join(reference[j]) for j in theirs])
    if not released:
        cosines = np.maximum(cosines, 0.0)
    return Matched(tuple(pairs), n + float(cosines.max(axis=1).sum()), n + float(cosines.max(axis=0).sum()))


def _find_unpaired(pairs: Sequence[tuple[int, int]], n_candidate: int, n_reference: int) -> tuple[list[int], list[int]]:
    """Return the indices of each side that are in no pair."""
    rows, columns = {i for i, _ in pairs}, {j for _, j in pairs}
    return [i for i in range(n_candidate) if i not in rows], [j for j in range(n_reference) if j not in columns]


def _fits(one: Parts, other: Parts, synonymous: Callable[[str, str], bool]) -> bool:
    return all(synonymous(mine, theirs) for mine, theirs in zip(one, other, strict=True))


def _greedy(fits: Sequence[Sequence[bool]]) -> list[tuple[int, int]]:
    """Pair each row with the first remaining column that fits."""
    pairs: list[tuple[int, int]] = []
    taken: set[int] = set()
    for row, columns in enumerate(fits):
        column = next((column for column, fit in enumerate(columns) if fit and column not in taken), None)
        if column is not None:
            pairs.append((row, column))
            taken.add(column)
    return pairs


def _most(fits: Sequence[Sequence[bool]]) -> list[tuple[int, int]]:
    """Find a matching with the maximum number of fitting pairs."""
    from scipy.optimize import linear_sum_assignment  # slower to import than the rest of the metric

    if not fits or not fits[0]:
        return []
    table = np.array(fits, dtype=np.float64)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return [(row, column) for row, column in zip(rows.tolist(), columns.tolist(), strict=True) if table[row, column]]


def f_measure(found: Matched, n_candidate: int, n_reference: int) -> tuple[float, float, float]:
    """Compute precision, recall and F-score of one kind.

    P = matches / (n_candidate + e), R = matches / (n_reference + e) and F = 2 P R / (P + R + e), with e = 1e-6.
    """
    precision, recall = found.candidate / (n_candidate + EPSILON), found.reference / (n_reference + EPSILON)
    return precision, recall, 2 * precision * recall / (precision + recall + EPSILON)


def capture_score(objects: float, attributes: float, relations: float) -> float:
    """Compute CAPTURE = (5 F_objects + 5 F_attributes + 2 F_relations) / 12 (Dong et al., 2024)."""
    return float(np.dot(WEIGHTS, (objects, attributes, relations)) / sum(WEIGHTS))
