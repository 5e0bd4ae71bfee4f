"""The training loop of the paper: Adam, a learning rate that falls by 5 % per epoch, the best epoch kept."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.encoders.pairs.classifier import class_probabilities
from vlgauge.progress import Progress, progress_bar
from vlgauge.writing import replacing, write

from .pairs import IN_ORDER, Encoded, batches, by_length

STATE, RECORD = "state.safetensors", "state.json"
SCORING_BATCH = 128


@dataclass(frozen=True)
class Recipe:
    """How to train; the defaults are the paper's, Appendix A.

    Attributes:
        learning_rate: Of the first epoch.
        decay: Factor of the learning rate after each epoch.
        weight_decay: Of Adam, added to the gradient.
        batch_size: Samples per step.
        epochs: At most so many.
        patience: Stop after so many epochs without a lower validation loss.
        seed: Of the order of the samples and of dropout.
    """

    learning_rate: float = 1e-5
    decay: float = 0.95
    weight_decay: float = 1e-5
    batch_size: int = 32
    epochs: int = 50
    patience: int = 5
    seed: int = 0


@dataclass
class Progressed:
    """Where a training stands.

    Attributes:
        epochs: Loss and accuracy of each epoch so far.
        best: Position of the epoch with the lowest validation loss; -1 before the first.
    """

    epochs: list[dict[str, float]] = field(default_factory=list)
    best: int = -1

    def add(self, found: dict[str, float]) -> bool:
        """Take an epoch; True if it is the best so far."""
        self.epochs.append(found)
        better = self.best < 0 or found["validation_loss"] < self.epochs[self.best]["validation_loss"]
        self.best = len(self.epochs) - 1 if better else self.best
        return better

    def finished(self, recipe: Recipe) -> bool:
        """Whether all epochs are done, or none was better for too long."""
        done = len(self.epochs)
        return done >= recipe.epochs or (done > 0 and done - 1 - self.best >= recipe.patience)


def train(
    model: Any,
    training: Encoded,
    validation: Encoded,
    recipe: Recipe,
    folder: Path,
    *,
    pad: int,
    device: str,
    keep: Callable[[Any, Progressed], None],
    say: Callable[[str], None],
    progress: Progress = None,
) -> Progressed:
    """Train until the recipe ends, from where an earlier run in the folder was interrupted.

    Args:
        model: A classifier with two logits; trained in place.
        training: Samples to learn from.
        validation: Samples that choose the epoch.
        recipe: How.
        folder: Of the state of an interrupted run, read and written.
        pad: Id of the padding token.
        device: Of torch.
        keep: Called with the model after each epoch that is the best so far.
        say: Called with a line per epoch.
        progress: See `vlgauge.progress`.
    """
    import torch

    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    torch.manual_seed(recipe.seed)
    state = resumed(folder, model, optimizer, recipe)
    # From now on the output is that of an unfinished run, which needs no leave to go on.
    folder.mkdir(parents=True, exist_ok=True)
    while not state.finished(recipe):
        epoch, start = len(state.epochs), time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * recipe.decay**epoch
        trained = run_epoch(model, training, optimizer, recipe, epoch, pad=pad, device=device, progress=progress)
        loss, accuracy = evaluated(model, validation, pad=pad, device=device)
        seconds = time.perf_counter() - start
        found = {**trained, "validation_loss": loss, "validation_accuracy": accuracy, "seconds": round(seconds, 1)}
        if state.add(found):
            keep(model, state)
        save_state(folder, model, optimizer, state, recipe)
        say(
            f"epoch {epoch + 1}: " + ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in found.items())
        )
    return state


def run_epoch(
    model: Any,
    data: Encoded,
    optimizer: Any,
    recipe: Recipe,
    epoch: int,
    *,
    pad: int,
    device: str,
    progress: Progress = None,
) -> dict[str, float]:
    """One pass over the samples in a random order; mean cross-entropy (Eq. 6) and accuracy on the way."""
    import torch

    model.train()
    # From seed and epoch alone, so that a resumed run sees the same order.
    order = np.random.default_rng([recipe.seed, epoch]).permutation(len(data))
    total, right = 0.0, 0
    with progress_bar(len(data), f"Epoch {epoch + 1}", progress) as advance:
        for batch in batches(data, recipe.batch_size, order, pad):
            labels = batch["labels"]
            tensors = {name: torch.from_numpy(values).to(device) for name, values in batch.items()}
            target = tensors.pop("labels")
            logits = model(**tensors).logits
            loss = torch.nn.functional.cross_entropy(logits, target)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            right += int((logits.argmax(dim=1) == target).sum())
            advance(len(labels))
    return {"training_loss": total / len(data), "training_accuracy": right / len(data)}


def logits_of(model: Any, data: Encoded, *, pad: int, device: str) -> npt.NDArray[np.float64]:
    """Logits of all samples in their order, shape ``(n, 2)``."""
    import torch

    model.eval()
    order = by_length(data)
    found = []
    with torch.no_grad():
        for batch in batches(data, SCORING_BATCH, order, pad):
            tensors = {name: torch.from_numpy(batch[name]).to(device) for name in batch if name != "labels"}
            found.append(model(**tensors).logits.float().cpu().numpy())
    logits = np.empty((len(data), 2))
    logits[order] = np.concatenate(found)
    return logits


def evaluated(model: Any, data: Encoded, *, pad: int, device: str) -> tuple[float, float]:
    """Mean cross-entropy and accuracy, without dropout."""
    logits = logits_of(model, data, pad=pad, device=device)
    margin = np.where(data.labels == IN_ORDER, 1.0, -1.0) * (logits[:, 1] - logits[:, 0])
    return float(np.logaddexp(0.0, -margin).mean()), float((margin > 0).mean())


def ordered_above_swapped(model: Any, data: Encoded, *, pad: int, device: str) -> float:
    """Share of the pairs whose probability in order is above that of the same two sentences swapped.

    The samples alternate between the two, as `samples` makes them.
    """
    probabilities = class_probabilities(logits_of(model, data, pad=pad, device=device), IN_ORDER)
    return float((probabilities[0::2] > probabilities[1::2]).mean())


def save_state(folder: Path, model: Any, optimizer: Any, state: Progressed, recipe: Recipe) -> None:
    """Write what a resumed run needs: tensors and JSON, nothing that can run code; the record last."""
    import torch
    from safetensors.torch import save_file

    tensors = {f"model.{name}": value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    for number, slots in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{name}": value.detach().cpu().contiguous() for name, value in slots.items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    epoch = len(state.epochs)
    # A new name per epoch: an interruption leaves the tensors that the record names.
    name = f"{epoch:03d}-{STATE}"
    with replacing(folder / name) as part:
        save_file(tensors, part)
    text = json.dumps({"tensors": name, "recipe": asdict(recipe), **asdict(state)}, indent=2)
    write(folder / RECORD, text + "\n")
    for old in folder.glob(f"*-{STATE}"):
        if old.name != name:
            old.unlink()


def resumed(folder: Path, model: Any, optimizer: Any, recipe: Recipe) -> Progressed:
    """The state in a folder, put into model, optimizer and random generator; a new one if there is none.

    Raises:
        ValueError: If it comes from another recipe or model.
    """
    if not (folder / RECORD).is_file():
        return Progressed()
    import torch
    from safetensors.torch import load_file

    record = json.loads((folder / RECORD).read_text("utf-8"))
    own = asdict(recipe) | {"epochs": 0, "patience": 0}
    if record["recipe"] | {"epochs": 0, "patience": 0} != own:
        raise ValueError(f"`recipe` must be that of the interrupted run in {str(folder)!r}, or remove that folder")
    tensors = load_file(folder / record["tensors"])
    weights = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"`model` must be that of the interrupted run in {str(folder)!r}, got another one") from error
    slots: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("adam."):
            _, number, slot = name.split(".", 2)
            slots.setdefault(int(number), {})[slot] = value
    optimizer.load_state_dict({"state": slots, "param_groups": optimizer.state_dict()["param_groups"]})
    torch.set_rng_state(tensors["random.cpu"])
    if "random.cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["random.cuda"])
    return Progressed(record["epochs"], record["best"])
