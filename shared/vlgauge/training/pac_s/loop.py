"""AdamW until the validation loss stops falling, with a log, and a checkpoint from which it goes on."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from vlgauge.progress import Progress, progress_bar
from vlgauge.training.pac_s.batches import BatchOrder
from vlgauge.training.pac_s.losses import Losses
from vlgauge.training.pac_s.material import Indices
from vlgauge.writing import replacing

FORMAT = "vlgauge-training-1"


class Learner(Protocol):
    """What is trained: tensors by name, and the loss that they have on some rows."""

    parameters: dict[str, torch.Tensor]

    def losses(self, rows: Indices) -> Losses: ...  # noqa: D102

    def after_step(self) -> None: ...  # noqa: D102


@dataclass(frozen=True)
class Schedule:
    """How long and how fast; the defaults are the paper's where it states them.

    Attributes:
        learning_rate: Of AdamW.
        weight_decay: Of AdamW; the paper does not state it.
        patience: Iterations without a fall of the validation loss after which training stops.
        validate_every: Iterations between two looks at the validation loss.
        max_iterations: Where training stops at the latest.
    """

    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    patience: int = 1_500
    validate_every: int = 100
    max_iterations: int = 100_000


@dataclass
class Standing:
    """Where a training stands, but for tensors and the order of batches."""

    iteration: int = 0
    best_iteration: int = 0
    best_loss: float = math.inf
    first_loss: float = math.inf
    seconds: float = 0.0
    log: list[dict[str, Any]] = field(default_factory=list)


class Training:
    """One training; `run` leaves the best parameters in the learner.

    Args:
        learner: What is trained.
        order: Batches of training rows.
        validation: Batches of validation rows.
        schedule: How long and how fast.
        checkpoint: File that is written at every validation.
        fingerprint: Digest of data, base and settings; a checkpoint of another one is refused.
    """

    def __init__(
        self,
        learner: Learner,
        order: BatchOrder,
        validation: Sequence[Indices],
        schedule: Schedule,
        checkpoint: Path,
        fingerprint: str,
    ) -> None:
        self.learner = learner
        self.schedule = schedule
        self.standing = Standing()
        self._order = order
        self._validation = validation
        self._checkpoint = checkpoint
        self._fingerprint = fingerprint
        self._names = sorted(learner.parameters)
        self._optimizer = torch.optim.AdamW(
            [learner.parameters[name] for name in self._names],
            lr=schedule.learning_rate,
            weight_decay=schedule.weight_decay,
        )
        self._best: dict[str, torch.Tensor] = {}

    def run(self, report: Callable[[Sequence[dict[str, Any]]], None], progress: Progress = None) -> Standing:
        """Train to the end.

        Args:
            report: Gets all lines of the log so far after every validation.
            progress: See `vlgauge.progress`.

        Raises:
            ValueError: If the loss is no longer finite.
        """
        started = time.monotonic() - self.standing.seconds
        if not self.standing.log:
            self._validate({}, started)
            report(self.standing.log)
        with progress_bar(self.schedule.max_iterations, "Training", progress) as advance:
            advance(self.standing.iteration)
            while not self._is_over():
                steps = min(self.schedule.validate_every, self.schedule.max_iterations - self.standing.iteration)
                self._validate(self._train(steps), started)
                self._save()
                report(self.standing.log)
                advance(steps)
        with torch.no_grad():
            for name, tensor in self._best.items():
                self.learner.parameters[name].copy_(tensor)
        return self.standing

    def _is_over(self) -> bool:
        now = self.standing
        waited = now.iteration - now.best_iteration
        return now.iteration >= self.schedule.max_iterations or waited >= self.schedule.patience

    def _train(self, steps: int) -> dict[str, float]:
        """Some iterations; returns the mean of the losses by name."""
        sums = torch.zeros(len(Losses._fields), dtype=torch.float64)
        for _ in range(steps):
            losses = self.learner.losses(next(self._order))
            self.standing.iteration += 1
            if not torch.isfinite(losses.total):
                raise ValueError(
                    f"`--learning-rate` must keep the loss finite, got {losses.total.item()} at iteration "
                    f"{self.standing.iteration}; try a smaller one"
                )
            self._optimizer.zero_grad(set_to_none=True)
            losses.total.backward()
            self._optimizer.step()
            self.learner.after_step()
            sums += torch.stack([loss.detach().double().cpu() for loss in losses])
        return dict(zip(Losses._fields, (sums / steps).tolist(), strict=True))

    def _validate(self, trained: dict[str, float], started: float) -> None:
        """Look at the validation loss, and remember parameters that are better than all before."""
        now = self.standing
        sizes = np.array([len(rows) for rows in self._validation])
        with torch.no_grad():
            losses = [self.learner.losses(rows).total.item() for rows in self._validation]
        loss = float(np.average(losses, weights=sizes))
        now.seconds = time.monotonic() - started
        if loss < now.best_loss:
            now.best_loss, now.best_iteration = loss, now.iteration
            self._best = {name: tensor.detach().clone() for name, tensor in self.learner.parameters.items()}
        if not now.log:
            now.first_loss = loss
        means = {f"train_{name}": value for name, value in trained.items()}
        now.log.append(
            {"iteration": now.iteration, **means, "validation_total": loss, "seconds": round(now.seconds, 3)}
        )

    def _save(self) -> None:
        from safetensors.torch import save_file

        tensors = {f"best/{name}": tensor.cpu().contiguous() for name, tensor in self._best.items()}
        for name in self._names:
            parameter = self.learner.parameters[name]
            tensors[f"now/{name}"] = parameter.detach().cpu().contiguous().clone()
            for moment in ("exp_avg", "exp_avg_sq"):
                tensors[f"{moment}/{name}"] = self._optimizer.state[parameter][moment].cpu().contiguous()
        standing = {**vars(self.standing), "epoch": self._order.epoch, "position": self._order.position}
        metadata = {"format": FORMAT, "fingerprint": self._fingerprint, "standing": json.dumps(standing)}
        with replacing(self._checkpoint) as part:
            save_file(tensors, part, metadata=metadata)

    def resume(self) -> None:
        """Stand where the checkpoint stands.

        Raises:
            ValueError: If it is of another training, or no checkpoint.
        """
        from safetensors import SafetensorError, safe_open

        try:
            opened = safe_open(self._checkpoint, framework="pt")
        except SafetensorError as error:
            raise ValueError(
                f"`--resume` must find a checkpoint, got {str(self._checkpoint)!r}, which cannot be read ({error}); "
                "delete the file"
            ) from error
        with opened as file:
            metadata = file.metadata() or {}
            if (metadata.get("format"), metadata.get("fingerprint")) != (FORMAT, self._fingerprint):
                raise ValueError(
                    f"`--resume` must find a checkpoint of the same data, base and settings, got another one in "
                    f"{str(self._checkpoint)!r}; repeat the command that began it, or delete the file"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
        standing = json.loads(metadata["standing"])
        self._order.go_to(standing.pop("epoch"), standing.pop("position"))
        self.standing = Standing(**standing)
        with torch.no_grad():
            for name in self._names:
                parameter = self.learner.parameters[name]
                parameter.copy_(tensors[f"now/{name}"])
                self._best[name] = tensors[f"best/{name}"].to(parameter.device)
                moments = {moment: tensors[f"{moment}/{name}"].to(parameter) for moment in ("exp_avg", "exp_avg_sq")}
                step = torch.tensor(float(self.standing.iteration))
                self._optimizer.state[parameter] = {"step": step, **moments}
