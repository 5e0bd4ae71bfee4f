"""Encoders, each loaded once per process and shared by every metric; nothing is built at import.

A metric sees an encoder only through a small protocol, such as `TextEncoder`. That is the seam where a test puts a fake
and a user puts another model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from vlgauge.media.pictures import Picture
from vlgauge.progress import Progress

__all__ = ["ImageTextEncoder", "TextEncoder", "TextHidden"]


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


@dataclass(frozen=True)
class TextHidden:
    """Texts as an encoder of images and texts sees them, before its projection.

    Attributes:
        end: Vectors of the end tokens, shape ``(n_texts, width)``, float32.
        truncated: Which texts were longer than the encoder takes, shape ``(n_texts,)``.
        tokens: Vectors of every token of each text, shapes ``(n_tokens, width)``, where asked for.
        ids: Ids of the tokens of each text, shapes ``(n_tokens,)``, start and end included.
    """

    end: np.ndarray
    truncated: np.ndarray
    tokens: list[np.ndarray] | None = None
    ids: list[np.ndarray] = field(default_factory=list)


@runtime_checkable
class ImageTextEncoder(Protocol):
    """What pac_s, clip_s and groovist need of CLIP.

    Rows follow the input; its order and its duplicates change no bit of a row that is computed anew, on one machine
    with the same libraries and as many threads.

    Attributes:
        identity: Architecture and digest of the weights, for signatures.
        architecture: Name of the architecture.
    """

    identity: str
    architecture: str

    def image_hidden(
        self,
        pictures: Sequence[Picture],
        *,
        adapter: Any = None,
        batch_size: int = 64,
        on_error: Literal["raise", "nan"] = "raise",
        progress: Progress = None,
    ) -> np.ndarray:
        """Vectors of the pictures before the projection, shape ``(n_pictures, width)``, float32.

        With ``on_error="nan"`` the row of a picture that cannot be read is NaN.
        """
        ...

    def text_hidden(
        self,
        texts: Sequence[str],
        *,
        prompt: str = "",
        tokens: bool = False,
        batch_size: int = 64,
        progress: Progress = None,
    ) -> TextHidden:
        """Vectors of the texts before the projection; every text is read behind the prompt."""
        ...

    def project(self, hidden: np.ndarray, side: Literal["image", "text"], adapter: Any = None) -> np.ndarray:
        """Vectors after the projection, shape ``(n, embed_width)``, float32, not normalised."""
        ...
