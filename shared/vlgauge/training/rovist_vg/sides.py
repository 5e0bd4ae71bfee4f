"""Training and validation pairs as the model takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from vlgauge.encoders.clip.pixels import decoded_batches
from vlgauge.encoders.grounding.vit import pixel_values, vit_row
from vlgauge.errors import UsageError
from vlgauge.media.pictures import Picture

if TYPE_CHECKING:
    import torch

SHARE_OF_TRAINING = 0.85


@dataclass(frozen=True)
class Given:
    """Vectors of a frozen encoder, made beforehand."""

    hidden: torch.Tensor

    def __getitem__(self, rows: Sequence[int]) -> torch.Tensor:
        """Of these pairs."""
        return self.hidden[list(rows)]


@dataclass(frozen=True)
class Decoded:
    """Pictures that are opened when they are needed."""

    pictures: Sequence[Picture]
    size: int

    def __getitem__(self, rows: Sequence[int]) -> torch.Tensor:
        """Of these pairs; ValueError if a picture cannot be read."""
        import torch

        with decoded_batches([self.pictures[i] for i in rows], vit_row(0, self.size), len(rows)) as batches:
            (squares,) = batches
        for square in squares:
            if isinstance(square, ValueError):
                raise square
        return pixel_values(
            torch.from_numpy(np.stack([square for square in squares if isinstance(square, np.ndarray)]))
        )


Images: TypeAlias = Given | Decoded


@dataclass(frozen=True)
class Side:
    """Training or validation pairs.

    Attributes:
        images: Regions of all pairs.
        vectors: Word vectors of all phrases, shape ``(n, text_width)``.
        rows: Which of the pairs are on this side.
    """

    images: Images
    vectors: torch.Tensor
    rows: np.ndarray

    def batches(self, order: np.ndarray, size: int) -> list[np.ndarray]:
        """Rows in that order, in batches; a last one of a single pair has nothing to be told from and is left out."""
        rows = self.rows[order]
        return [rows[i : i + size] for i in range(0, len(rows), size) if len(rows[i : i + size]) > 1]


def split_by_image(images: Sequence[str], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the pairs to train on and to validate with; all pairs of an image are on one side."""
    names = sorted(set(images))
    if len(names) < 2:
        raise UsageError(f"the pairs must be of at least two images, got {len(names)}")
    order = np.random.default_rng([seed, 3]).permutation(len(names))
    n_training = min(len(names) - 1, max(1, round(SHARE_OF_TRAINING * len(names))))
    training = {names[i] for i in order[:n_training]}
    inside = np.array([name in training for name in images])
    return np.flatnonzero(inside), np.flatnonzero(~inside)
