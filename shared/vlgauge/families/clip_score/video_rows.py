"""Scores of rows of captions and videos, with details."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.families.clip_score.emscore import (
    Bags,
    GreedyMatches,
    best_frames,
    matches,
    mean_frames,
    reference_terms,
    scores_with_references,
)
from vlgauge.families.clip_score.formula import Floats, Positions, group_maxima, group_means
from vlgauge.families.clip_score.rows import ScoredRows, TextRows, best_references
from vlgauge.families.clip_score.token_idf import Idf
from vlgauge.families.clip_score.vectors import ClipVectors
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.models.clip.tokens import Ids, token_texts

Videos = Sequence[Sequence[LazyImage] | None]

_PARTS = ("precision", "recall", "fine", "coarse")


def score_videos(
    vectors: ClipVectors,
    rows: TextRows,
    videos: Videos,
    *,
    idf: Idf | None = None,
    joint: bool = False,
    batch: int | None = None,
    on_error: Literal["raise", "nan"] = "raise",
    details: bool = False,
) -> ScoredRows:
    """Score rows with one video each, using the formulas in `vlgauge.families.clip_score.emscore`.

    Args:
        vectors: The encoder.
        rows: Candidates and references.
        videos: Frames of the video of each row. None for a video that could not be read.
        idf: Weights of the words. None for equal weights.
        joint: Whether a single reference must have both maxima, see `reference_terms`.
        batch: Batch size of the padding in the authors' code of EMScore, see `matches`. None for no padding.
        on_error: ``"nan"`` makes the scores of rows with an unreadable frame NaN, ``"raise"`` raises.
        details: Whether to look up the best frame of every token.
    """
    texts, ids = text_bags(vectors, rows.pieces.texts, idf)
    frames, video_of, unreadable = video_bags(vectors, videos, on_error, width=texts.rows.shape[1])
    found = matches(texts, frames, (rows.units, video_of[rows.row_of_unit]), batch=batch)
    notes = _video_details(found, rows, texts, frames, video_of, ids, videos) if details else []
    references = None
    if rows.has_references:
        pairs = (rows.units[rows.pairs[0]], rows.pairs[1])
        alike = matches(texts, texts, pairs, batch=batch)
        x, best = reference_terms(alike, rows.pairs[0], len(rows.units), joint=joint)
        references = group_means(scores_with_references(found.full, x), rows.row_of_unit, rows.n_rows)
        if details:
            _add_reference_details(notes, alike, rows, best)
    return ScoredRows(
        scores=group_means(found.full, rows.row_of_unit, rows.n_rows),
        reference_scores=references,
        details=notes,
        n_unreadable=unreadable,
        n_empty=sum(video is not None and not video for video in videos),
    )


def text_bags(vectors: ClipVectors, texts: Sequence[str], idf: Idf | None) -> tuple[Bags, list[Ids]]:
    """Encode the tokens of texts, including start and end token.

    Returns:
        The token embeddings, one bag per text, and the token ids of each text, shape ``(n_tokens,)`` each.
    """
    rows, sizes, ids = vectors.tokens(texts)
    weights = np.ones(len(rows)) if idf is None else idf.of(np.concatenate(ids))
    return Bags(rows, sizes, weights, rows[np.cumsum(sizes) - 1]), ids


def video_bags(
    vectors: ClipVectors, videos: Videos, on_error: Literal["raise", "nan"], *, width: int
) -> tuple[Bags, Positions, int]:
    """Encode the frames of videos, each distinct video once.

    A video without frames, or with an unreadable frame, becomes a bag of size 0.

    Returns:
        The bags, the index of the bag of each row, shape ``(n,)``, and the number of unreadable rows.
    """
    images, frames_of = _distinct_frames(videos)
    seen, unreadable = vectors.images(images, on_error)
    bags: dict[tuple[int, ...], int] = {}
    video_of = np.array([bags.setdefault(tuple(frames), len(bags)) for frames in frames_of], dtype=np.intp)
    broken = np.array([bool(unreadable[list(bag)].any()) if bag else False for bag in bags], dtype=bool)
    kept = [() if flag else bag for bag, flag in zip(bags, broken, strict=True)]
    sizes = np.array([len(bag) for bag in kept], dtype=np.intp)
    flat = np.array([frame for bag in kept for frame in bag], dtype=np.intp)
    rows = seen[flat] if len(flat) else np.zeros((0, width), np.float32)
    n_unreadable = sum(frames is None for frames in videos) + int(np.count_nonzero(broken[video_of]))
    return Bags(rows, sizes, np.ones(len(rows)), mean_frames(rows, sizes)), video_of, n_unreadable


def _distinct_frames(videos: Videos) -> tuple[list[LazyImage], list[list[int]]]:
    """Return the distinct frames, and the frames of each video as indices among them."""
    keys = [[_identity(image) for image in frames or ()] for frames in videos]
    images: dict[Any, LazyImage] = {}
    for own, frames in zip(keys, videos, strict=True):
        for key, image in zip(own, frames or (), strict=True):
            images.setdefault(key, image)
    numbers = {key: number for number, key in enumerate(images)}
    return list(images.values()), [[numbers[key] for key in own] for own in keys]


def _identity(image: LazyImage) -> Any:
    try:
        return image.key
    except UsageError:
        # The file does not exist any more. The encoder raises an error or returns NaN.
        return object()


def _video_details(
    found: GreedyMatches,
    rows: TextRows,
    texts: Bags,
    frames: Bags,
    video_of: Positions,
    ids: list[Ids],
    videos: Videos,
) -> list[dict[str, Any]]:
    """Return P, R, fine and coarse of each row, the frames that were used, and the best frame of every token."""
    numbers = [[getattr(image, "index", i) for i, image in enumerate(video or ())] for video in videos]
    # Columns of lists of different lengths are no array.
    notes = [{"frames": own, **note, "tokens": []} for own, note in zip(numbers, rows.describe(), strict=True)]
    for unit, row in zip(rows.units.tolist(), rows.row_of_unit.tolist(), strict=True):
        bag = video_of[row]
        if frames.sizes[bag]:
            words = texts.indices(np.array([unit]), texts.sizes[unit])[0]
            indices = frames.indices(np.array([bag]), frames.sizes[bag])[0]
            nearest = best_frames(texts.rows[words], frames.rows[indices])
            weights = texts.weights[words].tolist()
            notes[row]["tokens"] += [
                {"token": text, "weight": weight, "frame": notes[row]["frames"][frame], "cosine": cosine}
                for text, weight, frame, cosine in zip(token_texts(ids[unit]), weights, *nearest, strict=True)
            ]
    return [means | note for means, note in zip(_mean_parts(found, rows.row_of_unit, rows.n_rows), notes, strict=True)]


def _mean_parts(found: GreedyMatches, groups: Positions, n_groups: int, prefix: str = "") -> list[dict[str, float]]:
    columns = [group_means(getattr(found, part), groups, n_groups).tolist() for part in _PARTS]
    return [dict(zip((prefix + part for part in _PARTS), row, strict=True)) for row in zip(*columns, strict=True)]


def _add_reference_details(notes: list[dict[str, Any]], alike: GreedyMatches, rows: TextRows, best: Positions) -> None:
    """Add the maxima of P, R, fine and coarse over the references, and the index of the most similar reference."""
    n_units = len(rows.units)
    maxima = GreedyMatches(*(group_maxima(getattr(alike, part), rows.pairs[0], n_units)[0] for part in _PARTS))
    full: Floats = np.append(alike.full, np.nan)[best]
    numbers = best_references(rows, full, best)
    parts = _mean_parts(maxima, rows.row_of_unit, rows.n_rows, "reference_")
    for note, number, part in zip(notes, numbers, parts, strict=True):
        note |= {"best_reference": number, **part}
