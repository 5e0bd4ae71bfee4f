"""Encoders of images and texts, loaded once per process and shared by all metrics. Importing builds no model.

Metrics use encoders only through small protocols, such as `TextEncoder`, so that tests can pass a fake and users
another model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from vlgauge.core.progress import Progress
from vlgauge.inputs.images.lazy_images import LazyImage

__all__ = ["ImageTextEncoder", "TextEncoder", "TextHiddenStates"]


@runtime_checkable
class TextEncoder(Protocol):
    """Protocol for sentence encoders.

    Attributes:
        identity: Name of the encoder and digest of its weights, used in signatures.
    """

    identity: str

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Encode texts.

        Args:
            texts: The texts.
            batch_size: Number of texts per forward pass.
            progress: Progress bar setting. See `vlgauge.core.progress`.

        Returns:
            Embeddings in the order of the texts, shape ``(n_texts, d)``, float32.
        """
        ...


@dataclass(frozen=True)
class TextHiddenStates:
    """Outputs of the text tower of an image-text encoder, before its projection.

    Attributes:
        end: Hidden states of the end tokens, shape ``(n_texts, width)``, float32.
        truncated: Whether each text was longer than the context of the encoder, shape ``(n_texts,)``.
        tokens: Hidden states of every token of each text, shapes ``(n_tokens, width)``. None if not requested.
        ids: Token ids of each text, shapes ``(n_tokens,)``, including start and end token.
    """

    end: np.ndarray
    truncated: np.ndarray
    tokens: list[np.ndarray] | None = None
    ids: list[np.ndarray] = field(default_factory=list)


@runtime_checkable
class ImageTextEncoder(Protocol):
    """Protocol for image-text encoders such as CLIP.

    Outputs are in the order of the inputs. Every newly computed row is bitwise independent of the order of the inputs
    and of duplicates, on the same machine with the same libraries and number of threads.

    Attributes:
        identity: Name of the architecture and digest of the weights, used in signatures.
        architecture: Name of the architecture.
    """

    identity: str
    architecture: str

    def image_hidden(
        self,
        images: Sequence[LazyImage],
        *,
        adapter: Any = None,
        batch_size: int = 64,
        on_error: Literal["raise", "nan"] = "raise",
        progress: Progress = None,
    ) -> np.ndarray:
        """Encode images, without the projection.

        Args:
            images: The images.
            adapter: Replacement of the projection, which affects these outputs only for some architectures.
            batch_size: Number of images per forward pass.
            on_error: ``"raise"``, or ``"nan"`` to return NaN for images that cannot be read.
            progress: Progress bar setting. See `vlgauge.core.progress`.

        Returns:
            Hidden states in the order of the images, shape ``(n_images, width)``, float32.
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
    ) -> TextHiddenStates:
        """Encode texts, each with the prompt before it, without the projection.

        Args:
            texts: The texts.
            prompt: Text to insert before every text.
            tokens: Whether to return the hidden states of all tokens.
            batch_size: Number of texts of full length per forward pass.
            progress: Progress bar setting. See `vlgauge.core.progress`.
        """
        ...

    def project(self, hidden: np.ndarray, side: Literal["image", "text"], adapter: Any = None) -> np.ndarray:
        """Project hidden states.

        Args:
            hidden: Hidden states, shape ``(n, width)``.
            side: ``"image"`` or ``"text"``.
            adapter: Replacement of the projection. None for the projection of the encoder.

        Returns:
            Embeddings, shape ``(n, embed_width)``, float32, not normalized.
        """
        ...
