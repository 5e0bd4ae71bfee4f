"""Model and training loop: in-batch contrast, Adam, a rate that falls by 5 % per epoch, the best epoch kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from vlgauge.encoders.clip.pixels import decoded_batches
from vlgauge.encoders.grounding.vit import VIT_NAME, VIT_REVISION, build_vit, pixel_values, vit_row
from vlgauge.media.pictures import Picture
from vlgauge.progress import Progress, progress_bar
from vlgauge.training.rovist_c.loop import Progressed, Recipe, resumed, save_state
from vlgauge.weights.files import WeightsNotFound, hub_folder
from vlgauge.weights.reading import read_tensors

from .loss import symmetric_loss

SHARE_OF_TRAINING = 0.85


@dataclass(frozen=True)
class GroundingRecipe(Recipe):
    """How to train, and on what: an interrupted run goes on with the same pairs only.

    Attributes:
        data: Digest of pairs, word vectors and image encoder.
    """

    data: str = ""


DEFAULTS = GroundingRecipe(learning_rate=5e-5, batch_size=64, patience=3)


class GroundingNet(torch.nn.Module):
    """Both sides: an image encoder or None where its vectors are given, and a head each."""

    def __init__(self, image_encoder: Any, image_width: int, text_width: int, width: int) -> None:
        super().__init__()
        self.image_encoder = image_encoder
        self.image_head = torch.nn.Linear(image_width, width)
        self.text_head = torch.nn.Linear(text_width, width)

    def forward(self, images: torch.Tensor, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeddings of images (pixels, or vectors before the head) and of phrases, after tanh, not normalised."""
        hidden = images if self.image_encoder is None else self.image_encoder(images).pooler_output
        return torch.tanh(self.image_head(hidden)), torch.tanh(self.text_head(vectors))


class Images(Protocol):
    """What is fed to the image side."""

    def __getitem__(self, places: Sequence[int]) -> torch.Tensor:
        """Of these pairs."""
        ...


@dataclass(frozen=True)
class Given:
    """Vectors of a frozen encoder, made beforehand."""

    hidden: torch.Tensor

    def __getitem__(self, places: Sequence[int]) -> torch.Tensor:
        """Of these pairs."""
        return self.hidden[list(places)]


@dataclass(frozen=True)
class Decoded:
    """Pictures that are opened when they are needed."""

    pictures: Sequence[Picture]
    size: int

    def __getitem__(self, places: Sequence[int]) -> torch.Tensor:
        """Of these pairs; ValueError if a picture cannot be read."""
        (squares,) = decoded_batches([self.pictures[i] for i in places], vit_row(0, self.size), len(places))
        for square in squares:
            if isinstance(square, ValueError):
                raise square
        return pixel_values(
            torch.from_numpy(np.stack([square for square in squares if isinstance(square, np.ndarray)]))
        )


@dataclass(frozen=True)
class Side:
    """Training or validation pairs.

    Attributes:
        images: Regions.
        vectors: Word vectors of the phrases, shape ``(n, text_width)``.
        places: Which of the pairs are on this side.
    """

    images: Images
    vectors: torch.Tensor
    places: np.ndarray

    def batches(self, order: np.ndarray, size: int) -> list[np.ndarray]:
        """Places in that order, in batches; a last one of a single pair has nothing to be told from and is left out."""
        places = self.places[order]
        return [places[i : i + size] for i in range(0, len(places), size) if len(places[i : i + size]) > 1]


