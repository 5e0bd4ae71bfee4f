"""From matches to statistics, and from statistics to the score of a pair or of a corpus."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.distances.meteor15.alignment import Matches
from vlgauge.text.ngrams import Ints, first_of_run

Floats = npt.NDArray[np.float64]
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


def statistics_of(
    matches: Matches, lengths: Sequence[Ints], n_function: Sequence[Ints], matched: Sequence[Ints]
) -> Ints:
    """Count what scores are computed from.

    Args:
        matches: Those of P pairs.
        lengths: Shape ``(P,)``, number of tokens of the hypotheses, then of the references.
        n_function: The same of function words.
        matched: Shape ``(n,)``, number of function words of each match in the hypothesis, then in the reference.

    Returns:
        Shape ``(P, 21)``, in the order of `COLUMNS`.
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
