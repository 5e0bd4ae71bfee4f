"""METEOR 1.5 scores of pairs or corpora, and the statistics of matches from which they are computed."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.families.ngram.meteor15.alignment import AlignmentMatches
from vlgauge.inputs.text.ngrams import Ints, first_of_run

Floats = npt.NDArray[np.float64]
STAGES = ("exact", "stem", "synonym", "paraphrase")
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
WEIGHTS = (1.0, 0.6, 0.8, 0.6)

COLUMNS = (
    *("length", "reference_length", "function_words", "reference_function_words"),
    *(f"{stage}_{side}{kind}" for stage in STAGES for kind in ("content", "function") for side in ("", "reference_")),
    "chunks",
)
"""Statistics that determine a score.

A corpus score is computed from their sums, in which the chunk of a perfect match counts 0.
"""
CHUNKS = COLUMNS.index("chunks")
_STAGES = slice(4, CHUNKS)


def statistics_of(
    matches: AlignmentMatches, lengths: Sequence[Ints], n_function: Sequence[Ints], matched: Sequence[Ints]
) -> Ints:
    """Count the statistics from which scores are computed.

    Args:
        matches: Matches of P pairs.
        lengths: Shape ``(P,)`` each, number of tokens of the hypotheses, then of the references.
        n_function: Shape ``(P,)`` each, number of function words of the hypotheses, then of the references.
        matched: Shape ``(n,)`` each, number of function words of each match in the hypothesis, then in the reference.

    Returns:
        Shape ``(P, 21)``, int64, in the order of `COLUMNS`.
    """
    counts = np.zeros((len(lengths[0]), len(COLUMNS)), np.int64)
    counts[:, :4] = np.stack([*lengths, *n_function], axis=1)
    at = 4 + 4 * matches.stage
    for side, (words, function) in enumerate(zip((matches.own_length, matches.length), matched, strict=True)):
        np.add.at(counts, (matches.pair, at + side), words - function)
        np.add.at(counts, (matches.pair, at + 2 + side), function)
    goes_on = (matches.start[1:] == matches.start[:-1] + matches.length[:-1]) & (
        matches.own_start[1:] == matches.own_start[:-1] + matches.own_length[:-1]
    )
    begins = first_of_run(matches.pair)
    begins[1:] |= ~goes_on
    counts[:, CHUNKS] = np.bincount(matches.pair, begins, minlength=len(counts))
    return counts


def is_perfect(statistics: Floats) -> npt.NDArray[np.bool_]:
    """Return whether all words of both texts are matched in a single chunk, which has no penalty.

    Args:
        statistics: Shape ``(..., 21)``, in the order of `COLUMNS`.

    Returns:
        Shape ``(...)``.
    """
    # Axes of the stages: stage, content or function, side.
    matched = statistics[..., _STAGES].reshape(*statistics.shape[:-1], len(STAGES), 2, 2).sum(axis=(-3, -2))
    return np.asarray((matched == statistics[..., :2]).all(axis=-1) & (statistics[..., CHUNKS] == 1))


def summands(statistics: Floats) -> Floats:
    """Convert the statistics of rows to the values that are summed over a corpus, with 0 chunks for perfect rows.

    Args:
        statistics: Shape ``(n, 21)``.

    Returns:
        Shape ``(n, 21)``.
    """
    added = statistics.copy()
    added[is_perfect(statistics), CHUNKS] = 0.0
    return added


def scores_of(statistics: Floats) -> Floats:
    """Compute METEOR 1.5 of pairs, or of sums of `summands` over a corpus (Denkowski and Lavie, 2014).

    Args:
        statistics: Shape ``(..., 21)``, in the order of `COLUMNS`.

    Returns:
        Shape ``(...)``, in [0, 1]. 0 if nothing matches.
    """
    mean, penalty = mean_and_penalty(statistics)
    scores = mean * (1 - penalty)
    return np.where(scores > 0, scores, 0.0)


def mean_and_penalty(statistics: Floats) -> tuple[Floats, Floats]:
    """Compute the weighted mean of precision and recall, and the fraction of it that is subtracted for chunks.

    The operations are in the order of the original program, so that the results are bitwise identical.

    Args:
        statistics: Shape ``(..., 21)``, in the order of `COLUMNS`.

    Returns:
        Shape ``(...)`` each. 0 and 0 if nothing matches.
    """
    by_stage = statistics[..., _STAGES].reshape(*statistics.shape[:-1], len(STAGES), 2, 2)
    lengths = DELTA * (statistics[..., :2] - statistics[..., 2:4]) + (1 - DELTA) * statistics[..., 2:4]
    found = np.zeros_like(lengths)
    for kind, share in enumerate((DELTA, 1 - DELTA)):
        for stage, weight in enumerate(WEIGHTS):
            found = found + by_stage[..., stage, kind, :] * weight * share
    matched = by_stage.sum(axis=(-3, -2))
    with np.errstate(divide="ignore", invalid="ignore"):  # if nothing matches
        parts = found / lengths
        mean = 1 / ((1 - ALPHA) / parts[..., 0] + ALPHA / parts[..., 1])
        fragments = statistics[..., CHUNKS] / ((matched[..., 0] + matched[..., 1]) / 2)
    fragments = np.where(is_perfect(statistics), 0.0, np.maximum(fragments, 0.0))
    # NumPy's power function may differ from the C library and from Java in the last bit.
    powers = np.array([one**BETA for one in fragments.ravel().tolist()]).reshape(fragments.shape)
    return np.nan_to_num(mean), GAMMA * np.nan_to_num(powers)
