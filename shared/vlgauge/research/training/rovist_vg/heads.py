"""Heads of rovist_vg in training: model, loss (Wang et al., 2022, Algorithm 1), epochs and checkpoint."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import log_softmax, softmax

from vlgauge.checkpoints.files import hub_folder
from vlgauge.checkpoints.reading import read_tensors
from vlgauge.checkpoints.tensors import write_tensors
from vlgauge.core.errors import UsageError, WeightsNotFoundError
from vlgauge.core.progress import progress_bar
from vlgauge.core.writing import write
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.models.clip.pixels import decode_batches, stack_squares
from vlgauge.models.grounding.model import CONFIG, FORMAT, WEIGHTS
from vlgauge.models.grounding.vit import VIT_NAME, VIT_REVISION, build_vit, pixel_values, vit_row
from vlgauge.research.training.options import Recipe

SHARE_OF_TRAINING = 0.85


def grounding_net(image_encoder: Any, image_width: int, text_width: int, width: int) -> torch.nn.ModuleDict:
    """Create the untrained model, without an image encoder if its embeddings are precomputed.

    Returns:
        Modules ``image_head`` and ``text_head``, and ``image_encoder`` if there is one.
    """
    encoder = {} if image_encoder is None else {"image_encoder": image_encoder}
    heads = {"image_head": torch.nn.Linear(image_width, width), "text_head": torch.nn.Linear(text_width, width)}
    return torch.nn.ModuleDict(encoder | heads)


def embeddings(net: Any, images: torch.Tensor, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the embeddings of images and phrases after tanh, not normalized.

    Args:
        net: Result of `grounding_net`.
        images: Pixels, shape ``(n, 3, size, size)``, or embeddings before the head, shape ``(n, image_width)``, if the
            model has no image encoder.
        vectors: Vectors of the phrases, shape ``(n, text_width)``.

    Returns:
        Embeddings of images and phrases, shape ``(n, width)`` each.
    """
    hidden = net.image_encoder(images).pooler_output if "image_encoder" in net else images
    return torch.tanh(net.image_head(hidden)), torch.tanh(net.text_head(vectors))


def load_pretrained_vit(path: str | None) -> Any:
    """Load the initial vision transformer with gradients enabled.

    Args:
        path: File or folder. None loads the published one.

    Returns:
        A `transformers.ViTModel`.

    Raises:
        WeightsNotFoundError: If the file does not exist.
        ValueError: If the file does not contain a ViT.
    """
    if path is None:
        folder = hub_folder(VIT_NAME, VIT_REVISION, ("model.safetensors",), "or pass its folder as --vit")
    else:
        folder = Path(path).expanduser()
    file = folder / "model.safetensors" if folder.is_dir() else folder
    if not file.is_file():
        raise WeightsNotFoundError.about(
            "--vit", f"must be a file or folder with the weights of a vision transformer, got {path!r}"
        )
    tensors = {name.removeprefix("vit."): tensor for name, tensor in read_tensors(file).items()}
    own = {name: tensor for name, tensor in tensors.items() if not name.startswith("classifier.")}
    vit = build_vit(own, str(file))
    return vit.requires_grad_(True).train()


