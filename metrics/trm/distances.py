"""Distances between all captions of an example, yielded as one matrix per example."""

import re
from collections import deque
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_one_each
from vlgauge.core.validation import warn
from vlgauge.families.caption_sets.vectors import CaptionVectors
from vlgauge.families.ngram import meteor15
from vlgauge.families.ngram.bleu import bleu_4
from vlgauge.families.ngram.cider import SCALE
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.families.ngram.cider import cider_d_of_examples
from vlgauge.families.ngram.rouge_l import rouge_l
from vlgauge.inputs.text.ngrams import Ints
from vlgauge.inputs.text.ngrams import number_distinct

Floats = npt.NDArray[np.float64]
Tokens: TypeAlias = tuple[str, ...]
Tokenizer: TypeAlias = Callable[[str], Tokens]
Captions: TypeAlias = Sequence[Sequence[str]]
Matrices: TypeAlias = Callable[[Iterable[Any]], Iterator[Floats]]
"""Function that yields, for the N captions of each example, a matrix of shape ``(N, N)``. Entry [a, b] is d(a, b)."""

METEOR_15 = "meteor_1.5"
NGRAM_DISTANCES = ("meteor", METEOR_15, "cider_d", "rouge_l", "bleu_4")
DISTANCES = (*NGRAM_DISTANCES, "bert", "precomputed")

_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, eq=False)
class KnownDistances:
    """Precomputed distances between all captions of each example, for several calls.

    Attributes:
        places: Row of each caption in the matrix of its example.
        matrices: Distances between the K distinct captions of each example, shape ``(K, K)``. Entry [a, b] is d(a, b).
        signature_extra: Signature fields of the distances.
        reference_first: Whether a in d(a, b) is the reference, as in METEOR, and not the hypothesis.
    """

    places: Sequence[Mapping[str, int]]
    matrices: Sequence[Floats]
    signature_extra: dict[str, Any]
    reference_first: bool

    def matrix(self, example: int, captions: Sequence[str]) -> Floats:
        """Return the distances between some captions of an example, including repetitions.

        Args:
            example: Index of the example.
            captions: n of its captions.

        Returns:
            Distances, shape ``(n, n)``.

        Raises:
            KeyError: If a caption does not belong to the example.
        """
        order = [self.places[example][caption] for caption in captions]
        return self.matrices[example][np.ix_(order, order)]

    def from_others(self, example: int, captions: Sequence[str]) -> Floats:
        """Return the distances of `matrix`, shape ``(n, n)``, with the caption of a row as the hypothesis."""
        matrix = self.matrix(example, captions)
        return matrix.T if self.reference_first else matrix


def meteor_15_matrices(captions: Captions, tokenizer: Tokenizer) -> Matrices:
    """Return matrices of d(a, b) = 1 - METEOR 1.5(hypothesis b, reference a), computed from lowercased tokens.

    Args:
        captions: Captions of each example of the call, whose words determine the paraphrases to read.
        tokenizer: Function that splits a caption into tokens.
    """

    def text(caption: str) -> str:
        return " ".join(map(str.lower, tokenizer(caption)))

    sources = meteor15.sources.open_sources(metric="trm")
    every = (text(caption) for pooled in captions for caption in pooled)
    return _of_distinct(text, meteor15.scoring.distance_matrices(every, sources))


def cider_d_matrices(df: DocumentFrequency, tokenizer: Tokenizer) -> Matrices:
    """Return matrices of d(a, b) = 10 - CIDEr-D(hypothesis a, reference b)."""
    return _of_distinct(tokenizer, lambda examples: (SCALE - scores for scores in cider_d_of_examples(examples, df)))


def bleu_4_matrices(tokenizer: Tokenizer) -> Matrices:
    """Return matrices of d(a, b) = 1 - BLEU-4(hypothesis a, reference b)."""
    return _of_distinct(tokenizer, lambda examples: (1.0 - bleu_4(texts) for texts in examples))


def rouge_l_matrices(tokenizer: Tokenizer, words_of: Callable[[Tokens], Tokens]) -> Matrices:
    """Return matrices of d(a, b) = 1 - ROUGE-L(a, b), computed from the words that a function returns for tokens."""
    warned = False

    def words(caption: str) -> Tokens:
        nonlocal warned
        tokens = tokenizer(caption)
        found = words_of(tokens)
        ignored = found is not tokens and not caption.isascii()
        if not warned and ignored and any(c.isalpha() and not c.isascii() for c in caption):
            warned = True
            warn(f"ROUGE-L uses only the letters a-z and ignores the others in {caption!r}")
        return found

    return _of_distinct(words, lambda examples: (1.0 - rouge_l(texts) for texts in examples))


