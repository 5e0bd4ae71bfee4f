"""Checks of the keywords of an encoder, which the base of the metrics cannot lend because it imports encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a word that is not one of its choices; ValueError lists them."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_batch_size(value: Any) -> None:
    """Refuse a batch that is no whole number of at least one item."""
    if not hasattr(value, "__index__") or isinstance(value, bool) or int(value) < 1:
        raise ValueError(f"`batch_size` must be a whole number of at least 1, got {value!r}")
