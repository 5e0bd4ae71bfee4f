"""Features that the caller gives in place of pictures: ``{"text": {word: vector}, "images": [...], "scores": ...}``."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any


def check_features(entry: Any, words: Sequence[str], place: str, *, form: str, unit: str) -> None:
    """Refuse an entry that has another form, or lacks the vector of a word.

    Args:
        entry: Features of one story.
        words: What is scored.
        place: Where the entry stands, for messages.
        form: What it should look like, for messages.
        unit: What the words are called, for messages.

    Raises:
        ValueError: If it is no such mapping, or a word has no vector.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("text"), Mapping) or "images" not in entry:
        raise ValueError(f"`{place}` must be {form}, got {type(entry).__name__}")
    missing = [word for word in words if word not in entry["text"]]
    if missing:
        raise ValueError(f"`{place}` must have a text vector for each {unit}, got none for {missing[0]!r}")


def images_of(entry: Mapping[str, Any], place: str) -> list[tuple[Any, Any]]:
    """Vectors of the regions of each image, and their scores or None, as they were given.

    Raises:
        ValueError: If there is no image, or not one list of scores per image.
    """
    images = entries_of(entry["images"], f"{place}['images']")
    if not images:
        raise ValueError(f"`{place}` must have the regions of at least one image, got none")
    scores = [None] * len(images) if entry.get("scores") is None else entries_of(entry["scores"], f"{place}['scores']")
    if len(scores) != len(images):
        raise ValueError(f"`{place}` must have one list of scores per image, got {len(scores)} for {len(images)}")
    return list(zip(images, scores, strict=True))


def entries_of(value: Any, place: str) -> list[Any]:
    """The entries of a list or an array.

    Raises:
        ValueError: If it is neither.
    """
    try:
        if not isinstance(value, (str, bytes, Mapping)):
            return list(value)
    except TypeError:
        pass
    raise ValueError(f"`{place}` must be a list or an array, got {type(value).__name__}")
