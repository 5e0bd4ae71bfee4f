"""Scores of rows of captions and images, with details."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from vlgauge.families.clip_score.formula import (
    Positions,
    clip_scores,
    group_maxima,
    group_means,
    pair_cosines,
    reference_scores,
)
from vlgauge.families.clip_score.rows import ScoredRows, TextRows, best_references
from vlgauge.families.clip_score.vectors import ClipVectors
from vlgauge.inputs.images.lazy_images import LazyImage


def score_images(
    vectors: ClipVectors,
    rows: TextRows,
    images: Sequence[LazyImage],
    image_of: Positions,
    *,
    prompt: str,
    w: float,
    clamp: bool,
    on_error: Literal["raise", "nan"] = "raise",
) -> ScoredRows:
    """Score rows with one image each, using the formulas in `vlgauge.families.clip_score.formula`.

    Args:
        vectors: The encoder.
        rows: Candidates and references.
        images: The distinct images.
        image_of: Shape ``(n_rows,)``, index in `images` of the image of each row.
        prompt: Text before every candidate and reference.
        w: Factor of the score, see `clip_scores`.
        clamp: Whether a negative reference similarity counts as 0, see `reference_scores`.
        on_error: ``"nan"`` makes the scores of rows with an unreadable image NaN, ``"raise"`` raises.
    """
    n, row_of = rows.n_rows, rows.row_of_unit
    seen, unreadable = vectors.images(images, on_error)
    read = vectors.texts(rows.pieces.texts, prompt)
    # Cosine c of each unit, and similarity s to the most similar reference.
    cosines = pair_cosines(read, seen, (rows.units, image_of[row_of]))
    p = clip_scores(cosines, w)
    alike = pair_cosines(read, read, (rows.units[rows.pairs[0]], rows.pairs[1]))
    s, best = group_maxima(alike, rows.pairs[0], len(rows.units))
    # A caption that was split is unlike everything only if all of its sentences are.
    unlike = group_means((p == 0) & ((s <= 0) if clamp else (s == 0)), row_of, n) == 1
    with_references = group_means(reference_scores(p, s, clamp=clamp), row_of, n)
    details = rows.describe(cosine=group_means(cosines, row_of, n))
    if rows.has_references:
        numbers = best_references(rows, s, best)
        for row, (number, mean) in enumerate(zip(numbers, group_means(s, row_of, n).tolist(), strict=True)):
            details[row] |= {"best_reference": number, "reference_cosine": mean}
    return ScoredRows(
        scores=group_means(p, row_of, n),
        reference_scores=with_references if rows.has_references else None,
        details=details,
        n_unreadable=int(np.count_nonzero(unreadable[image_of])),
        n_unlike=int(np.count_nonzero(unlike)),
    )
