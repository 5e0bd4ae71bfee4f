"""Rows of captions and images -> scores, with what each came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from vlgauge.clip_score.formula import (
    Floats,
    Positions,
    clip_scores,
    group_maxima,
    group_means,
    pair_cosines,
    reference_scores,
)
from vlgauge.clip_score.text_rows import TextRows
from vlgauge.clip_score.vectors import ClipVectors
from vlgauge.media.pictures import ImagePicture


@dataclass(frozen=True)
class Scored:
    """Scores of n rows.

    Attributes:
        scores: shape ``(n,)``, NaN where undefined.
        reference_scores: shape ``(n,)``; None if no row has references.
        details: One dictionary per row.
        n_unreadable: Rows whose image or video could not be read.
        n_unlike: Rows whose reference score is 0 because neither the image nor a reference is like the caption.
        n_empty: Rows whose video has no frames.
    """

    scores: Floats
    reference_scores: Floats | None
    details: list[dict[str, Any]]
    n_unreadable: int
    n_unlike: int = 0
    n_empty: int = 0


def distinct_images(images: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[list[ImagePicture], Positions]:
    """The images of n rows, each once, and the one of each row, shape ``(n,)``."""
    pictures: dict[str | bytes, ImagePicture] = {}
    order: dict[str | bytes, int] = {}
    positions = np.empty(len(images), dtype=np.intp)
    for i in range(len(images)):
        cell = images[i][0]
        content = cell["bytes"] or cell["path"]
        if content not in order:
            order[content] = len(order)
            pictures[content] = ImagePicture(cell, f"images[{i}]", "late")
        positions[i] = order[content]
    return list(pictures.values()), positions


def score_images(
    vectors: ClipVectors,
    rows: TextRows,
    images: Sequence[Sequence[Mapping[str, Any]]],
    *,
    prompt: str,
    w: float,
    clamp: bool,
    on_error: Literal["raise", "nan"] = "raise",
) -> Scored:
    """Score rows of one image each; see `vlgauge.clip_score.formula` for the formulas.

    Args:
        vectors: The encoder.
        rows: Candidates and references.
        images: One image per row, as stored by the host.
        prompt: What candidates and references are read behind.
        w: See `clip_scores`.
        clamp: See `reference_scores`.
        on_error: ``"nan"`` leaves the rows of images undefined that cannot be read.
    """
    n = rows.n_rows
    pictures, picture_of = distinct_images(images)
    seen, unreadable = vectors.images(pictures, on_error)
    read = vectors.texts(rows.pieces.texts, prompt)
    cosines = pair_cosines(read, seen, (rows.units, picture_of[rows.row_of_unit]))
    p = clip_scores(cosines, w)
    alike = pair_cosines(read, read, (rows.units[rows.pairs[0]], rows.pairs[1]))
    s, best = group_maxima(alike, rows.pairs[0], len(rows.units))
    # A caption that was split is like nothing if none of its sentences is like anything.
    unlike = group_means((p == 0) & ((np.maximum(s, 0) if clamp else s) == 0), rows.row_of_unit, n) == 1
    with_references = group_means(reference_scores(p, s, clamp=clamp), rows.row_of_unit, n)
    details: list[dict[str, Any]] = [
        {"cosine": cosine, "truncated": flag, "special": special}
        for cosine, flag, special in zip(
            group_means(cosines, rows.row_of_unit, n).tolist(), rows.truncated, rows.special, strict=True
        )
    ]
    if rows.has_references:
        numbers = best_references(rows, s, best)
        for row, (number, mean) in enumerate(zip(numbers, group_means(s, rows.row_of_unit, n).tolist(), strict=True)):
            details[row] |= {"best_reference": number, "reference_cosine": mean}
    return Scored(
        scores=group_means(p, rows.row_of_unit, n),
        reference_scores=with_references if rows.has_references else None,
        details=details,
        n_unreadable=int(np.count_nonzero(unreadable[picture_of])),
        n_unlike=int(np.count_nonzero(unlike)),
    )


def best_references(rows: TextRows, values: Floats, best: Positions) -> list[int | None]:
    """Number of the reference that each row's candidate is nearest to; None where that is undefined.

    Args:
        rows: Candidates and references.
        values: shape ``(n_units,)``, the largest value over the pairs of each unit.
        best: shape ``(n_units,)``, the pair that has it, -1 for none.
    """
    _, units = group_maxima(values, rows.row_of_unit, rows.n_rows)
    chosen = [best[unit] if unit >= 0 else -1 for unit in units]
    return [int(rows.pair_references[pair]) if pair >= 0 else None for pair in chosen]
