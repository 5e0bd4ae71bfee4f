"""ROUGE-L and BLEU-4 between single captions, and BLEU-4 as the COCO caption evaluation code computes it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vlgauge.distances.cider import ORDERS, Ngram, ngram_counts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def rouge_l(texts: Sequence[Sequence[str]]) -> Floats:
    """2PR / (P + R) of all pairs, with P and R the parts of either text in a longest common subsequence.

    Args:
        texts: Tokens of each text.

    Returns:
        shape ``(n_texts, n_texts)``, symmetric, in [0, 1]; 0 for a text without tokens.
    """
    lengths = np.array([len(tokens) for tokens in texts])
    # PR/(P+R) = common / (length + length)
    return 2.0 * common_subsequences(texts) / np.maximum(lengths[:, None] + lengths, 1)


def common_subsequences(texts: Sequence[Sequence[str]]) -> Ints:
    """Lengths of the longest common subsequences of all pairs, shape ``(n_texts, n_texts)``."""
    lengths = np.zeros((len(texts), len(texts)), dtype=np.int64)
    for i, text in enumerate(texts):
        everything = (1 << len(text)) - 1
        places: dict[str, int] = {}
        for position, token in enumerate(text):
            places[token] = places.get(token, 0) | 1 << position
        for j in range(i + 1):
            # Bit k of row falls to 0 where one more token of text[: k + 1] is in common (Hyyro, 2004, "Bit-parallel LCS
            # length computation revisited").
            row = everything
            for token in texts[j]:
                hits = row & places.get(token, 0)
                row = ((row + hits) | (row - hits)) & everything
            lengths[i, j] = lengths[j, i] = len(text) - row.bit_count()
    return lengths


def bleu_4(texts: Sequence[Sequence[str]]) -> Floats:
    """BLEU-4 of all ordered pairs without smoothing (Papineni et al., 2002).

    The fourth root of the product of the four clipped n-gram precisions, times exp(1 - |r|/|h|) unless |h| > |r|.

    Args:
        texts: Tokens of each text.

    Returns:
        shape ``(n_texts, n_texts)``, row h, column r, in [0, 1]; 0 where one of the precisions is 0 or undefined.
    """
    found = ngram_counts(texts)
    product = np.ones((len(texts), len(texts)))
    for start, stop in pairwise(found.bounds):
        counts = found.counts[:, start:stop]
        matches = np.array([np.minimum(hypothesis, counts).sum(axis=1) for hypothesis in counts])
        product *= matches / np.maximum(counts.sum(axis=1), 1)[:, None]
    lengths = np.array([float(len(tokens)) for tokens in texts])
    ratios = lengths / np.maximum(lengths, 1.0)[:, None]
    return product**0.25 * np.exp(np.minimum(1.0 - ratios, 0.0))


def coco_bleu_4(candidate: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """BLEU-4 against several references as the COCO caption evaluation computes it for one image.

    Its counts are clipped at the largest count in any reference, its small constants take the place of smoothing, and
    the brevity penalty is that of the reference whose length is closest.

    Args:
        candidate: Tokens of the candidate.
        references: Tokens of each reference, at least one.
    """
    product = 1.0
    for n in ORDERS:
        most: Counter[Ngram] = Counter()
        for tokens in references:
            most |= _ngrams(tokens, n)
        guessed = _ngrams(candidate, n)
        product *= ((guessed & most).total() + 1e-15) / (guessed.total() + 1e-9)
    closest = min((abs(len(tokens) - len(candidate)), len(tokens)) for tokens in references)[1]
    ratio = (len(candidate) + 1e-15) / (closest + 1e-9)
    return float(product**0.25) * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0)


def _ngrams(tokens: Sequence[str], n: int) -> Counter[Ngram]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))
