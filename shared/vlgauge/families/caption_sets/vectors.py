"""Embeddings of caption sets, encoded once each or supplied by the caller, and groups of examples of equal sizes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_one_each

CaptionSets = Sequence[Sequence[str]]

LONGEST = 1e140  # maximum absolute value whose squares and their sums are finite


@dataclass(frozen=True)
class CaptionVectors:
    """Embeddings of the pooled captions of every example.

    Attributes:
        table: Shape ``(n_vectors, d)``.
        positions: For each example, rows of the table: candidates first, then references.
        identity: Source of the embeddings, for the signature.
    """

    table: npt.NDArray[np.floating]
    positions: list[npt.NDArray[np.intp]]
    identity: str

    def stack(self, rows: Sequence[int]) -> npt.NDArray[np.floating]:
        """Return the embeddings of examples with equal numbers of captions, shape ``(len(rows), n_captions, d)``."""
        return self.table[np.stack([self.positions[row] for row in rows])]


@dataclass(frozen=True, eq=False)
class KnownVectors:
    """Embeddings of captions that several calls share.

    Attributes:
        row_of: Row of each caption in the table.
        table: Shape ``(n_captions, d)``.
        identity: Source of the embeddings, for the signature.
    """

    row_of: Mapping[str, int]
    table: npt.NDArray[np.floating]
    identity: str

    def of(self, predictions: CaptionSets, references: CaptionSets) -> CaptionVectors:
        """Return the embeddings of the captions of a call."""
        pairs = zip(predictions, references, strict=True)
        rows = [np.array([self.row_of[text] for text in (*ours, *theirs)], dtype=np.intp) for ours, theirs in pairs]
        return CaptionVectors(self.table, rows, self.identity)


def convert_embeddings(predictions: CaptionSets, references: CaptionSets, embeddings: Any) -> CaptionVectors:
    """Check embeddings supplied by the caller.

    Args:
        predictions: Candidates of each example.
        references: References of each example.
        embeddings: Mapping from caption to vector of shape ``(d,)``, or a pair (candidates, references) of lists with
            one array of shape ``(n_captions, d)`` per example.

    Raises:
        UsageError: If embeddings are missing, are not real numbers, or have different widths.
    """
    if isinstance(embeddings, Mapping):
        row_of = _row_of_each(predictions, references, embeddings)
        vectors = [_real(embeddings[caption], f"embeddings[{caption!r}]") for caption in row_of]
        for caption, vector in zip(row_of, vectors, strict=True):
            if vector.shape != vectors[0].shape or vector.ndim != 1 or not vector.size:
                raise UsageError.about(
                    "embeddings",
                    f"must have one embedding per caption, all of the same dimension, got shape {vector.shape} "
                    f"for {caption!r} and {vectors[0].shape} for {next(iter(row_of))!r}",
                )
        table = np.stack(vectors) if vectors else np.zeros((0, 0))
        return KnownVectors(row_of, table, "given").of(predictions, references)
    if not isinstance(embeddings, (tuple, list)) or len(embeddings) != 2:
        raise UsageError.about(
            "embeddings",
            "must be a mapping from caption to embedding, or a pair (candidates, references) of lists of "
            f"arrays, got {type(embeddings).__name__}",
        )
    sides = [_check_side(*side) for side in ((0, embeddings[0], predictions), (1, embeddings[1], references))]
    return _join_sides(*sides)


def check_lengths(vectors: CaptionVectors, setting: str) -> None:
    """Check that embeddings are small enough for squared distances in float64. NaN and inf are left to the caller.

    Args:
        vectors: The embeddings.
        setting: Name of their source, for error messages.

    Raises:
        UsageError: If a value is larger than 1e140 in absolute value.
    """
    largest = float(np.max(np.abs(vectors.table), where=np.isfinite(vectors.table), initial=0.0))
    if largest > LONGEST:
        raise UsageError.about(
            setting,
            f"must have embeddings of numbers of at most {LONGEST} in absolute value, got {largest:.3g}",
            "scale them all by one factor",
        )


def groups_of_equal_sizes(
    predictions: CaptionSets, references: CaptionSets, *, minimum: int = 2
) -> Iterator[tuple[int, int, list[int]]]:
    """Group examples by their numbers of candidates and references.

    Args:
        predictions: Candidates of each example.
        references: References of each example.
        minimum: Examples with fewer captions on either side are left out.

    Yields:
        Number of candidates, number of references, and the indices of the examples with these numbers.
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for row, sizes in enumerate(zip(map(len, predictions), map(len, references), strict=True)):
        if min(sizes) >= minimum:
            groups.setdefault(sizes, []).append(row)
    for (n, m), rows in groups.items():
        yield n, m, rows


def _row_of_each(predictions: CaptionSets, references: CaptionSets, known: Mapping[str, Any]) -> dict[str, int]:
    """Return the row of each distinct caption in a table of embeddings. All captions must be known."""
    row_of: dict[str, int] = {}
    for example, (candidates, refs) in enumerate(zip(predictions, references, strict=True)):
        for name, captions in (("predictions", candidates), ("references", refs)):
            for i, caption in enumerate(captions):
                if caption not in known:
                    raise UsageError.about(
                        "embeddings", f"must have an embedding for `{name}[{example}][{i}]`, got none for {caption!r}"
                    )
                row_of.setdefault(caption, len(row_of))
    return row_of


def _check_side(number: int, arrays: Any, captions: CaptionSets) -> list[npt.NDArray[np.floating]]:
    check_one_each(f"embeddings[{number}]", arrays, len(captions), "array per row")
    checked = []
    for row, (array, texts) in enumerate(zip(arrays, captions, strict=True)):
        vectors = _real(array, f"embeddings[{number}][{row}]")
        if not len(texts) and not vectors.size:
            vectors = np.zeros((0, 0))
        elif vectors.ndim != 2 or len(vectors) != len(texts):
            raise UsageError.about(
                f"embeddings[{number}][{row}]",
                f"must have shape (n_captions, d) with {len(texts)} rows, got {vectors.shape}",
            )
        checked.append(vectors)
    return checked


def _real(values: Any, place: str) -> npt.NDArray[np.floating]:
    """Convert values to an array of real numbers. A tensor may be on another device or require a gradient."""
    try:
        array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    except (TypeError, ValueError) as error:
        raise UsageError.about(place, f"must be an array of real numbers, got one that fails with: {error}") from error
    if array.dtype.kind not in "iuf":
        raise UsageError.about(place, f"must contain real numbers, got {array.dtype}")
    return array


def _join_sides(
    candidates: list[npt.NDArray[np.floating]], references: list[npt.NDArray[np.floating]]
) -> CaptionVectors:
    """Join all embeddings in one table, pooled example by example."""
    pooled = [vectors for pair in zip(candidates, references, strict=True) for vectors in pair]
    filled = [vectors for vectors in pooled if len(vectors)]
    widths = {vectors.shape[1] for vectors in filled}
    if len(widths) > 1 or 0 in widths:
        raise UsageError.about(
            "embeddings", f"must all have the same dimension, got {', '.join(map(str, sorted(widths)))}"
        )
    counts = [len(c) + len(r) for c, r in zip(candidates, references, strict=True)]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    positions = [np.arange(start, start + count) for start, count in zip(starts, counts, strict=False)]
    return CaptionVectors(np.concatenate(filled) if filled else np.zeros((0, 0)), positions, "given")
