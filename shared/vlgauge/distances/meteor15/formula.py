"""From matches to statistics, and from statistics to the score of a pair or of a corpus."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Match: TypeAlias = tuple[int, int, int, int, int]
"""Start and length in the reference, start and length in the hypothesis, and the stage, an index of `STAGES`."""

STAGES = ("exact", "stem", "synonym", "paraphrase")
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
WEIGHTS = (1.0, 0.6, 0.8, 0.6)

COLUMNS = (
    *("length", "reference_length", "function_words", "reference_function_words"),
    *(f"{stage}_{side}{kind}" for stage in STAGES for kind in ("content", "function") for side in ("", "reference_")),
    "chunks",
)
"""What a score is computed from; that of a corpus from the sums, in which the chunk of a perfect match is 0."""
CHUNKS = COLUMNS.index("chunks")
_STAGES = slice(4, CHUNKS)


def statistics_of(matches: Sequence[Match], own: Sequence[int], reference: Sequence[int]) -> list[int]:
    """Count what a score is computed from, in the order of `COLUMNS`.

    Args:
        matches: In the order of the reference.
        own: 1 for each function word of the hypothesis, 0 for each content word.
        reference: The same of the reference.
    """
    counts = [0] * len(COLUMNS)
    counts[:4] = len(own), len(reference), sum(own), sum(reference)
    ends = (-1, -1)
    for j, n, i, m, stage in matches:
        ours = own[i] if m == 1 else sum(own[i : i + m])
        theirs = reference[j] if n == 1 else sum(reference[j : j + n])
        at = 4 + 4 * stage
        counts[at] += m - ours
        counts[at + 1] += n - theirs
        counts[at + 2] += ours
        counts[at + 3] += theirs
        counts[CHUNKS] += (j, i) != ends
        ends = (j + n, i + m)
    return counts


def is_perfect(statistics: Floats) -> npt.NDArray[np.bool_]:
    """Tell whether every word of both texts is matched in one chunk, which costs nothing then.

    Args:
        statistics: Shape ``(..., 21)``, in the order of `COLUMNS`.
    """
    # Axes of the stages: stage, content or function, side.
    matched = statistics[..., _STAGES].reshape(*statistics.shape[:-1], len(STAGES), 2, 2).sum(axis=(-3, -2))
    return np.asarray((matched == statistics[..., :2]).all(axis=-1) & (statistics[..., CHUNKS] == 1))


def summands(statistics: Floats) -> Floats:
    """Turn the statistics of rows into what is added over a corpus: a perfect row has no chunk.

    Args:
        statistics: Shape ``(n, 21)``.
    """
    added = statistics.copy()
    added[is_perfect(statistics), CHUNKS] = 0.0
    return added


def scores_of(statistics: Floats) -> Floats:
    """Compute METEOR 1.5 from statistics of pairs, or from sums of `summands` over a corpus.

    Args:
        statistics: Shape ``(..., 21)``, in the order of `COLUMNS`.

    Returns:
        Shape ``(...)``, in [0, 1]; 0 where nothing matches.
    """
    mean, penalty = mean_and_penalty(statistics)
    scores = mean * (1 - penalty)
    return np.where(scores > 0, scores, 0.0)


def mean_and_penalty(statistics: Floats) -> tuple[Floats, Floats]:
    """Compute the weighted mean of precision and recall, and which part of it is subtracted for chunks.

    The order of the operations is that of the program, so that all bits are equal.

    Args:
        statistics: Shape ``(..., 21)``, in the order of `COLUMNS`.

    Returns:
        Shape ``(...)`` each; 0 and 0 where nothing matches.
    """
    by_stage = statistics[..., _STAGES].reshape(*statistics.shape[:-1], len(STAGES), 2, 2)
    lengths = DELTA * (statistics[..., :2] - statistics[..., 2:4]) + (1 - DELTA) * statistics[..., 2:4]
    found = np.zeros_like(lengths)
    for kind, share in enumerate((DELTA, 1 - DELTA)):
        for stage, weight in enumerate(WEIGHTS):
            found = found + by_stage[..., stage, kind, :] * weight * share
    matched = by_stage.sum(axis=(-3, -2))
    with np.errstate(divide="ignore", invalid="ignore"):  # nothing matches
        parts = found / lengths
        mean = 1 / ((1 - ALPHA) / parts[..., 0] + ALPHA / parts[..., 1])
        fragments = statistics[..., CHUNKS] / ((matched[..., 0] + matched[..., 1]) / 2)
    fragments = np.where(is_perfect(statistics), 0.0, np.maximum(fragments, 0.0))
    # NumPy's own power may differ from that of the C library, and of Java, in the last bit.
    powers = np.array([one**BETA for one in fragments.ravel().tolist()]).reshape(fragments.shape)
    return np.nan_to_num(mean), GAMMA * np.nan_to_num(powers)
