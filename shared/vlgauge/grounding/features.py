"""Features that the caller gives in place of pictures: ``{"text": {word: vector}, "images": [...], "scores": ...}``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.errors import UsageError
from vlgauge.settings import listed

Floats = npt.NDArray[np.float64]


def per_story(value: Any, n_stories: int, name: str) -> list[Any]:
    """Per-call data as a list with one entry per story."""
    entries = listed(value)
    if entries is None or len(entries) != n_stories:
        got = type(value).__name__ if entries is None else len(entries)
        raise UsageError.about(name, f"must have one entry per story, {n_stories} in all, got {got}")
    return entries


def check_features(entry: Any, words: Sequence[str], place: str, *, unit: str) -> None:
    """Refuse an entry that has another form, or lacks the vector of a word."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("text"), Mapping) or "images" not in entry:
        form = f"{{'text': {{{unit}: vector}}, 'images': [vectors of the regions, one array per image]}}"
        raise UsageError.about(place, f"must be {form}, got {type(entry).__name__}")
    missing = [word for word in words if word not in entry["text"]]
    if missing:
        raise UsageError.about(place, f"must have a text vector for each scored {unit}, got none for {missing[0]!r}")


def images_of(entry: Mapping[str, Any], place: str) -> list[tuple[Any, Any]]:
    """Vectors of the regions of each image, and their scores or None, as they were given."""
    images = entries_of(entry["images"], f"{place}['images']")
    if not images:
        raise UsageError.about(place, "must have the regions of at least one image, got none")
    scores = [None] * len(images) if entry.get("scores") is None else entries_of(entry["scores"], f"{place}['scores']")
    if len(scores) != len(images):
        raise UsageError.about(place, f"must have one list of scores per image, got {len(scores)} for {len(images)}")
    return list(zip(images, scores, strict=True))


def entries_of(value: Any, place: str) -> list[Any]:
    """The entries of a list or an array."""
    try:
        if not isinstance(value, (str, bytes, Mapping)):
            return list(value)
    except TypeError:
        pass
    raise UsageError.about(place, f"must be a list or an array, got {type(value).__name__}")


def unit_vectors(vectors: Any, place: str, *, width: int | None = None, names: Sequence[Any] | None = None) -> Floats:
    """The vectors divided by their lengths, however small or large these are.

    Args:
        vectors: shape ``(n, d)``.
        place: Where they stand, for messages.
        width: d, if it is known.
        names: What each is called, for messages; by default its number.
    """
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):  # of a tensor that has a gradient, or is on another device
        raise UsageError.about(place, "must be vectors of numbers, of one width, got something else") from None
    if rows.ndim and not len(rows):
        return np.zeros((0, width or 0))
    if rows.ndim != 2 or not rows.size or (width is not None and rows.shape[1] != width):
        wanted = "" if width is None else f" {width}, as those before"
        raise UsageError.about(place, f"must be vectors of one width{wanted}, got shape {rows.shape}")
    largest = np.abs(rows).max(axis=1)
    usable = np.isfinite(largest) & (largest > 0)
    if not usable.all():
        worst = int(np.flatnonzero(~usable)[0])
        name = worst if names is None else names[worst]
        which = f"for {name!r}" if isinstance(name, str) else f"in row {name}"
        raise UsageError.about(place, f"must be finite and not zero, got {rows[worst][:4].tolist()} {which}")
    # Squares of very large or small numbers leave the range of floats.
    scaled = rows / largest[:, None]
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