def split_by_image(images: Sequence[str], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of the pairs to train on and to validate with; all pairs of an image are on one side.

    Raises:
        ValueError: If there are fewer than two images.
    """
    names = sorted(set(images))
    if len(names) < 2:
        raise ValueError(f"the pairs must be of at least two images, got {len(names)}")
    order = np.random.default_rng([seed, 3]).permutation(len(names))
    n_training = min(len(names) - 1, max(1, round(SHARE_OF_TRAINING * len(names))))
    training = {names[i] for i in order[:n_training]}
    inside = np.array([name in training for name in images])
    return np.flatnonzero(inside), np.flatnonzero(~inside)


def train(
    net: GroundingNet,
    training: Side,
    validation: Side,
    recipe: Recipe,
    folder: Path,
    *,
    device: str,
    keep: Callable[[GroundingNet], None],
    say: Callable[[str], None],
    progress: Progress = None,
) -> Progressed:
    """Train until the recipe ends, from where an earlier run in the folder was interrupted.

    Args:
        net: Trained in place.
        training: Pairs to learn from.
        validation: Pairs that choose the epoch.
        recipe: How.
        folder: Of the state of an interrupted run, read and written.
        device: Of torch.
        keep: Called with the model after each epoch that is the best so far.
        say: Called with a line per epoch.
        progress: See `vlgauge.progress`.

    Raises:
        ValueError: If a side or a batch has fewer than two pairs, or the interrupted run is of another recipe.
    """
    if recipe.batch_size < 2:
        raise ValueError(f"a batch must have at least two pairs to tell apart, got {recipe.batch_size}")
    for name, side in (("training", training), ("validation", validation)):
        if len(side.places) < 2:
            raise ValueError(f"the {name} side must have at least two pairs, got {len(side.places)}; give more images")
    net.to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    torch.manual_seed(recipe.seed)
    state = resumed(folder, net, optimizer, recipe)
    # From now on the output is that of an unfinished run, which needs no leave to go on.
    folder.mkdir(parents=True, exist_ok=True)
    while not state.finished(recipe):
        epoch, start = len(state.epochs), time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * recipe.decay**epoch
        trained = _run_epoch(net, training, optimizer, recipe, epoch, device, progress)
        loss = validation_loss(net, validation, recipe, device)
        seconds = round(time.perf_counter() - start, 1)
        if state.add({"training_loss": trained, "validation_loss": loss, "seconds": seconds}):
            keep(net)
        save_state(folder, net, optimizer, state, recipe)
        say(f"epoch {epoch + 1}: training loss {trained:.4f}, validation loss {loss:.4f}")
    return state


def _run_epoch(
    net: GroundingNet, side: Side, optimizer: Any, recipe: Recipe, epoch: int, device: str, progress: Progress
) -> float:
    """One pass in a random order; mean loss of its batches."""
    net.train()
    # From seed and epoch alone, so that a resumed run sees the same order.
    order = np.random.default_rng([recipe.seed, epoch]).permutation(len(side.places))
    losses = []
    with progress_bar(len(order), f"Epoch {epoch + 1}", progress) as advance:
        for places in side.batches(order, recipe.batch_size):
            loss = symmetric_loss(*net(side.images[places.tolist()].to(device), side.vectors[places].to(device)))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            advance(len(places))
    return float(np.mean(losses))


def validation_loss(net: GroundingNet, side: Side, recipe: Recipe, device: str) -> float:
    """Mean loss of batches in an order that is always the same."""
    net.eval()
    order = np.random.default_rng([recipe.seed, 2**20]).permutation(len(side.places))
    with torch.no_grad():
        losses = [
            symmetric_loss(*net(side.images[places.tolist()].to(device), side.vectors[places].to(device))).item()
            for places in side.batches(order, recipe.batch_size)
        ]
    return float(np.mean(losses))


def pretrained_vit(path: str | None) -> Any:
    """The vision transformer that the training starts from, with gradients.

    Args:
        path: File, or folder with ``model.safetensors``; None for the published one.

    Raises:
        WeightsNotFound: If it is not on this machine and cannot be fetched.
        ValueError: If it is no vision transformer.
    """
    if path is None:
        folder = hub_folder(VIT_NAME, VIT_REVISION, ("model.safetensors",), "or give its folder as --vit")
    else:
        folder = Path(path).expanduser()
    file = folder / "model.safetensors" if folder.is_dir() else folder
    if not file.is_file():
        raise WeightsNotFound(
            f"`--vit` must be a file or folder with the weights of a vision transformer, got {path!r}"
        )
    tensors = {name.removeprefix("vit."): tensor for name, tensor in read_tensors(file).items()}
    vit = build_vit({name: tensor for name, tensor in tensors.items() if not name.startswith("classifier.")})
    return vit.requires_grad_(True).train()
