"""Encoders, each loaded once per process and shared by every metric; nothing is built at import.

A metric sees an encoder only through a small protocol, such as `TextEncoder`. That is the seam where a test puts a fake
and a user puts another model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from typing import runtime_checkable

import numpy as np

from vlgauge.encoders.pool import EncoderPool
from vlgauge.encoders.pool import pool
from vlgauge.encoders.weights import WeightsNotFound
from vlgauge.progress import Progress

__all__ = ["EncoderPool", "TextEncoder", "WeightsNotFound", "pool"]


@runtime_checkable
class TextEncoder(Protocol):
    """What mmd_bert and its relatives need of a sentence encoder.

    Attributes:
        identity: Name and digest of the weights, for signatures.
    """

    identity: str

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Vectors of the texts, shape ``(n_texts, d)``, float32, in the order of the texts."""
        ...
