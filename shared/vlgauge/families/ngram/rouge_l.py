"""ROUGE-L between single captions, and as computed by the COCO caption evaluation code."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from vlgauge.inputs.text.ngrams import Ints, TokenIds, first_of_run, token_ids

Floats = npt.NDArray[np.float64]

BETA = 1.2  # weight of recall relative to precision

_CELLS_AT_ONCE = 2**18  # pairs of tokens


def rouge_l(texts: Sequence[Sequence[str]]) -> Floats:
    """Compute ROUGE-L of all pairs as 2PR / (P + R).

    P and R are the fractions of the two texts that are in a longest common subsequence.

    Args:
        texts: Tokens of each text.

    Returns:
        Shape ``(n_texts, n_texts)``, float64, symmetric, in [0, 1]. 0 for a text without tokens.
    """
    lengths = np.array([len(tokens) for tokens in texts])
    # PR/(P+R) = common / (length + length)
    return 2.0 * common_subsequences(texts) / np.maximum(lengths[:, None] + lengths, 1)


def common_subsequences(texts: Sequence[Sequence[str]]) -> Ints:
    """Compute the lengths of the longest common subsequences of all pairs, shape ``(n_texts, n_texts)``, int64."""
    ones, others = np.tril_indices(len(texts))
    lengths = np.zeros((len(texts), len(texts)), dtype=np.int64)
    lengths[ones, others] = lengths[others, ones] = common_lengths(token_ids(texts), ones, others)
    return lengths


def common_lengths(
    texts: TokenIds, ones: Ints, others: Ints, advance: Callable[[int], object] = lambda n: None
) -> Ints:
    """Compute the lengths of the longest common subsequences of pairs of texts.

    Args:
        texts: The texts.
        ones: Shape ``(P,)``, index of the first text of each pair.
        others: Shape ``(P,)``, index of the second text.
        advance: Called with the number of pairs that were completed.

    Returns:
        Shape ``(P,)``, int64.
    """
    found = np.zeros(len(ones), np.int64)
    cells = texts.lengths[ones] * texts.lengths[others]
    order = np.argsort(cells, kind="stable")  # groups pairs of similar size, because the largest determines the time
    for pairs in np.split(order, np.flatnonzero(first_of_run(np.cumsum(cells[order]) // _CELLS_AT_ONCE))[1:]):
        tokens = texts.pad(ones[pairs], -1)
        # Row k: the longest common subsequence with the first k tokens of each text.
        lengths = np.zeros((len(tokens) + 1, len(pairs)), np.int32)
        for following in texts.pad(others[pairs], -2):
            longer = np.maximum(lengths[1:], lengths[:-1] + (tokens == following))
            np.maximum.accumulate(longer, out=lengths[1:])
        found[pairs] = lengths[-1]
        advance(len(pairs))
    return found


def coco_rouge_l(precision: Floats, recall: Floats) -> Floats:
    """Compute ROUGE-L as the COCO caption evaluation does (Lin, 2004, Eq. 4).

    ROUGE-L is (1 + b^2) P R / (R + b^2 P) with b = 1.2.

    Args:
        precision: P, the maximum over the references.
        recall: R, the maximum over the references.

    Returns:
        Same shape as the arguments, in [0, 1]. 0 if candidate and references have no common tokens.
    """
    weighted = recall + BETA**2 * precision
    return (1 + BETA**2) * precision * recall / np.where(weighted > 0.0, weighted, 1.0)
