"""Both sides of the model that is trained: an image encoder or none, and a head each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.encoders.grounding.vit import VIT_NAME, VIT_REVISION, build_vit
from vlgauge.errors import WeightsNotFoundError
from vlgauge.weights.files import hub_folder
from vlgauge.weights.reading import read_tensors

if TYPE_CHECKING:
    import torch


def grounding_net(image_encoder: Any, image_width: int, text_width: int, width: int) -> torch.nn.ModuleDict:
    """The untrained model, without an image encoder where its vectors are given."""
    import torch

    encoder = {} if image_encoder is None else {"image_encoder": image_encoder}
    heads = {"image_head": torch.nn.Linear(image_width, width), "text_head": torch.nn.Linear(text_width, width)}
    return torch.nn.ModuleDict(encoder | heads)


def embeddings(net: Any, images: torch.Tensor, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of images (pixels, or vectors before the head) and of phrases, after tanh, not normalised."""
    import torch

    hidden = net.image_encoder(images).pooler_output if "image_encoder" in net else images
    return torch.tanh(net.image_head(hidden)), torch.tanh(net.text_head(vectors))


def pretrained_vit(path: str | None) -> Any:
    """The vision transformer that the training starts from, with gradients; without a path the published one."""
    if path is None:
        folder = hub_folder(VIT_NAME, VIT_REVISION, ("model.safetensors",), "or give its folder as --vit")
    else:
        folder = Path(path).expanduser()
    file = folder / "model.safetensors" if folder.is_dir() else folder
    if not file.is_file():
        raise WeightsNotFoundError(
            f"`--vit` must be a file or folder with the weights of a vision transformer, got {path!r}"
        )
    tensors = {name.removeprefix("vit."): tensor for name, tensor in read_tensors(file).items()}
    vit = build_vit({name: tensor for name, tensor in tensors.items() if not name.startswith("classifier.")})
    return vit.requires_grad_(True).train()
