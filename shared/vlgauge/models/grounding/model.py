"""RoViST-VG model: an image head and a text head that embed regions and words in one space.

Our checkpoints are folders with ``model.safetensors`` and ``config.json``. The checkpoint of the authors is one file of
``torch.save``, of which only tensors and numbers are loaded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.checkpoints.files import sha256_of
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.checkpoints.reading import read_tensors
from vlgauge.checkpoints.torch_runtime import PAIR_PACKAGES, check_torch, resolve_device
from vlgauge.core.errors import UsageError, WeightsNotFoundError, as_setting
from vlgauge.core.files import DATA, read_json
from vlgauge.core.pool import pool
from vlgauge.core.progress import Progress
from vlgauge.core.signatures import local_name
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.models.clip.demo import DEMO_NAME
from vlgauge.models.clip.loading import ClipEncoder, clip_encoder, look_for_clip
from vlgauge.models.grounding.vit import VIT_NAME, VisionEncoder, build_vit

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]
ImageEncoder: TypeAlias = ClipEncoder | VisionEncoder

FORMAT = "vlgauge-grounding-1"
WEIGHTS, CONFIG = "model.safetensors", "config.json"
HEADS = ("image_head.weight", "image_head.bias", "text_head.weight", "text_head.bias")
EMBEDDED = DATA / "grounding"
EMBEDDED_NAME = "vlgauge-grounding"
VECTORS, IDF = "vectors.txt", "idf.json"
AUTHORS_FILE = "https://drive.google.com/file/d/10eudslypWf7p8DoA_vPrR8J-_niFyrR8/view"
AUTHORS_IDF = "https://drive.google.com/file/d/1Y-WQxuPBfCjXMhF2QNaL9DziY_6ZG7aR/view"

# Tensor names in the authors' file.
_IMAGE, _IMAGE_HEAD, _TEXT_HEAD = "image_encoder.image_model.", "image_encoder.linear.", "text_encoder.linear."


@dataclass(frozen=True)
class Heads:
    """Trained linear layers.

    Attributes:
        image_weight: Shape ``(d, image_width)``.
        image_bias: Shape ``(d,)``.
        text_weight: Shape ``(d, text_width)``.
        text_bias: Shape ``(d,)``.
    """

    image_weight: Floats
    image_bias: Floats
    text_weight: Floats
    text_bias: Floats

    def image(self, hidden: npt.ArrayLike) -> Floats:
        """Return L2-normalized embeddings of regions, shape ``(n, d)``."""
        return project_and_normalize(hidden, self.image_weight, self.image_bias)

    def text(self, vectors: npt.ArrayLike) -> Floats:
        """Return L2-normalized embeddings of words, shape ``(n, d)``."""
        return project_and_normalize(vectors, self.text_weight, self.text_bias)


def project_and_normalize(rows: npt.ArrayLike, weight: Floats, bias: Floats) -> Floats:
    """Compute tanh(x Wᵀ + b) and L2-normalize it (Wang et al., 2022, Section 3.1).

    Args:
        rows: x, shape ``(n, width)``.
        weight: W, shape ``(d, width)``.
        bias: b, shape ``(d,)``.

    Returns:
        Unit vectors, shape ``(n, d)``, float64. A vector of length 0 stays 0.

    Raises:
        ValueError: If the rows have another width or are not finite.
    """
    x = np.asarray(rows, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != weight.shape[1]:
        raise UsageError(
            f"the embeddings must have the shape (n, {weight.shape[1]}) of the head's input, got {x.shape}"
        )
    if not np.isfinite(x).all():
        raise UsageError("the embeddings must be finite, got NaN or infinity")
    hidden = np.tanh(x @ weight.T + bias)
    lengths = np.linalg.norm(hidden, axis=1, keepdims=True)
    return np.divide(hidden, lengths, out=np.zeros_like(hidden), where=lengths > 0)


class GroundingModel:
    """Trained heads and the image encoder.

    Attributes:
        identity: Name and digest of the checkpoint, used in signatures.
        heads: The two linear layers.
        vectors: Name and SHA-256 of the file of word vectors that the text head was trained with. None if unknown.
    """

    def __init__(self, heads: Heads, encoder: ImageEncoder, identity: str, vectors: Mapping[str, str] | None) -> None:
        self.identity = identity
        self.heads = heads
        self.vectors = vectors
        self._encoder = encoder

    def regions(self, images: Sequence[LazyImage], *, batch_size: int = 64, progress: Progress = None) -> Floats:
        """Return L2-normalized embeddings of regions, shape ``(n_images, d)``."""
        return self.heads.image(self._encoder.image_hidden(images, batch_size=batch_size, progress=progress))

    def words(self, vectors: npt.ArrayLike) -> Floats:
        """Return L2-normalized embeddings of words, shape ``(n, d)``, from their word vectors.

        Raises:
            ValueError: If the word vectors have another width than in the training of the checkpoint.
        """
        width = np.asarray(vectors).shape[-1]
        if width != self.heads.text_weight.shape[1]:
            raise UsageError.about(
                "glove_path",
                f"must name word vectors of dimension {self.heads.text_weight.shape[1]}, with which the "
                f"checkpoint {self.identity} was trained, got {width}",
            )
        return self.heads.text(vectors)


def grounding_model(
    checkpoint: str | os.PathLike[str] | None = None, *, profile: str = "paper", device: str = "auto"
) -> GroundingModel:
    """Return the model of a checkpoint, loaded once per process.

    Args:
        checkpoint: Folder written by `vlgauge train rovist_vg`, or the authors' file ``r2p_model_epoch2.pth.tar``. None
            for the demo model of synthetic scenes under the embedded profile.
        profile: "paper" or "embedded".
        device: ``"auto"``, or a torch device.

    Raises:
        WeightsNotFoundError: If there is no checkpoint. Untrained heads are never used for scoring.
        ValueError: If the checkpoint is invalid.
        ImportError: If a package is missing.
        RuntimeError: If this process was forked after torch had run. See `vlgauge.checkpoints.torch_runtime`.
    """
    check_torch("rovist_vg", PAIR_PACKAGES, "rovist-vg")
    path = checkpoint_path(checkpoint, profile)
    weights = path / WEIGHTS if path.is_dir() else path
    device = resolve_device(device)
    digests = (sha256_of(weights), sha256_of(path / CONFIG) if path.is_dir() else None)
    key = ("grounding", path == EMBEDDED, *digests, device)
    read = _read_folder if path.is_dir() else _read_authors
    return pool.get(key, lambda: read(path, device), "the grounding heads")


def look_for_model(preflight: Preflight, checkpoint: str | os.PathLike[str] | None, profile: str) -> None:
    """Make a preflight check the requirements of `grounding_model`."""
    preflight.need(PAIR_PACKAGES)
    preflight.look(lambda: checkpoint_path(checkpoint, profile))
    folder = EMBEDDED if checkpoint is None else Path(checkpoint).expanduser()
    if (checkpoint is None and profile != "embedded") or not (folder / CONFIG).is_file():
        return
    name = read_config(folder / CONFIG)["image_encoder"]
    if name == DEMO_NAME:
        look_for_clip(preflight, None, weights=None, profile="embedded")
    elif name != VIT_NAME:
        look_for_clip(preflight, name, weights=None, profile="paper")


def checkpoint_path(checkpoint: str | os.PathLike[str] | None, profile: str) -> Path:
    """Return the folder or file of a checkpoint without reading it. See `grounding_model`.

    Raises:
        WeightsNotFoundError: If the checkpoint is missing or incomplete.
    """
    if checkpoint is None and profile != "embedded":
        raise WeightsNotFoundError.about(
            "checkpoint",
            "is missing: rovist_vg requires trained heads",
            f"pass the authors' r2p_model_epoch2.pth.tar ({AUTHORS_FILE}) or a folder written by vlgauge train "
            f"rovist_vg, or choose {as_setting('profile', 'embedded')}, whose demo model only knows synthetic "
            "scenes",
        )
    path = EMBEDDED if checkpoint is None else Path(checkpoint).expanduser()
    weights = path / WEIGHTS if path.is_dir() else path
    missing = weights if not weights.is_file() else path / CONFIG
    if not weights.is_file() or (path.is_dir() and not missing.is_file()):
        raise WeightsNotFoundError.about(
            "checkpoint",
            f"must be a folder with {WEIGHTS} and {CONFIG} or the authors' file, got {str(path)!r}, where "
            f"{missing.name!r} is missing",
        )
    return path


def _read_folder(folder: Path, device: str) -> GroundingModel:
    config = read_config(folder / CONFIG)
    tensors = read_tensors(folder / WEIGHTS)
    heads = _heads(tensors, HEADS, folder)
    image = {name.removeprefix("image_encoder."): t for name, t in tensors.items() if name not in HEADS}
    own = config["image_encoder"] == VIT_NAME
    encoder = _vit(image, heads, device, folder) if own else _frozen_encoder(config, image, device)
    digest = sha256_of(folder / WEIGHTS)
    identity = f"{EMBEDDED_NAME}@{digest[:8]}" if folder == EMBEDDED else local_name(digest)
    return GroundingModel(heads, encoder, identity, config["word_vectors"])


def read_config(path: Path) -> dict[str, Any]:
    """Read the configuration of our checkpoints.

    Returns:
        The fields of the file, with at least ``format``, ``image_encoder`` and ``word_vectors``.

    Raises:
        ValueError: If it has another format or lacks a field.
    """
    config = read_json(path, "`checkpoint`")
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        found = config.get("format") if isinstance(config, dict) else type(config).__name__
        raise UsageError.about(
            "checkpoint", f"must have a {CONFIG} with the format {FORMAT}, got {found!r} in {str(path)!r}"
        )
    name, digest = config.get("image_encoder"), config.get("image_encoder_sha256")
    vectors = config.get("word_vectors", "no 'word_vectors'")
    named = isinstance(name, str) and isinstance(digest, (str, type(None)))
    if not named or not isinstance(vectors, (dict, type(None))):
        raise UsageError.about(
            "checkpoint",
            f"must have a {CONFIG} with a string as 'image_encoder' and an object as 'word_vectors', got "
            f"{name!r:.40} ({digest!r:.20}) and {vectors!r:.40}",
        )
    return config


def _frozen_encoder(config: Mapping[str, Any], image: Mapping[str, Any], device: str) -> ImageEncoder:
    """Return the CLIP whose hidden states before the projection the image head was trained on."""
    if image:
        raise UsageError.about("checkpoint", f"must contain only the two heads, got also {next(iter(image))!r}")
    name = config["image_encoder"]
    is_demo = name == DEMO_NAME
    encoder = clip_encoder(None if is_demo else name, profile="embedded" if is_demo else "paper", device=device)
    wanted = config.get("image_encoder_sha256")
    if wanted not in (None, encoder.digest):
        raise UsageError.about(
            "checkpoint",
            f"must be trained with the image encoder of this call, got {name}@{wanted[:8]} and {encoder.identity}",
            "train it again with vlgauge train rovist_vg",
        )
    return encoder


def _vit(image: Mapping[str, torch.Tensor], heads: Heads, device: str, source: Path) -> ImageEncoder:
    vit = build_vit(image, str(source))
    pooled, taken = vit.config.pooler_output_size, heads.image_weight.shape[1]
    if pooled != taken:
        raise UsageError.about(
            "checkpoint", f"must contain an image head for the {pooled} values of its transformer, got one for {taken}"
        )
    return VisionEncoder(vit, device)


def _read_authors(file: Path, device: str) -> GroundingModel:
    """Read the authors' checkpoint, a dictionary with the keys epoch, model, valid_loss and train_loss."""
    state = read_tensors(file)
    names = [f"{_IMAGE_HEAD}weight", f"{_IMAGE_HEAD}bias", f"{_TEXT_HEAD}weight", f"{_TEXT_HEAD}bias"]
    heads = _heads(state, names, file)
    surplus = [name for name in state if name not in names and not name.startswith(_IMAGE)]
    if surplus:
        raise UsageError.about(
            "checkpoint", f"must contain only the authors' tensors, got also {surplus[0]!r} in {str(file)!r}"
        )
    image = {name.removeprefix(_IMAGE): tensor for name, tensor in state.items() if name.startswith(_IMAGE)}
    return GroundingModel(heads, _vit(image, heads, device, file), local_name(sha256_of(file)), None)


def _heads(tensors: Mapping[str, torch.Tensor], names: Sequence[str], source: Path) -> Heads:
    missing = [name for name in names if name not in tensors]
    if missing:
        raise UsageError.about(
            "checkpoint", f"must contain both heads, got none named {missing[0]!r} in {str(source)!r}"
        )
    heads = Heads(*(np.asarray(tensors[name].float().numpy(), dtype=np.float64) for name in names))
    shapes = [matrix.shape for matrix in vars(heads).values()]
    if [len(shape) for shape in shapes] != [2, 1, 2, 1] or len({shape[0] for shape in shapes}) != 1:
        raise UsageError.about(
            "checkpoint", f"must contain heads of the same output dimension, got the shapes {shapes} in {str(source)!r}"
        )
    return heads
