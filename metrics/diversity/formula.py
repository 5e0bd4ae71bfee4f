"""Self-CIDEr, mBLEU and Div-n from the n-grams that the captions of an image share."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.families.ngram.bleu import coco_bleu
from vlgauge.families.ngram.bleu import leave_one_out_counts
from vlgauge.families.ngram.cider import ORDERS
from vlgauge.families.ngram.cider import SCALE
from vlgauge.inputs.text.ngrams import Ints
from vlgauge.inputs.text.ngrams import TokenIds
from vlgauge.inputs.text.ngrams import first_of_run
from vlgauge.inputs.text.ngrams import ngram_sets

Floats: TypeAlias = npt.NDArray[np.float64]

N_COUNTS = 2 * len(ORDERS) + 2


def kernels(scores: Floats, sizes: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Yield the kernels K of the rows with equal numbers of captions (Wang and Chan, 2019).

    K_ij is CIDEr-D of caption i against caption j, divided by 10, for i <= j. As in the authors' code, K_ji = K_ij,
    although CIDEr-D is not symmetric.

    Args:
        scores: CIDEr-D of all ordered pairs of captions of each row, by hypothesis and then by reference.
        sizes: Shape ``(n_rows,)``, number m of captions of each row.

    Yields:
        Indices of S rows, and their kernels, shape ``(S, m, m)``, in [0, 1].
    """
    starts = np.cumsum(sizes**2) - sizes**2
    for m in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == m)
        own = scores[starts[rows, None] + np.arange(m * m)].reshape(-1, m, m) / SCALE
        upper = np.triu(own)
        yield rows, upper + np.triu(own, 1).swapaxes(1, 2)


def spectra(kernel: Floats) -> Floats:
    """Compute sqrt(s_k) / sum_k sqrt(s_k) of the singular values s of kernels, in descending order.

    The square root makes 1e-8 of a rounding error of 1e-16, so singular values that rounding alone explains are 0.

    Args:
        kernel: Symmetric kernels, shape ``(S, m, m)``.

    Returns:
        Shape ``(S, m)``, each row with the sum 1. NaN if a kernel is 0.
    """
    values = np.sort(np.abs(np.linalg.eigvalsh(kernel)))[:, ::-1]  # singular values, as the kernels are symmetric
    noise = kernel.shape[1] * np.finfo(np.float64).eps * values[:, :1]
    roots = np.sqrt(np.where(values > noise, values, 0.0))
    total = roots.sum(axis=1, keepdims=True)
    return np.divide(roots, total, out=np.full_like(roots, np.nan), where=total > 0.0)


def self_cider(spectrum: Floats) -> Floats:
    """Compute the diversity -log_m( max_k sqrt(s_k) / sum_k sqrt(s_k) ), Self-CIDEr (Wang and Chan, 2019).

    Args:
        spectrum: Values of `spectra`, shape ``(S, m)``.

    Returns:
        Shape ``(S,)``, in [0, 1]. NaN if the kernel is 0.
    """
    return np.clip(np.abs(np.log(spectrum[:, 0])) / np.log(spectrum.shape[1]), 0.0, 1.0)


def div_n(texts: TokenIds, example: Ints, max_order: int = 2) -> Floats:
    """Compute Div-n (Shetty et al., 2017): number of distinct n-grams of the captions of a row, per word.

    Args:
        texts: Captions of a row, then of the next row.
        example: Shape ``(n_texts,)``, ascending, index of the row of each caption.
        max_order: Largest n.

    Returns:
        Shape ``(n_rows, max_order)``, in [0, 1]. NaN without words.
    """
    n_words = np.bincount(example, texts.lengths)
    distinct = np.zeros((len(n_words), max_order))
    for order, grams in enumerate(ngram_sets(texts, max_order=max_order)):
        own = example[grams.captions]
        distinct[:, order] = np.bincount(own[first_of_run(grams.ngrams) | first_of_run(own)], minlength=len(n_words))
    return np.divide(distinct, n_words[:, None], out=np.full_like(distinct, np.nan), where=n_words[:, None] > 0)


def position_counts(texts: TokenIds, example: Ints) -> Ints:
    """Sum the BLEU counts of the first captions of all rows, of the second captions, and so on.

    The references of a caption are the other captions of its row.

    Args:
        texts: At least two captions of a row, then of the next row.
        example: Shape ``(n_texts,)``, ascending, index of the row of each caption.

    Returns:
        Shape ``(n_positions, 10)``. See `vlgauge.families.ngram.bleu.bleu_counts`.
    """
    sizes = np.bincount(example)
    position = np.arange(len(example)) - (np.cumsum(sizes) - sizes)[example]
    counts = leave_one_out_counts(texts, example)
    return np.array([np.bincount(position, column) for column in counts.T]).T.astype(np.int64)


def mbleu(counts: Ints) -> Floats:
    """Compute mBLEU-1 to mBLEU-4 (Shetty et al., 2017): corpus BLEU of each position, averaged over the positions.

    Args:
        counts: Values of `position_counts`, or sums of them, shape ``(n_positions, 10)``.

    Returns:
        Shape ``(4,)``, in [0, 1]. NaN without positions.
    """
    if not len(counts):
        return np.full(len(ORDERS), np.nan)
    return coco_bleu(counts.astype(np.float64)).mean(axis=0)
