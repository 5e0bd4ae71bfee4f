"""Head of Polos in torch, and its inputs built from rated rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from vlgauge.models.clip.loading import ClipEncoder
from vlgauge.models.hidden_layers import AllLayersEncoder
from vlgauge.models.rated.head import EPSILON, features, mix_layers, normalize_layers
from vlgauge.models.rated.models import clip_texts
from vlgauge.research.training.polos.ratings import Rated
from vlgauge.research.training.row_files import number_distinct

# Value that replaces the scalar of a dropped layer before the softmax, as in the authors' code.
_DROPPED = -1e20


@dataclass(frozen=True)
class ReferenceBatch:
    """Batch of references with at most one per row, such as the first ones.

    Attributes:
        rows: Indices of the rows with such a reference, shape ``(n,)``.
        layers: Normalized layers, shape ``(n, n_layers, width)``.
        clip: CLIP embeddings, shape ``(n, embed)``.
    """

    rows: torch.Tensor
    layers: torch.Tensor
    clip: torch.Tensor


def new_network(
    n_layers: int, n_in: int, hidden: Sequence[int], *, layer_dropout: float = 0.0, dropout: float = 0.0
) -> torch.nn.Module:
    """Create a module with the layer weights and three linear layers.

    Args:
        n_layers: Number of layers of the text encoder.
        n_in: Number of features of a pair of texts and an image.
        hidden: Units of the first two linear layers.
        layer_dropout: Probability with which a layer of a batch of texts is dropped in training.
        dropout: Probability with which a unit of these linear layers is dropped in training.
    """
    network: Any = torch.nn.Module()
    network.scalars = torch.nn.Parameter(torch.zeros(n_layers))
    network.gamma = torch.nn.Parameter(torch.ones(1))
    sizes = [n_in, *hidden, 1]
    network.linear = torch.nn.ModuleList([torch.nn.Linear(a, b) for a, b in pairwise(sizes)])
    network.layer_dropout, network.dropout = layer_dropout, torch.nn.Dropout(dropout)
    return network


def _mix_embeddings(network: Any, layers: torch.Tensor) -> torch.Tensor:
    """Compute the embeddings of a batch of texts, shape ``(n, width)``."""
    scalars = network.scalars
    if network.training and network.layer_dropout:
        kept = torch.rand(len(scalars)) >= network.layer_dropout
        scalars = scalars.masked_fill(~kept.to(scalars.device), _DROPPED)
    return mix_layers(layers, torch.softmax(scalars, 0), network.gamma)


def scores_of(
    network: Any,
    candidates: torch.Tensor,
    references: Sequence[ReferenceBatch],
    v: torch.Tensor,
    c: torch.Tensor,
) -> torch.Tensor:
    """Compute the scores of n rows with at least one reference each, shape ``(n,)``.

    Args:
        network: Network created by `new_network`.
        candidates: Normalized layers, shape ``(n, n_layers, width)``.
        references: First references, second references, and so on.
        v: CLIP embeddings of the images, shape ``(n, embed)``.
        c: CLIP embeddings of the candidates, shape ``(n, embed)``.
    """
    t = _mix_embeddings(network, candidates)
    texts = [_mix_embeddings(network, group.layers) for group in references]
    values = []
    for group, r in zip(references, texts, strict=True):
        rows = group.rows
        x = torch.cat(features(t[rows], r, v[rows], c[rows], group.clip), dim=1)
        for linear in network.linear[:-1]:
            x = network.dropout(torch.tanh(linear(x)))
        own = torch.full((len(t),), -torch.inf, device=x.device, dtype=x.dtype)
        values.append(own.index_put((rows,), torch.sigmoid(network.linear[-1](x))[:, 0]))
    return torch.stack(values).max(dim=0).values


def tensors_of(network: Any) -> dict[str, np.ndarray]:
    """Return the parameters as arrays by the names in the authors' checkpoint, in their shapes."""
    found = {f"scalar_mix.scalar_parameters.{i}": value for i, value in enumerate(network.scalars[:, None])}
    found["scalar_mix.gamma"] = network.gamma
    for number, linear in enumerate(network.linear, 1):
        found |= {f"ff.0.ff.linear_{number}.{kind}": value for kind, value in linear.named_parameters()}
    return {name: value.detach().cpu().numpy().copy() for name, value in found.items()}