def rouge_l_words(tokens: Tokens) -> Tokens:
    """Return the words of a token sequence that ROUGE-L of the authors' code compares, of the letters a-z and 0-9."""
    return tuple(_WORD.findall(" ".join(tokens).lower()))


def cosine_matrices(captions: Captions, vectors: CaptionVectors) -> Matrices:
    """Return matrices of d(a, b) = 1 - cosine similarity of the sentence embeddings, 0 for equal captions.

    Args:
        captions: Captions of each example in the order of `vectors`.
        vectors: Embeddings of the captions.
    """
    row_of = {
        caption: int(row)
        for pooled, rows in zip(captions, vectors.positions, strict=True)
        for caption, row in zip(pooled, rows, strict=True)
    }

    def distances(texts: list[str]) -> Floats:
        chosen = vectors.table[[row_of[text] for text in texts]].astype(np.float64)
        with np.errstate(invalid="ignore"):  # 0/0 for a zero vector is undefined
            chosen /= np.linalg.norm(chosen, axis=1, keepdims=True)
        matrix: Floats = 1.0 - chosen @ chosen.T
        np.fill_diagonal(matrix, matrix.diagonal() * 0.0)  # 0, but NaN is kept
        return matrix

    return _of_distinct(str, partial(map, distances))


def function_matrices(function: Callable[..., Any]) -> Matrices:
    """Return the distances that a user-supplied function computes.

    The function accepts two captions or, if its attribute ``batch`` is true, a list of captions.

    Raises:
        ValueError: If the function returns anything but real numbers, or an array with the wrong shape.
    """

    def distances(texts: list[str]) -> Floats:
        if getattr(function, "batch", False):
            return real_matrix(function(texts), len(texts), "the output of `distance`")
        found = [[function(a, b) for b in texts] for a in texts]
        return real_matrix(found, len(texts), "the output of `distance` for all pairs")

    return _of_distinct(str, partial(map, distances))


def real_matrix(values: Any, n_captions: int, name: str) -> Floats:
    """Convert values to a float64 array of shape ``(n_captions, n_captions)``.

    Raises:
        ValueError: If they are not real numbers, one for each ordered pair of captions.
    """
    try:
        matrix = np.asarray(values)
    except ValueError:  # rows of different lengths
        matrix = np.asarray(values, dtype=object)
    if matrix.dtype == object or not np.issubdtype(matrix.dtype, np.number) or np.iscomplexobj(matrix):
        raise UsageError(f"{name} must contain real numbers in rows of equal length, got {matrix.dtype}")
    if matrix.shape != (n_captions, n_captions):
        raise UsageError(
            f"{name} must have shape {n_captions, n_captions}, with candidates before references in rows and "
            f"columns, got {matrix.shape}"
        )
    return matrix.astype(np.float64, copy=False)


def check_matrices(distances: Any, captions: Captions) -> list[Floats]:
    """Validate user-supplied distance matrices, one per example.

    Returns:
        Distances, shape ``(N, N)`` for N captions, float64.

    Raises:
        ValueError: If a matrix is missing, not square or not real. The message names the example.
    """
    check_one_each("distances", distances, len(captions), "array per row")
    pairs = zip(distances, captions, strict=True)
    return [real_matrix(one, len(pooled), f"`distances[{row}]`") for row, (one, pooled) in enumerate(pairs)]


def zero_between_equal(distances: Floats, texts: list[list[Tokens]]) -> Floats:
    """Return a copy of the distances with 0 between captions with equal tokens.

    Args:
        distances: Shape ``(S, N, N)``.
        texts: Tokens of each caption of each of the S examples.

    Returns:
        Shape ``(S, N, N)``.
    """
    changed = distances.copy()
    for matrix, tokens in zip(changed, texts, strict=True):
        _, numbers = number_distinct(tokens)
        matrix[numbers[:, None] == numbers] = 0.0
    return changed


def _of_distinct(key: Callable[[str], Hashable], between: Matrices) -> Matrices:
    """Wrap a matrix function so that it only computes the distances between distinct keys."""

    def spread(examples: Iterable[Sequence[str]]) -> Iterator[Floats]:
        orders: deque[Ints] = deque()  # orders of examples that are in progress

        def distinct() -> Iterator[list[Hashable]]:
            for captions in examples:
                keys, order = number_distinct(map(key, captions))
                orders.append(order)
                yield keys

        for matrix in between(distinct()):
            order = orders.popleft()
            yield matrix[np.ix_(order, order)]

    return spread
