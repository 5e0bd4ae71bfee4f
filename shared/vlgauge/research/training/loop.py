"""Training loop with early stopping, which keeps the best round and can resume an interrupted run."""

import argparse
import hashlib
import io
import json
import math
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeAlias

import torch

from vlgauge.core.errors import UsageError
from vlgauge.core.writing import atomic_write
from vlgauge.research.training.options import INTERRUPTED, STATE, Recipe

_DIGEST_BYTES = 32  # SHA-256 of the rest of the file

Figures: TypeAlias = dict[str, float]


@dataclass
class Progressed:
    """Progress of a training.

    Attributes:
        rounds: Figures of each completed round, such as an epoch.
        best: Index of the round with the lowest loss. -1 before the first round.
    """

    rounds: list[Figures] = field(default_factory=list)
    best: int = -1

    def add(self, found: Figures, loss: str) -> bool:
        """Add a round, and return whether it is the best so far.

        Raises:
            ValueError: If the loss is not finite.
        """
        if not math.isfinite(found[loss]):
            raise UsageError.about(
                "--learning-rate",
                f"must keep the loss finite, got a {loss.replace('_', ' ')} of {found[loss]} in round "
                f"{len(self.rounds) + 1}",
                "try a smaller one",
            )
        self.rounds.append(found)
        better = self.best < 0 or found[loss] < self.rounds[self.best][loss]
        self.best = len(self.rounds) - 1 if better else self.best
        return better

    def is_finished(self, rounds: int, patience: int) -> bool:
        """Return whether all rounds are done, or none has improved for `patience` rounds."""
        done = len(self.rounds)
        return done >= rounds or (done > 0 and done - 1 - self.best >= patience)


@dataclass(frozen=True)
class TrainingCheckpoint:
    """State from which an interrupted run resumes with bitwise identical results.

    It is read as tensors, numbers and strings only, so it cannot run code.

    Attributes:
        file: File of the state, which is created or replaced atomically.
        identity: Data, base and settings. The state of a different training is rejected.
        tensors: Trained tensors by name, read and written in place.
        optimizer: Optimizer of these tensors.
    """

    file: Path
    identity: str
    tensors: Mapping[str, torch.Tensor]
    optimizer: torch.optim.Optimizer

    def save(self, state: Progressed) -> None:
        """Write tensors, optimizer moments, states of random generators, and figures.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        buffer = io.BytesIO()
        content = {
            "identity": self.identity,
            "tensors": {name: tensor.detach() for name, tensor in self.tensors.items()},
            "optimizer": self.optimizer.state_dict()["state"],
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
            "progressed": asdict(state),
        }
        torch.save(content, buffer)
        with atomic_write(self.file) as part, part.open("wb") as stream:
            # torch does not notice changed bytes.
            stream.write(hashlib.sha256(buffer.getbuffer()).digest())
            stream.write(buffer.getbuffer())

    def resume(self) -> Progressed:
        """Restore tensors, optimizer and random generators from the file.

        Returns:
            The progress in the file, or an empty one if the file does not exist.

        Raises:
            ValueError: If the file is damaged, or belongs to a training with other data, base or settings.
        """
        if not self.file.is_file():
            return Progressed()
        with self.file.open("rb") as stream:
            digest, content = stream.read(_DIGEST_BYTES), stream.read()
        if hashlib.sha256(content).digest() != digest:
            raise UsageError.about(
                str(self.file), "must be a complete and unmodified state of a training, got another file", "delete it"
            )
        saved = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        shapes = {name: tensor.shape for name, tensor in saved["tensors"].items()}
        if saved["identity"] != self.identity or shapes != {name: one.shape for name, one in self.tensors.items()}:
            raise UsageError.about(
                str(self.file),
                "must be the state of this training, got a state with other data, base or settings",
                "repeat the original command, or delete the file",
            )
        with torch.no_grad():
            for name, tensor in self.tensors.items():
                tensor.copy_(saved["tensors"][name])
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": saved["optimizer"], "param_groups": groups})
        torch.set_rng_state(saved["random"])
        if saved["random_cuda"] is not None and torch.cuda.is_available():
            torch.cuda.set_rng_state(saved["random_cuda"])
        return Progressed(**saved["progressed"])


def train(
    checkpoint: TrainingCheckpoint,
    one_round: Callable[[Progressed], Figures],
    *,
    rounds: int,
    patience: int,
    loss: str = "validation_loss",
    keep: Callable[[], object],
    report: Callable[[Progressed], object],
) -> Progressed:
    """Train until all rounds are done or the loss stops falling, resuming an interrupted run.

    Args:
        checkpoint: State of the run.
        one_round: Runs a round and returns its figures.
        rounds: Maximum number of rounds.
        patience: Number of rounds without a lower loss after which training stops.
        loss: Name of the figure that selects the best round.
        keep: Called after each round that is the best so far.
        report: Called after each round.

    Returns:
        The progress at the end.
    """
    state = checkpoint.resume()
    while not state.is_finished(rounds, patience):
        if state.add(one_round(state), loss):
            keep()
        checkpoint.save(state)
        report(state)
    return state


def train_epochs(
    model: torch.nn.Module,
    recipe: Recipe,
    run_epoch: Callable[[torch.optim.Optimizer, int], Figures],
    validated: Callable[[], Figures],
    options: argparse.Namespace,
    *,
    data: str,
    device: str,
    keep: Callable[[], object],
    say: Callable[[str], object],
) -> Progressed:
    """Train a model in place with Adam and a learning rate that decays after each epoch. See `train`.

    An interrupted run keeps its state in the folder `options.output`. It resumes only with the same `data`, and never
    with `options.restart`.

    Args:
        model: Model to train.
        recipe: Settings of the training.
        run_epoch: Runs an epoch with an optimizer and its index, and returns figures.
        validated: Returns figures of the validation, including ``validation_loss``.
        options: Options of the command.
        data: Digest of the data.
        device: Device of torch.
        keep: Called after each epoch that is the best so far.
        say: Called with a line after each epoch.

    Returns:
        The progress at the end.
    """
    if options.restart:
        shutil.rmtree(options.output / INTERRUPTED, ignore_errors=True)
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    torch.manual_seed(recipe.seed)
    # A resumed run may have other stopping criteria.
    identity = json.dumps({**asdict(recipe), "epochs": None, "patience": None, "data": data})
    checkpoint = TrainingCheckpoint(options.output / INTERRUPTED / STATE, identity, model.state_dict(), optimizer)

    def one_round(state: Progressed) -> Figures:
        epoch, start = len(state.rounds), time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * recipe.decay**epoch
        found = {**run_epoch(optimizer, epoch), **validated()}
        return {**found, "seconds": round(time.perf_counter() - start, 1)}

    def report(state: Progressed) -> None:
        figures = (f"{name.replace('_', ' ')} {value:.4g}" for name, value in state.rounds[-1].items())
        say(f"epoch {len(state.rounds)}: {', '.join(figures)}")

    # From now on the output counts as an unfinished run, which resumes without --overwrite.
    checkpoint.file.parent.mkdir(parents=True, exist_ok=True)
    return train(checkpoint, one_round, rounds=recipe.epochs, patience=recipe.patience, keep=keep, report=report)
