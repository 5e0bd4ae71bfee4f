"""Features that replace images: ``{"text": {word: vector}, "images": [...], "scores": ...}``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError

Floats = npt.NDArray[np.float64]


def check_features(entry: Any, words: Sequence[str], place: str, *, unit: str) -> None:
    """Check the form of an entry, and that it contains the vectors of all words.

    Raises:
        ValueError: If it is invalid.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("text"), Mapping) or "images" not in entry:
        form = f"{{'text': {{{unit}: vector}}, 'images': [vectors of the regions, one array per image]}}"
        raise UsageError.about(place, f"must be {form}, got {type(entry).__name__}")
    missing = [word for word in words if word not in entry["text"]]
    if missing:
        raise UsageError.about(place, f"must have a text vector for each scored {unit}, got none for {missing[0]!r}")


def images_of(entry: Mapping[str, Any], place: str) -> list[tuple[Any, Any]]:
    """Return the vectors of the regions of each image, and their scores or None, unchanged.

    Raises:
        ValueError: If there is no image, or not one list of scores per image.
    """
    images = entries_of(entry["images"], f"{place}['images']")
    if not images:
        raise UsageError.about(place, "must have the regions of at least one image, got none")
    scores = [None] * len(images) if entry.get("scores") is None else entries_of(entry["scores"], f"{place}['scores']")
    if len(scores) != len(images):
        raise UsageError.about(place, f"must have one list of scores per image, got {len(scores)} for {len(images)}")
    return list(zip(images, scores, strict=True))


def entries_of(value: Any, place: str) -> list[Any]:
    """Convert an array or another iterable to a list.

    Returns:
        The entries, unchanged.

    Raises:
        ValueError: If the value is not iterable, or is a string, bytes or a mapping.
    """
    try:
        if not isinstance(value, (str, bytes, Mapping)):
            return list(value)
    except TypeError:
        pass
    raise UsageError.about(place, f"must be a list or an array, got {type(value).__name__}")


def unit_vectors(vectors: Any, place: str, *, width: int | None = None, names: Sequence[Any] | None = None) -> Floats:
    """Return vectors divided by their Euclidean norm, without overflow or underflow.

    Args:
        vectors: Vectors, shape ``(n, d)``.
        place: Position in the input, for messages.
        width: Expected d, if known.
        names: Name of each vector for messages. None for its index.

    Returns:
        L2-normalized vectors, shape ``(n, d)``, float64.

    Raises:
        ValueError: If the vectors have another shape, or contain NaN, infinity or a zero vector.
    """
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):  # such as a tensor with a gradient or on another device
        raise UsageError.about(
            place, "must be vectors of numbers of the same dimension, got rows of different lengths or types"
        ) from None
    if rows.ndim and not len(rows):
        return np.zeros((0, width or 0))
    if rows.ndim != 2 or not rows.size or (width is not None and rows.shape[1] != width):
        wanted = "" if width is None else f" {width}, like the previous ones"
        raise UsageError.about(place, f"must be vectors of one dimension{wanted}, got shape {rows.shape}")
    largest = np.abs(rows).max(axis=1)
    usable = np.isfinite(largest) & (largest > 0)
    if not usable.all():
        worst = int(np.flatnonzero(~usable)[0])
        name = worst if names is None else names[worst]
        which = f"for {name!r}" if isinstance(name, str) else f"in row {name}"
        raise UsageError.about(place, f"must be finite and not zero, got {rows[worst][:4].tolist()} {which}")
    # Scale first, because squares of very large or small numbers overflow or underflow.
    scaled = rows / largest[:, None]
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
