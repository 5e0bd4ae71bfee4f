"""Rows of captions and images -> scores, with what each came from."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from vlgauge.clip_score.formula import (
    Positions,
    clip_scores,
    group_maxima,
    group_means,
    pair_cosines,
    reference_scores,
)
from vlgauge.clip_score.rows import Scored, TextRows, best_references
from vlgauge.clip_score.vectors import ClipVectors
from vlgauge.media.pictures import Picture


def score_images(
    vectors: ClipVectors,
    rows: TextRows,
    pictures: Sequence[Picture],
    picture_of: Positions,
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
        pictures: The images, each once.
        picture_of: shape ``(n_rows,)``, the picture of each row, as a position in `pictures`.
        prompt: What candidates and references are read behind.
        w: See `clip_scores`.
        clamp: See `reference_scores`.
        on_error: ``"nan"`` leaves the rows of images undefined that cannot be read.
    """
    n, row_of = rows.n_rows, rows.row_of_unit
    seen, unreadable = vectors.images(pictures, on_error)
    read = vectors.texts(rows.pieces.texts, prompt)
    # c of each unit and s of the reference that is nearest to it.
    cosines = pair_cosines(read, seen, (rows.units, picture_of[row_of]))
    p = clip_scores(cosines, w)
    alike = pair_cosines(read, read, (rows.units[rows.pairs[0]], rows.pairs[1]))
    s, best = group_maxima(alike, rows.pairs[0], len(rows.units))
    # A caption that was split is like nothing if none of its sentences is like anything.
    unlike = group_means((p == 0) & ((s <= 0) if clamp else (s == 0)), row_of, n) == 1
    with_references = group_means(reference_scores(p, s, clamp=clamp), row_of, n)
    details: list[dict[str, Any]] = [
        {"cosine": cosine, "truncated": flag, "special": special}
        for cosine, flag, special in zip(
            group_means(cosines, row_of, n).tolist(), rows.truncated, rows.special, strict=True
        )
    ]
    if rows.has_references:
        numbers = best_references(rows, s, best)
        for row, (number, mean) in enumerate(zip(numbers, group_means(s, row_of, n).tolist(), strict=True)):
            details[row] |= {"best_reference": number, "reference_cosine": mean}
    return Scored(
        scores=group_means(p, row_of, n),
        reference_scores=with_references if rows.has_references else None,
        details=details,
        n_unreadable=int(np.count_nonzero(unreadable[picture_of])),
        n_unlike=int(np.count_nonzero(unlike)),
    )
