"""The head of Polos in torch, and the rated rows as its input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vlgauge.encoders.clip.loading import ClipEncoder
from vlgauge.encoders.hidden_layers import LayeredEncoder
from vlgauge.encoders.rated.head import EPSILON, features, mixed, normalised_layers
from vlgauge.encoders.rated.models import clip_texts
from vlgauge.training.polos.ratings import Rated
from vlgauge.training.row_files import number_distinct

if TYPE_CHECKING:
    import torch

# What the authors' code puts in the place of the share of a dropped layer, before the softmax.
_DROPPED = -1e20


@dataclass(frozen=True)
class RandomKeeps:
    """Dropout by torch's random numbers, drawn anew at each call, of layers and units by their chances."""

    p_layers: float
    p_units: float

    def layers(self, n: int) -> torch.Tensor | None:
        """Which layers of a batch of texts are kept, shape ``(n,)``; None for all."""
        import torch

        return torch.rand(n) >= self.p_layers if self.p_layers else None

    def units(self, values: torch.Tensor) -> torch.Tensor:
        """The units of a linear layer, those that are dropped as 0 and the others divided by the share kept."""
        import torch

        return torch.nn.functional.dropout(values, self.p_units)


@dataclass(frozen=True)
class References:
    """References of which each row has at most one, such as the first ones: a batch of texts.

    Attributes:
        rows: The rows that have one, shape ``(n,)``.
        layers: Normalised layers, shape ``(n, n_layers, width)``.
        clip: By CLIP, shape ``(n, embed)``.
    """

    rows: torch.Tensor
    layers: torch.Tensor
    clip: torch.Tensor


def new_network(n_layers: int, n_in: int, hidden: Sequence[int]) -> torch.nn.Module:
    """A module with the shares of the layers, and three linear layers."""
    import torch

    network = torch.nn.Module()
    network.scalars = torch.nn.Parameter(torch.zeros(n_layers))
    network.gamma = torch.nn.Parameter(torch.ones(1))
    sizes = [n_in, *hidden, 1]
    network.linear = torch.nn.ModuleList([torch.nn.Linear(a, b) for a, b in pairwise(sizes)])
    return network


def _mixed(network: Any, layers: torch.Tensor, keeps: RandomKeeps | None) -> torch.Tensor:
    """Vectors of a batch of texts, shape ``(n, width)``."""
    import torch

    scalars = network.scalars
    kept = keeps.layers(len(scalars)) if keeps is not None else None
    if kept is not None:
        scalars = scalars.masked_fill(~kept.to(scalars.device), _DROPPED)
    return mixed(layers, torch.softmax(scalars, 0), network.gamma)


def scores_of(
    network: Any,
    candidates: torch.Tensor,
    references: Sequence[References],
    v: torch.Tensor,
    c: torch.Tensor,
    keeps: RandomKeeps | None = None,
) -> torch.Tensor:
    """Scores of n rows, each with at least one reference, shape ``(n,)``.

    Args:
        network: From `new_network`.
        candidates: Normalised layers, shape ``(n, n_layers, width)``.
        references: First references, second ones, and so on.
        v: Pictures by CLIP, shape ``(n, embed)``.
        c: Candidates by CLIP, shape ``(n, embed)``.
        keeps: What dropout keeps; None for everything.
    """
    import torch

    t = _mixed(network, candidates, keeps)
    texts = [_mixed(network, group.layers, keeps) for group in references]
    values = []
    for group, r in zip(references, texts, strict=True):
        rows = group.rows
        x = torch.cat(features(t[rows], r, v[rows], c[rows], group.clip), dim=1)
        for linear in network.linear[:-1]:
            x = torch.tanh(linear(x))
            x = x if keeps is None else keeps.units(x)
        own = torch.full((len(t),), -torch.inf, device=x.device, dtype=x.dtype)
        values.append(own.index_put((rows,), torch.sigmoid(network.linear[-1](x))[:, 0]))
    return torch.stack(values).max(dim=0).values


def tensors_of(network: Any) -> dict[str, np.ndarray]:
    """The parameters by the names of the authors' checkpoint."""
    found = {f"scalar_mix.scalar_parameters.{i}": value for i, value in enumerate(network.scalars[:, None])}
    found["scalar_mix.gamma"] = network.gamma
    for number, linear in enumerate(network.linear, 1):
        found |= {f"ff.0.ff.linear_{number}.{kind}": value for kind, value in linear.named_parameters()}
    return {name: value.detach().cpu().numpy().copy() for name, value in found.items()}


def squared_error(scores: torch.Tensor, ratings: torch.Tensor) -> torch.Tensor:
    """Sum of the squared differences of scores and ratings in [0, 1], as in the authors' code."""
    return ((scores - ratings) ** 2).sum()


def normalised_batch(hidden: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    """Layers of the first tokens, normalised over all tokens of a batch, shape ``(n, n_layers, width)``.

    What `vlgauge.encoders.rated.head.normalised_layers` makes of a batch, in tensors.

    Args:
        hidden: Layers of every token, shape ``(n_layers, n, n_tokens, width)``.
        there: Which tokens are there, shape ``(n, n_tokens)``.
    """
    inside = there[None, :, :, None]
    import torch

    n_numbers = there.sum() * hidden.shape[-1]
    means = (hidden * inside).sum((1, 2, 3), keepdim=True) / n_numbers
    squares = ((hidden - means) ** 2 * inside).sum((1, 2, 3)) / n_numbers
    normal: Any = (hidden[:, :, 0] - means[:, :, 0]) / torch.sqrt(squares + EPSILON)[:, None, None]
    return normal.transpose(0, 1)


# -- Rated rows as tensors --------------------------------------------------------------------------------------------
Positions = npt.NDArray[np.int64]


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
            texts = np.array([own[row][number] for row in there], dtype=np.int64)
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

    said = [[row.caption, *row.references] for row in rows]
    every = [text for texts in said for text in texts]
    of_texts, seen = number_distinct(every)
    distinct = [every[number] for number in seen]
    numbers = np.split(of_texts, np.cumsum([len(texts) for texts in said])[:-1])
    image, seen = number_distinct([row.image.key for row in rows])
    v = clip.project(clip.image_hidden([rows[number].image for number in seen]), "image")
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
        np.array([own[0] for own in numbers]),
        image,
        [own[1:] for own in numbers],
        torch.tensor([row.rating for row in rows], dtype=torch.float32, device=device),
    )
