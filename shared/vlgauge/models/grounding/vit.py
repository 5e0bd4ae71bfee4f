"""Vision transformer that encodes image regions as its pooled first token, for RoViST-VG."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vlgauge.checkpoints.first_values import without_first_values
from vlgauge.checkpoints.known_tensors import check_tensor_names
from vlgauge.checkpoints.torch_runtime import check_fork, exact
from vlgauge.core.errors import UsageError
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.progress import Progress
from vlgauge.core.validation import check_int
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.models.clip.architectures import ClipArchitecture
from vlgauge.models.clip.encoder import encode_images
from vlgauge.models.clip.pixels import preprocessing
from vlgauge.models.features.memory import LayeredStore, process_memory

if TYPE_CHECKING:
    import torch

VIT_NAME = "google/vit-base-patch16-224-in21k"
VIT_REVISION = "b4569560a39a0f1af58e3ddaf17facf20ab919b0"
HEAD_WIDTH = 64  # width of an attention head in every published ViT, which the weights do not contain

# Tensor names of transformers 4, which the published files use, and of transformers 5.
_RENAMED = (
    (r"^encoder\.layer\.(\d+)\.", r"layers.\1."),
    (r"\.attention\.attention\.(query|key|value)\.", lambda found: f".attention.{found[1][0]}_proj."),
    (r"\.attention\.output\.dense\.", ".attention.o_proj."),
    (r"\.intermediate\.dense\.", ".mlp.fc1."),
    (r"\.output\.dense\.", ".mlp.fc2."),
)


def vit_row(width: int, size: int) -> ClipArchitecture:
    """Return the image preprocessing of a ViT: bilinear resizing of both sides to `size`, and colors from -1 to 1."""
    half = (0.5, 0.5, 0.5)
    return ClipArchitecture(
        VIT_NAME,
        "vit",
        None,
        width,
        size=size,
        mean=half,
        std=half,
        resize="squash",
        interpolation="bilinear",
    )


def vit_config(state: Mapping[str, torch.Tensor]) -> Any:
    """Derive the configuration of a ViT from its tensors, with the values of the published ViT for everything else.

    Returns:
        A `transformers.ViTConfig`.

    Raises:
        ValueError: If the tensors do not belong to a ViT with a pooling layer.
    """
    from transformers import ViTConfig

    try:
        width, channels, patch, _ = state["embeddings.patch_embeddings.projection.weight"].shape
        n_patches = state["embeddings.position_embeddings"].shape[1] - 1
        layers = {int(found[1]) for name in state if (found := re.match(r"(?:encoder\.layer|layers)\.(\d+)\.", name))}
        middle = next(t.shape[0] for name, t in state.items() if re.search(r"(intermediate\.dense|fc1)\.weight$", name))
        pooled = state["pooler.dense.weight"].shape[0]
    except (KeyError, ValueError, StopIteration, IndexError) as error:
        raise UsageError.about(
            "checkpoint", "must contain the tensors of a vision transformer with its pooling layer, got other tensors"
        ) from error
    return ViTConfig(
        hidden_size=width,
        num_hidden_layers=len(layers),
        num_attention_heads=max(1, width // HEAD_WIDTH),
        intermediate_size=middle,
        image_size=round(n_patches**0.5) * patch,
        patch_size=patch,
        num_channels=channels,
        pooler_output_size=pooled,
    )


def rename_tensors(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Convert the tensor names of a ViT to the names of transformers 5, if necessary. Tensors are unchanged."""
    result = {}
    for name, tensor in state.items():
        for pattern, new in _RENAMED:
            name = re.sub(pattern, new, name)
        result[name] = tensor
    return result


def build_vit(state: Mapping[str, torch.Tensor], source: str) -> Any:
    """Build the float32 ViT, a `transformers.ViTModel` in evaluation mode, with the tensors of a file.

    Raises:
        ValueError: If tensors are missing, unknown or of another shape.
        MissingExtraError: If transformers cannot be imported.
    """
    with importing('rovist_vg requires more packages; run: pip install "vlgauge[rovist-vg]"'):
        from transformers import ViTModel
    with without_first_values():
        model = ViTModel(vit_config(state))
    names = model.state_dict()
    # The names depend on the version of transformers, and each version must load the files of the other.
    here = dict(zip(rename_tensors(names), names, strict=True))
    own = {here.get(name, name): tensor.float() for name, tensor in rename_tensors(state).items()}
    shapes = {name: tensor.shape for name, tensor in names.items()}
    check_tensor_names(own, shapes, "a vision transformer", source)
    model.load_state_dict(own)
    return model.eval().requires_grad_(False)


class VisionEncoder:
    """Loaded ViT. Each distinct image is encoded once and cached.

    Attributes:
        forwards: Number of images encoded, under the key ``"image"``.
    """

    def __init__(self, model: Any, device: str) -> None:
        self.row = vit_row(model.config.hidden_size, model.config.image_size)
        self.forwards: Counter[str] = Counter()
        self._model = model.to(device)
        self._device = device
        self._scope = object()
        self._forward = threading.Lock()

    def image_hidden(
        self, images: Sequence[LazyImage], *, batch_size: int = 64, progress: Progress = None
    ) -> np.ndarray:
        """Return the pooled features of images, shape ``(n_images, width)``, float32.

        See `ClipEncoder.image_hidden`.

        Raises:
            ValueError: If an image cannot be read, or `batch_size` is below 1.
        """
        check_int("batch_size", batch_size, 1)
        check_fork()
        stores = {kind: self._store(kind) for kind in ("early", "late")}
        ids, rows = encode_images(
            images, self.row, stores, self.forward, batch_size=batch_size, progress=progress, what="regions"
        )
        width = self._model.config.pooler_output_size
        return np.stack([rows[name] for name in ids if name]) if ids else np.zeros((0, width), np.float32)

    def forward(self, squares: Sequence[np.ndarray]) -> np.ndarray:
        """Encode preprocessed images.

        Args:
            squares: Images, shape ``(size, size, 3)`` each, uint8.

        Returns:
            Pooled features, shape ``(n, width)``, float32.
        """
        import torch

        pixels = torch.from_numpy(np.stack(squares))
        with self._forward, exact(self._device):
            self.forwards["image"] += len(squares)
            return np.asarray(self._model(pixel_values(pixels.to(self._device))).pooler_output.float().cpu().numpy())

    def _store(self, kind: str) -> LayeredStore:
        return LayeredStore(process_memory, (self._scope, repr(preprocessing(self.row, kind))), None)


def pixel_values(squares: torch.Tensor) -> torch.Tensor:
    """Convert images of shape ``(n, size, size, 3)``, uint8, to colors from -1 to 1, shape ``(n, 3, size, size)``."""
    return squares.permute(0, 3, 1, 2).contiguous().float().div(255).sub(0.5).div(0.5)