def compute_squared_error(scores: torch.Tensor, ratings: torch.Tensor) -> torch.Tensor:
    """Compute the sum of squared differences of scores and ratings in [0, 1], as in the authors' code.

    Both have the shape ``(n,)``. The result is a scalar.
    """
    return ((scores - ratings) ** 2).sum()


def normalize_batch(hidden: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    """Normalize the layers of the first tokens over all tokens of a batch, shape ``(n, n_layers, width)``.

    This is `vlgauge.models.rated.head.normalize_layers` for a batch in torch.

    Args:
        hidden: Layers of every token, shape ``(n_layers, n, n_tokens, width)``.
        there: Mask of valid tokens, shape ``(n, n_tokens)``.
    """
    inside = there[None, :, :, None]
    n_numbers = there.sum() * hidden.shape[-1]
    means = (hidden * inside).sum((1, 2, 3), keepdim=True) / n_numbers
    squares = ((hidden - means) ** 2 * inside).sum((1, 2, 3)) / n_numbers
    normal: Any = (hidden[:, :, 0] - means[:, :, 0]) / torch.sqrt(squares + EPSILON)[:, None, None]
    return normal.transpose(0, 1)


# -- Rated rows as tensors --------------------------------------------------------------------------------------------
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RatedMaterial:
    """Rated rows as indices of texts and images.

    Attributes:
        text: Encoder of the layers.
        ids: Token ids of each text for this encoder.
        layers: Normalized layers of each text, shape ``(n_texts, n_layers, width)``. None if they are computed at each
            step.
        clip_texts: CLIP embeddings of the texts, shape ``(n_texts, embed)``.
        images: CLIP embeddings of the images, shape ``(n_images, embed)``.
        caption: Text index of each row, shape ``(n,)``.
        image: Image index of each row, shape ``(n,)``.
        references: Text indices of the references of each row.
        ratings: Ratings in [0, 1], shape ``(n,)``.
    """

    text: AllLayersEncoder
    ids: list[np.ndarray]
    layers: torch.Tensor | None
    clip_texts: torch.Tensor
    images: torch.Tensor
    caption: Positions
    image: Positions
    references: list[Positions]
    ratings: torch.Tensor

    def scores(self, network: torch.nn.Module, rows: Positions) -> torch.Tensor:
        """Compute the scores of a batch of rows, shape ``(n,)``, with dropout if the network is in training mode."""
        own = [self.references[row] for row in rows]
        counts = np.array([len(references) for references in own])
        # The authors' code cuts all rows to the smallest number of references in the batch.
        n_groups = counts.min() if self.layers is None else counts.max()
        groups = []
        candidates = self._layers(self.caption[rows], network.training)
        for number in range(n_groups):
            there = np.flatnonzero(counts > number)
            texts = np.array([own[row][number] for row in there], dtype=np.int64)
            layers = self._layers(texts, network.training)
            groups.append(ReferenceBatch(self._on_device(there), layers, self.clip_texts[texts]))
        v, c = self.images[self.image[rows]], self.clip_texts[self.caption[rows]]
        return scores_of(network, candidates, groups, v, c)

    def _layers(self, texts: Positions, dropout: bool) -> torch.Tensor:
        """Return the normalized layers of a batch of texts, either precomputed or normalized over the batch.

        The latter applies the dropout of the encoder if `dropout` is True.
        """
        if self.layers is not None:
            return self.layers[texts]
        self.text.model.train(dropout)
        try:
            return normalize_batch(*self.text.hidden([self.ids[text] for text in texts])).clone()
        finally:
            self.text.model.eval()

    def _on_device(self, positions: Positions) -> torch.Tensor:
        return torch.from_numpy(positions).to(self.clip_texts.device)


def material_of(
    rows: Sequence[Rated],
    clip: ClipEncoder,
    text: AllLayersEncoder,
    variant: str,
    *,
    device: str,
) -> RatedMaterial:
    """Encode every distinct text and image of the rows once.

    The variant ``"itemwise"`` normalizes layers over each text, which can be precomputed. The variant ``"released"``
    normalizes them over the texts of a batch, with the dropout of the encoder, so it runs the encoder again at each
    step.
    """
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
        step = 4096  # number of texts in float64 at the same time
        parts = [
            normalize_layers(text.layers(distinct[start : start + step])).astype(np.float32)
            for start in range(0, len(distinct), step)
        ]
        layers = torch.from_numpy(np.concatenate(parts)).to(device)
    return RatedMaterial(
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