# -- Loss -------------------------------------------------------------------------------------------------------------
def symmetric_loss(image: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
    """Compute (L_text + L_image) / 2 with soft targets from the similarities within each side.

        logits = T Iᵀ;  Y = softmax over the last axis of (I Iᵀ + T Tᵀ) / 2
        L_text = mean over rows of -sum_j Y_ij log_softmax(logits)_ij
        L_image = mean over rows of -sum_j (Yᵀ)_ij log_softmax(logitsᵀ)_ij

    Gradients also flow through Y. The embeddings are not normalized, and the temperature is 1.

    Args:
        image: I, shape ``(m, d)``, after tanh.
        text: T, shape ``(m, d)``, after tanh. Row i belongs to row i of `image`.
    """
    logits = text @ image.T
    targets = softmax((image @ image.T + text @ text.T) / 2, dim=-1)
    of_text = -(targets * log_softmax(logits, dim=-1)).sum(dim=-1).mean()
    of_image = -(targets.T * log_softmax(logits.T, dim=-1)).sum(dim=-1).mean()
    return (of_text + of_image) / 2


# -- Pairs ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class DecodedRegions:
    """Images that are opened when they are needed."""

    images: Sequence[LazyImage]
    size: int

    def __getitem__(self, rows: Sequence[int]) -> torch.Tensor:
        """Return the pixels of these pairs.

        Raises:
            ValueError: If an image cannot be read.
        """
        with decode_batches([self.images[i] for i in rows], vit_row(0, self.size), len(rows)) as batches:
            (squares,) = batches
        return pixel_values(torch.from_numpy(stack_squares(squares)))


@dataclass(frozen=True)
class PairSide:
    """Pairs of training or validation.

    Attributes:
        images: Regions of all pairs, as pixels or as precomputed embeddings of a frozen encoder.
        vectors: Word vectors of all phrases, shape ``(n, text_width)``.
        rows: Indices of the pairs on this side.
    """

    images: torch.Tensor | DecodedRegions
    vectors: torch.Tensor
    rows: np.ndarray

    def batches(self, order: np.ndarray, size: int) -> list[np.ndarray]:
        """Divide the rows into batches in the order `order`.

        A last batch with a single pair is left out, because it has no negatives.

        Args:
            order: Permutation of the rows, shape ``(n,)``.
            size: Maximum number of pairs per batch.

        Returns:
            Indices of the pairs of each batch, shape ``(size,)`` or shorter.
        """
        rows = self.rows[order]
        return [rows[i : i + size] for i in range(0, len(rows), size) if len(rows[i : i + size]) > 1]


def split_by_image(images: Sequence[str], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the pairs into training and validation, with all pairs of an image on the same side.

    Returns:
        Indices of the pairs for training and for validation, ascending, of shapes ``(n_training,)`` and
        ``(n_validation,)``.

    Raises:
        ValueError: If there are fewer than two images.
    """
    names = sorted(set(images))
    if len(names) < 2:
        raise UsageError(f"the pairs must have at least two images, got {len(names)}")
    order = np.random.default_rng([seed, 3]).permutation(len(names))
    n_training = min(len(names) - 1, max(1, round(SHARE_OF_TRAINING * len(names))))
    training = {names[i] for i in order[:n_training]}
    inside = np.array([name in training for name in images])
    return np.flatnonzero(inside), np.flatnonzero(~inside)


# -- Epochs -----------------------------------------------------------------------------------------------------------
def check_sides(training: PairSide, validation: PairSide, recipe: Recipe) -> None:
    """Check that batches and both sides have at least two pairs, so that there are negatives.

    Raises:
        ValueError: If they have fewer.
    """
    if recipe.batch_size < 2:
        raise UsageError(f"a batch must have at least two pairs, got {recipe.batch_size}")
    for name, side in (("training", training), ("validation", validation)):
        if len(side.rows) < 2:
            raise UsageError(f"the {name} split must have at least two pairs, got {len(side.rows)}; pass more images")


def run_epoch(net: torch.nn.Module, side: PairSide, optimizer: Any, recipe: Recipe, epoch: int, device: str) -> float:
    """Train on all pairs in a random order and return the mean loss of the batches."""
    net.train()
    # The order depends on seed and epoch alone, so that a resumed run uses the same order.
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


def validation_loss(net: torch.nn.Module, side: PairSide, recipe: Recipe, device: str) -> float:
    """Compute the mean loss of the batches in a fixed order."""
    net.eval()
    order = np.random.default_rng([recipe.seed, 2**20]).permutation(len(side.rows))
    with torch.no_grad():
        losses = [loss_of(net, side, rows, device).item() for rows in side.batches(order, recipe.batch_size)]
    return float(np.mean(losses))


def loss_of(net: torch.nn.Module, side: PairSide, rows: np.ndarray, device: str) -> torch.Tensor:
    """Compute the loss of a batch of pairs.

    Args:
        net: The model.
        side: Inputs of the pairs.
        rows: Indices of the pairs, shape ``(n,)``.
        device: Torch device.

    Returns:
        Scalar tensor.
    """
    return symmetric_loss(*embeddings(net, side.images[rows.tolist()].to(device), side.vectors[rows].to(device)))


def save_checkpoint(folder: Path, net: Any, config: Mapping[str, Any], *, half: bool) -> None:
    """Write the weights as safetensors, and the configuration.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / WEIGHTS, net.state_dict(), half=half)
    widths = {
        "image_width": net.image_head.in_features,
        "text_width": net.text_head.in_features,
        "width": net.image_head.out_features,
    }
    write(folder / CONFIG, json.dumps({"format": FORMAT, **config, **widths, "activation": "tanh"}, indent=2) + "\n")
