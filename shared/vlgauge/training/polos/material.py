"""Rated rows as tensors: what the frozen encoders make of them, once, or anew at each step with their dropout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vlgauge.encoders.clip.loading import ClipEncoder
from vlgauge.encoders.hidden_layers import LayeredEncoder
from vlgauge.encoders.rated.head import normalised_layers
from vlgauge.encoders.rated.models import clip_texts
from vlgauge.media.pictures import Picture
from vlgauge.training.polos.network import RandomKeeps, References, normalised_batch, scores_of
from vlgauge.training.polos.ratings import Rated

if TYPE_CHECKING:
    import torch

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Material:
    """Rated rows as positions among texts and pictures.

    Attributes:
        text: The encoder of the layers.
        ids: Tokens of each text for it.
        layers: Normalised layers of each text, shape ``(n_texts, n_layers, width)``; None where they are made at each
            step.
        clip_texts: By CLIP, shape ``(n_texts, embed)``.
        pictures: By CLIP, shape ``(n_pictures, embed)``.
        caption: Text of each row, shape ``(n,)``.
        image: Picture of each row, shape ``(n,)``.
        references: Texts of the references of each row.
        ratings: In [0, 1], shape ``(n,)``.
    """

    text: LayeredEncoder
    ids: list[np.ndarray]
    layers: torch.Tensor | None
    clip_texts: torch.Tensor
    pictures: torch.Tensor
    caption: Positions
    image: Positions
    references: list[Positions]
    ratings: torch.Tensor

    def scores(self, network: torch.nn.Module, rows: Positions, keeps: RandomKeeps | None) -> torch.Tensor:
        """Scores of a batch of rows, shape ``(n,)``; `keeps` is what dropout keeps, None for everything."""
        own = [self.references[row] for row in rows]
        counts = np.array([len(references) for references in own])
        # The authors' code takes as many of each row as the row with the fewest has.
        n_groups = counts.min() if self.layers is None else counts.max()
        groups = []
        candidates = self._layers(self.caption[rows], keeps is not None)
        for number in range(n_groups):
            there = np.flatnonzero(counts > number)
            texts = np.array([own[row][number] for row in there], dtype=np.intp)
            layers = self._layers(texts, keeps is not None)
            groups.append(References(self._on_device(there), layers, self.clip_texts[texts]))
        v, c = self.pictures[self.image[rows]], self.clip_texts[self.caption[rows]]
        return scores_of(network, candidates, groups, v, c, keeps)

    def _layers(self, texts: Positions, dropout: bool) -> torch.Tensor:
        """Normalised layers of a batch of texts: those known, or over the batch, with the encoder's own dropout."""
        if self.layers is not None:
            return self.layers[texts]
        self.text.model.train(dropout)
        try:
            return normalised_batch(*self.text.hidden([self.ids[text] for text in texts])).clone()
        finally:
            self.text.model.eval()

    def _on_device(self, positions: Positions) -> torch.Tensor:
        import torch

        return torch.from_numpy(positions).to(self.clip_texts.device)


def material_of(
    rows: Sequence[Rated],
    clip: ClipEncoder,
    text: LayeredEncoder,
    variant: str,
    *,
    device: str,
) -> Material:
    """Encode every distinct text and picture of the rows once.

    The variant ``"itemwise"`` normalises layers over one text, known beforehand; ``"released"`` over the texts of a
    batch, with the encoder's dropout, so that it uses the encoder again at each step.
    """
    import torch

    texts: dict[str, int] = {}
    pictures: dict[Any, int] = {}
    seen: list[Picture] = []
    caption, image, references = np.empty(len(rows), np.intp), np.empty(len(rows), np.intp), []
    for number, row in enumerate(rows):
        caption[number] = texts.setdefault(row.caption, len(texts))
        references.append(np.array([texts.setdefault(one, len(texts)) for one in row.references], dtype=np.intp))
        image[number] = pictures.setdefault(row.image.key, len(pictures))
        if len(pictures) > len(seen):
            seen.append(row.image)
    distinct = list(texts)
    v = clip.project(clip.image_hidden(seen), "image")
    c = clip_texts(clip, distinct)
    layers = None
    if variant == "itemwise":
        step = 4096  # whose numbers are held in float64 at once
        parts = [
            normalised_layers(text.layers(distinct[start : start + step])).astype(np.float32)
            for start in range(0, len(distinct), step)
        ]
        layers = torch.from_numpy(np.concatenate(parts)).to(device)
    return Material(
        text,
        [np.array(ids, dtype=np.int32) for ids in text.token_ids(distinct)[0]],
        layers,
        torch.from_numpy(c).to(device),
        torch.from_numpy(v).to(device),
        caption,
        image,
        references,
        torch.tensor([row.rating for row in rows], dtype=torch.float32, device=device),
    )
