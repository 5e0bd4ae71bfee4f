"""L2-normalized embeddings of images, texts and tokens, from features shared by all projection heads of one CLIP."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from vlgauge.core.progress import Progress
from vlgauge.families.clip_score.formula import Positions, Vectors, unit_rows
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.models import ImageTextEncoder
from vlgauge.models.clip.tokens import Ids, n_seen


@dataclass(frozen=True)
class ClipVectors:
    """CLIP with its own projection heads, or with the heads of a checkpoint."""

    encoder: ImageTextEncoder
    adapter: Any = None
    batch_size: int = 64
    progress: Progress = None

    def images(
        self, lazy_images: Sequence[LazyImage], on_error: Literal["raise", "nan"]
    ) -> tuple[Vectors, npt.NDArray[np.bool_]]:
        """Encode images.

        Args:
            lazy_images: The images.
            on_error: ``"nan"`` returns NaN for unreadable images, ``"raise"`` raises.

        Returns:
            L2-normalized embeddings, shape ``(n, d)``, float32, NaN for unreadable images, and whether each image was
            unreadable, shape ``(n,)``. d is 0 if there are no images.
        """
        if not lazy_images:
            return np.zeros((0, 0), np.float32), np.zeros(0, dtype=bool)
        hidden = self.encoder.image_hidden(
            lazy_images, adapter=self.adapter, batch_size=self.batch_size, on_error=on_error, progress=self.progress
        )
        return unit_rows(self.encoder.project(hidden, "image", self.adapter)), np.isnan(hidden).any(axis=1)

    def texts(self, texts: Sequence[str], prompt: str) -> Vectors:
        """Encode texts after a prompt, and return L2-normalized embeddings of the end tokens, shape ``(n, d)``."""
        hidden = self.encoder.text_hidden(texts, prompt=prompt, batch_size=self.batch_size, progress=self.progress)
        return unit_rows(self.encoder.project(hidden.end, "text", self.adapter))

    def tokens(self, texts: Sequence[str]) -> tuple[Vectors, Positions, list[Ids]]:
        """Encode the tokens of texts. The tokens end with the first end token of their text, as in EMScore.

        Returns:
            L2-normalized embeddings of all tokens, text by text, shape ``(n_tokens, d)``, the number of tokens of each
            text, shape ``(n_texts,)``, and the token ids of each text.
        """
        hidden = self.encoder.text_hidden(texts, tokens=True, batch_size=self.batch_size, progress=self.progress)
        assert hidden.tokens is not None  # requested above
        sizes = np.array([n_seen(ids) for ids in hidden.ids], dtype=np.intp)
        seen = [vectors[:size] for vectors, size in zip(hidden.tokens, sizes, strict=True)]
        rows = self.encoder.project(np.concatenate(seen), "text", self.adapter)
        return unit_rows(rows), sizes, [ids[:size] for ids, size in zip(hidden.ids, sizes, strict=True)]
