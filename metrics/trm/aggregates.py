"""Baseline of the paper's Eq. 1: the mean over the candidates of a score against all references."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.families.ngram.bleu import coco_bleu
from vlgauge.families.ngram.cider import SCALE
from vlgauge.families.ngram.rouge_l import coco_rouge_l
from vlgauge.families.ngram.rouge_l import common_subsequences
from vlgauge.inputs.text.ngrams import ngram_counts

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Reduce: TypeAlias = Callable[..., Floats]

_BLOCK = 2**19  # entries of a working array


def aggregate_scores(
    distance: str, matrices: Floats, texts: Sequence[Sequence[Sequence[str]]], candidates: Bools
) -> Floats:
    """Compute S_agg of S examples under P partitions, for the score that a distance is derived from.

    METEOR and the cosine similarity use the best reference, and CIDEr-D uses the mean over the references. ROUGE-L and
    BLEU-4 follow the COCO caption evaluation.

    Args:
        distance: "meteor", "meteor_1.5", "cider_d", "bert", "rouge_l" or "bleu_4".
        matrices: Distances, shape ``(S, N, N)``.
        texts: Tokens of the N captions of each example.
        candidates: Partitions, shape ``(P, N)``, n True in each row.

    Returns:
        Scores, shape ``(S, P)``.
    """
    if distance == "rouge_l":
        common = np.array([common_subsequences(tokens) for tokens in texts], dtype=np.float64)
        lengths = np.array([[len(one) for one in tokens] for tokens in texts], dtype=np.float64)
        return mean_rouge_l(common, lengths, candidates)
    if distance == "bleu_4":
        return np.stack([mean_bleu_4(tokens, candidates) for tokens in texts])
    if distance == "cider_d":
        return mean_aggregates(SCALE - matrices, candidates, np.mean)
    # d(a, b) of METEOR has the reference first, and the cosine similarity is symmetric.
    return mean_aggregates(1.0 - matrices.swapaxes(1, 2), candidates, np.max)


def mean_bleu_4(tokens: Sequence[Sequence[str]], candidates: Bools) -> Floats:
    """Compute S_agg of BLEU-4 of one example under P partitions, as in the COCO caption evaluation.

    The k-th occurrence of an n-gram in a caption is matched if any reference has at least k occurrences, so that
    matches are products of zeros and ones.

    Args:
        tokens: Tokens of the N captions.
        candidates: Partitions, shape ``(P, N)``, n True in each row.

    Returns:
        Scores, shape ``(P,)``.
    """
    of_orders = list(ngram_counts(tokens))
    orders = np.repeat(np.arange(4), [counts.shape[1] for counts in of_orders])
    all_counts = np.concatenate(of_orders, axis=1)
    lengths = np.array([float(len(text)) for text in tokens])
    references = (~candidates).astype(np.float32)
    total = np.zeros(len(candidates))
    for own, counts in enumerate(all_counts):
        rows = np.flatnonzero(candidates[:, own])
        # One column per occurrence of an n-gram in this caption.
        copies = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(copies)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        have = (all_counts[:, copies] >= number).astype(np.float32)
        of_order = (orders[copies][:, None] == np.arange(4)).astype(np.float32)  # axes: occurrence, order
        matches = (references[rows] @ have > 0.0).astype(np.float32) @ of_order
        by_gap = np.lexsort((lengths, np.abs(lengths - lengths[own])))
        closest = lengths[by_gap][references[rows][:, by_gap].argmax(axis=1)]
        guesses = np.broadcast_to(np.maximum(lengths[own] - np.arange(4), 0.0), matches.shape)
        length = np.full(len(rows), lengths[own])
        total[rows] += coco_bleu(np.column_stack([matches, guesses, length, closest]))[:, -1]
    return total / np.count_nonzero(candidates[0])


def mean_aggregates(scores: Floats, candidates: Bools, reduce: Reduce) -> Floats:
    """Compute S_agg, the mean over candidates c of S(c, R) (Chan et al., Eq. 1).

    S(c, R) is the reduced value of the scores of c against each reference in R.

    Args:
        scores: Scores, shape ``(S, N, N)``. Entry [c, r] is the score of c as hypothesis against r.
        candidates: Partitions, shape ``(P, N)``, n True in each row.
        reduce: ``np.max`` or ``np.mean``.

    Returns:
        Scores, shape ``(S, P)``.
    """
    return _in_blocks(lambda block: _over_references(scores, block, reduce).mean(axis=2), len(scores), candidates)


def mean_rouge_l(common: Floats, lengths: Floats, candidates: Bools) -> Floats:
    """Compute `mean_aggregates` of ROUGE-L as in the COCO caption evaluation.

    Precision and recall are each the maximum over the references. S = (1 + b^2) P R / (R + b^2 P) with b = 1.2.

    Args:
        common: Lengths of the longest common subsequences, shape ``(S, N, N)``.
        lengths: Numbers of tokens, shape ``(S, N)``.
        candidates: Partitions, shape ``(P, N)``.

    Returns:
        Scores, shape ``(S, P)``.
    """
    lengths = np.maximum(lengths, 1.0)
    precisions, recalls = common / lengths[:, :, None], common / lengths[:, None, :]

    def of_block(block: Bools) -> Floats:
        precision, recall = (_over_references(values, block, np.max) for values in (precisions, recalls))
        return coco_rouge_l(precision, recall).mean(axis=2)

    return _in_blocks(of_block, len(common), candidates)


def _over_references(values: Floats, candidates: Bools, reduce: Reduce) -> Floats:
    """Reduce the values of each candidate over the references, to shape ``(S, P, n)``."""
    n = int(np.count_nonzero(candidates[0]))
    ours = np.nonzero(candidates)[1].reshape(-1, n, 1)
    theirs = np.nonzero(~candidates)[1].reshape(-1, 1, candidates.shape[1] - n)
    # Axes: example, partition, candidate, reference.
    return reduce(values[:, ours, theirs], axis=3)


def _in_blocks(compute: Callable[[Bools], Floats], n_examples: int, candidates: Bools) -> Floats:
    n = int(np.count_nonzero(candidates[0]))
    step = max(1, _BLOCK // max(1, n_examples * n * (candidates.shape[1] - n)))
    starts = range(0, len(candidates), step)
    return np.concatenate([compute(candidates[start : start + step]) for start in starts], axis=1)
