"""Rounds of AdamW: some iterations followed by the validation loss, until it stops falling."""

import argparse
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch

from vlgauge.core.errors import UsageError
from vlgauge.core.progress import progress_bar
from vlgauge.research.training.loop import Figures, Progressed, TrainingCheckpoint, train
from vlgauge.research.training.pac_s.data import Indices
from vlgauge.research.training.pac_s.learners import Learner
from vlgauge.research.training.pac_s.losses import Losses
from vlgauge.research.training.pac_s.options import checkpoint_of

LOSS = "validation_total"


def train_learner(
    learner: Learner,
    batches: Iterator[Indices],
    validation: Sequence[Indices],
    options: argparse.Namespace,
    identity: str,
    report: Callable[[Progressed], object],
) -> Progressed:
    """Train until the loss stops falling, resuming an interrupted run, and restore the best parameters.

    Args:
        learner: Learner, trained in place.
        batches: Batches of row indices, shape ``(n,)`` each, of all iterations, beginning with the first one even if a
            run is resumed.
        validation: Batches of indices of validation rows.
        options: Options of the recipe: learning rate, duration and output.
        identity: Fingerprint of data, base and settings.
        report: Called after each round. The first call reports the base.

    Returns:
        The progress at the end.

    Raises:
        ValueError: If a loss is not finite, or the checkpoint belongs to another run.
    """
    parameters = dict(sorted(learner.parameters.items()))
    optimizer = torch.optim.AdamW(parameters.values(), lr=options.learning_rate, weight_decay=options.weight_decay)
    best = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    tensors = {f"best/{name}": tensor for name, tensor in best.items()}
    tensors |= {f"now/{name}": parameter.detach() for name, parameter in parameters.items()}
    rounds = 1 + math.ceil(options.max_iterations / options.validate_every)
    patience = math.ceil(options.patience / options.validate_every)

    def keep() -> None:
        for name, tensor in best.items():
            tensor.copy_(parameters[name].detach())

    with progress_bar(options.max_iterations, "Training") as advance:
        position = 0

        def one_round(state: Progressed) -> Figures:
            nonlocal position
            start, before = time.monotonic(), state.rounds[-1] if state.rounds else None
            done, seconds, means = 0, 0.0, {}
            if before is not None:
                first = int(before["iteration"])
                done, seconds = min(first + options.validate_every, options.max_iterations), before["seconds"]
                # A resumed run skips the batches of the earlier one.
                some = islice(batches, first - position, done - position)
                means = train_batches(learner, optimizer, some, first)
            loss = validation_loss(learner, validation)
            advance(done - position)
            position = done
            taken = round(seconds + time.monotonic() - start, 3)
            return {"iteration": done, **means, LOSS: loss, "seconds": taken}

        checkpoint = TrainingCheckpoint(checkpoint_of(options.out), identity, tensors, optimizer)
        state = train(checkpoint, one_round, rounds=rounds, patience=patience, loss=LOSS, keep=keep, report=report)
    with torch.no_grad():
        for name, tensor in best.items():
            parameters[name].copy_(tensor)
    return state


def train_batches(
    learner: Learner, optimizer: torch.optim.Optimizer, batches: Iterable[Indices], first: int
) -> Figures:
    """Train on some batches and return the mean of each loss by name.

    Args:
        learner: Learner, trained in place.
        optimizer: Optimizer of its parameters.
        batches: Batches of row indices, shape ``(n,)`` each, at least one.
        first: Number of iterations before the first batch.

    Raises:
        ValueError: If a loss is not finite.
    """
    sums = torch.zeros(len(Losses._fields), dtype=torch.float64)
    for iteration, rows in enumerate(batches, first + 1):
        losses = learner.losses(rows)
        if not torch.isfinite(losses.total):
            raise UsageError.about(
                "--learning-rate",
                f"must keep the loss finite, got {losses.total.item()} at iteration {iteration}",
                "try a smaller one",
            )
        optimizer.zero_grad(set_to_none=True)
        losses.total.backward()
        optimizer.step()
        learner.clamp_scale()
        sums += torch.stack([loss.detach().double().cpu() for loss in losses])
    means = (sums / (iteration - first)).tolist()
    return {f"train_{name}": mean for name, mean in zip(Losses._fields, means, strict=True)}


def validation_loss(learner: Learner, batches: Sequence[Indices]) -> float:
    """Compute the mean loss over the rows of the batches, index arrays of shape ``(n,)``."""
    with torch.no_grad():
        losses = [learner.losses(rows).total.item() for rows in batches]
    return float(np.average(losses, weights=[len(rows) for rows in batches]))
