"""Unit vectors of pictures, texts and tokens, from the features that all heads of one CLIP share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from vlgauge.clip_score.formula import Positions, Vectors, unit_rows
from vlgauge.encoders import ImageTextEncoder
from vlgauge.encoders.clip.tokens import Ids, n_seen
from vlgauge.media.pictures import Picture
from vlgauge.progress import Progress


@dataclass(frozen=True)
class ClipVectors:
    """A CLIP with its own heads or with those of a checkpoint."""

    encoder: ImageTextEncoder
    adapter: Any = None
    batch_size: int = 64
    progress: Progress = None

    def images(
        self, pictures: Sequence[Picture], on_error: Literal["raise", "nan"]
    ) -> tuple[Vectors, npt.NDArray[np.bool_]]:
        """Unit vectors of pictures, shape ``(n, d)``, and which could not be read, whose rows are NaN.

        Without pictures d is 0.
        """
        if not pictures:
            return np.zeros((0, 0), np.float32), np.zeros(0, dtype=bool)
        hidden = self.encoder.image_hidden(
            pictures, adapter=self.adapter, batch_size=self.batch_size, on_error=on_error, progress=self.progress
        )
        return unit_rows(self.encoder.project(hidden, "image", self.adapter)), np.isnan(hidden).any(axis=1)

    def texts(self, texts: Sequence[str], prompt: str) -> Vectors:
        """Unit vectors of the end tokens of texts behind a prompt, shape ``(n, d)``."""
        hidden = self.encoder.text_hidden(texts, prompt=prompt, batch_size=self.batch_size, progress=self.progress)
        return unit_rows(self.encoder.project(hidden.end, "text", self.adapter))

    def tokens(self, texts: Sequence[str]) -> tuple[Vectors, Positions, list[Ids]]:
        """Unit vectors of the tokens of texts, one after the other, the number of each text, and the ids of each.

        They end with the first end token of their text, as those of EMScore do.
        """
        hidden = self.encoder.text_hidden(texts, tokens=True, batch_size=self.batch_size, progress=self.progress)
        assert hidden.tokens is not None  # asked for
        sizes = np.array([n_seen(ids) for ids in hidden.ids], dtype=np.intp)
        seen = [vectors[:size] for vectors, size in zip(hidden.tokens, sizes, strict=True)]
        rows = self.encoder.project(np.concatenate(seen), "text", self.adapter)
        return unit_rows(rows), sizes, [ids[:size] for ids, size in zip(hidden.ids, sizes, strict=True)]
