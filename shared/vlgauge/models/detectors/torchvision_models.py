"""Object detectors of torchvision, built once per process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from vlgauge.checkpoints import known_tensors
from vlgauge.checkpoints.detectors import DETECTORS as DETECTORS
from vlgauge.checkpoints.detectors import check_torchvision, find_weights
from vlgauge.checkpoints.files import sha256_of
from vlgauge.checkpoints.first_values import without_first_values
from vlgauge.checkpoints.reading import name_setting, read_tensors
from vlgauge.checkpoints.torch_runtime import check_fork, exact, resolve_device
from vlgauge.core.pool import pool
from vlgauge.core.progress import with_size

if TYPE_CHECKING:
    import torch

_CLASSES = "roi_heads.box_predictor.cls_score.bias"


class TorchvisionDetector:
    """Detector of torchvision in evaluation mode.

    Attributes:
        identity: Name, and first eight hexadecimal digits of the SHA-256 of the weights.
        known: Previous results. See `vlgauge.models.detectors.sources.RegionSource`.
    """

    def __init__(self, name: str, path: Path, device: str) -> None:
        self.identity = f"{name}@{sha256_of(path)[:8]}"
        self.known: dict[bytes, tuple[Any, Any]] = {}
        self._model = _build_module(name, path).eval().requires_grad_(False).to(device)
        self._device = device

    def __call__(self, image: Image.Image) -> tuple[Any, Any]:
        """Return boxes ``(n, 4)`` in pixels and scores ``(n,)`` of one RGB image.

        Images are processed one by one, because a batch pads images to a common size, which would change their boxes.
        """
        check_fork()
        import torch
        from torchvision.transforms.functional import convert_image_dtype, pil_to_tensor

        pixels = convert_image_dtype(pil_to_tensor(image), torch.float32).to(self._device)
        with exact(pixels.device):
            found: Mapping[str, torch.Tensor] = self._model([pixels])[0]
        return found["boxes"].float().cpu().numpy(), found["scores"].float().cpu().numpy()


def detector(
    name: str, *, weights: str | os.PathLike[str] | None = None, device: str = "auto", profile: str = "paper"
) -> TorchvisionDetector:
    """Return the detector of that name from the pool.

    Raises:
        ImportError: If torch or torchvision is missing.
        RuntimeError: If this process was forked after torch had run.
        WeightsNotFoundError: If the weights are not on this machine and cannot be downloaded.
        ValueError: If the weights belong to another model.
    """
    check_fork()
    check_torchvision(name)
    path = find_weights(name, weights, profile=profile)
    device = resolve_device(device)
    key = ("detector", name, sha256_of(path), device)
    return pool.get(
        key, lambda: TorchvisionDetector(name, path, device), with_size(f"the detector {name}", path.stat().st_size)
    )


def _build_module(name: str, path: Path) -> torch.nn.Module:
    """Build the module with the tensors of a file, which must match its parameters exactly."""
    import torch
    from torchvision.models import get_model

    with name_setting("detector_weights"):
        state = read_tensors(path)
    classes = state.get(_CLASSES)
    options = {} if classes is None or classes.ndim != 1 else {"num_classes": len(classes)}
    with without_first_values():
        model: torch.nn.Module = get_model(name, weights=None, weights_backbone=None, **options)
    own = model.state_dict()
    counters = {key: own[key] for key in own.keys() - known_tensors.missing(own, known_tensors.DETECTOR)}
    frozen = not counters.keys() & state.keys()
    state = counters | state if frozen else state
    with name_setting("detector_weights"):
        known_tensors.check_tensor_names(
            state, {key: tuple(value.shape) for key, value in own.items()}, name, str(path)
        )
    model.load_state_dict(state, strict=True)
    if DETECTORS[name]["zero_epsilon"] and frozen:
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.eps = 0.0
    return model
