"""An epoch of the training of rovist_vg: in-batch contrast; and the loss on the validation pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vlgauge.errors import UsageError
from vlgauge.progress import progress_bar
from vlgauge.training.loop import Recipe
from vlgauge.training.rovist_vg.loss import symmetric_loss
from vlgauge.training.rovist_vg.model import embeddings
from vlgauge.training.rovist_vg.sides import Side

if TYPE_CHECKING:
    import torch


def check_sides(training: Side, validation: Side, recipe: Recipe) -> None:
    """Refuse what has nothing to tell apart."""
    if recipe.batch_size < 2:
        raise UsageError(f"a batch must have at least two pairs to tell apart, got {recipe.batch_size}")
    for name, side in (("training", training), ("validation", validation)):
        if len(side.rows) < 2:
            raise UsageError(f"the {name} side must have at least two pairs, got {len(side.rows)}; give more images")


def run_epoch(net: torch.nn.Module, side: Side, optimizer: Any, recipe: Recipe, epoch: int, device: str) -> float:
    """One pass in a random order; mean loss of its batches."""
    net.train()
    # From seed and epoch alone, so that a resumed run sees the same order.
    order = np.random.default_rng([recipe.seed, epoch]).permutation(len(side.rows))
    losses = []
    with progress_bar(len(order), f"Epoch {epoch + 1}") as advance:
        for rows in side.batches(order, recipe.batch_size):
            loss = loss_of(net, side, rows, device)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            advance(len(rows))
    return float(np.mean(losses))


def validation_loss(net: torch.nn.Module, side: Side, recipe: Recipe, device: str) -> float:
    """Mean loss of batches in an order that is always the same."""
    import torch

    net.eval()
    order = np.random.default_rng([recipe.seed, 2**20]).permutation(len(side.rows))
    with torch.no_grad():
        losses = [loss_of(net, side, rows, device).item() for rows in side.batches(order, recipe.batch_size)]
    return float(np.mean(losses))


def loss_of(net: torch.nn.Module, side: Side, rows: np.ndarray, device: str) -> torch.Tensor:
    """The loss of a batch of pairs."""
    return symmetric_loss(*embeddings(net, side.images[rows.tolist()].to(device), side.vectors[rows].to(device)))
