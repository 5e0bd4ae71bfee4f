"""The head of Polos in tensors of torch, with the dropout of a training; scores are those of `encoders.rated.head`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from vlgauge.encoders.rated.head import EPSILON, features, mixed

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
