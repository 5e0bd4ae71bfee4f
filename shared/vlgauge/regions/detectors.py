"""Object detectors of torchvision by name, from a file on this machine; built once per process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from vlgauge.encoders.pool import pool
from vlgauge.encoders.weights import WeightsNotFound
from vlgauge.encoders.weights import sha256_of

# Those of torchvision that were trained on COCO and return boxes with scores.
DETECTORS = (
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
    "fcos_resnet50_fpn",
    "keypointrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
    "ssd300_vgg16",
    "ssdlite320_mobilenet_v3_large",
)
ALTERNATIVES = '`regions="grid"` or "whole", a function of an image, or boxes or crops given to `compute`'


class TorchvisionDetector:
    """A detector of torchvision, in eval mode.

    Args:
        name: One of `DETECTORS`.
        path: File of its weights.
        device: Device of torch.

    Attributes:
        identity: Name and first eight digits of the SHA-256 of the weights.
        known: What it found before, see `vlgauge.regions.sources.RegionSource`.
    """

    def __init__(self, name: str, path: Path, device: str) -> None:
        from torchvision.models import get_model

        self.identity = f"{name}@{sha256_of(path)[:8]}"
        self.n_bytes = path.stat().st_size
        state = _state(path, name)
        model = get_model(name, weights=None, weights_backbone=None)
        try:
            model.load_state_dict(state, strict=True)
        except RuntimeError as error:
            raise ValueError(f"`detector_weights` must be weights of {name}, got {str(path)!r} ({error})") from None
        self.known: dict[bytes, tuple[Any, Any]] = {}
        self._model = model.eval().requires_grad_(False).to(device)
        self._device = device

    def __call__(self, image: Image.Image) -> tuple[Any, Any]:
        """Boxes ``(n, 4)`` in pixels and scores ``(n,)`` of one RGB image.

        One image at a time: in a batch images are padded to a common size, which would change their boxes.
        """
        import torch
        from torchvision.transforms.functional import convert_image_dtype
        from torchvision.transforms.functional import pil_to_tensor

        pixels = convert_image_dtype(pil_to_tensor(image), torch.float32).to(self._device)
        with torch.no_grad():
            found: Mapping[str, torch.Tensor] = self._model([pixels])[0]
        return found["boxes"].float().cpu().numpy(), found["scores"].float().cpu().numpy()


def detector(name: str, *, weights: Any = None, device: str = "auto") -> TorchvisionDetector:
    """The detector of that name, from the pool.

    Args:
        name: One of `DETECTORS`.
        weights: File of its weights (safetensors, or tensors only in a file of torch); None for torchvision's own in
            torch's folder of checkpoints, whose digest must be that of its name. Nothing is downloaded.
        device: ``"auto"``, or a device of torch.

    Raises:
        ImportError: If torch or torchvision is missing.
        WeightsNotFound: If the weights are not on this machine.
        ValueError: If they are those of another model.
    """
    try:
        import torch  # noqa: F401
        import torchvision  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"`regions={name!r}` needs torchvision, which cannot be imported here ({error}); run pip install "
            f'"vlgauge[clip]" (torch and torchvision of one build), or give {ALTERNATIVES}'
        ) from error
    from vlgauge.encoders.sentence import resolved_device

    path = _published_file(name) if weights is None else Path(weights)
    if not path.is_file():
        raise WeightsNotFound(f"`detector_weights` must be an existing file, got {str(path)!r}")
    place = resolved_device(device)
    key = ("detector", name, sha256_of(path), place)
    found: TorchvisionDetector = pool.get(key, lambda: TorchvisionDetector(name, path, place))
    return found


def _published_file(name: str) -> Path:
    """Torchvision's own weights in torch's folder, if they are there and unchanged."""
    import torch
    from torchvision.models import get_model_weights

    chosen = getattr(get_model_weights(name), "COCO_V1", None) or get_model_weights(name).DEFAULT
    file = chosen.url.rpartition("/")[2]
    folder = Path(torch.hub.get_dir()) / "checkpoints"
    path = folder / file
    if not path.is_file():
        raise WeightsNotFound(
            f"`regions={name!r}` needs the file {file}, which is not in {folder}; fetch it on a machine with network: "
            f'python -c "from torchvision.models import get_model_weights as w; '
            f"w('{name}').{chosen.name}.get_state_dict(check_hash=True)\", name another copy as `detector_weights`, "
            f"or give {ALTERNATIVES}"
        )
    expected = path.stem.rpartition("-")[2]
    if not sha256_of(path).startswith(expected):
        raise ValueError(
            f"{path} must have a SHA-256 that starts with {expected}, got {sha256_of(path)[:8]}; fetch it again"
        )
    return path


def _state(path: Path, name: str) -> dict[str, Any]:
    """Tensors of a file; no file is run."""
    import pickle

    import torch

    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        why = str(error).splitlines()[0]
        raise ValueError(
            f"`detector_weights` must be a file of tensors only, got {str(path)!r} ({why}); save the state_dict of "
            f"{name} as safetensors"
        ) from None
    state = state.get("model", state) if isinstance(state, dict) else state
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ValueError(f"`detector_weights` must hold the state_dict of {name}, got something else in {str(path)!r}")
    return state
