"""Training with low-rank updates of both towers (Sarto et al., PAC-S++): W + B A / r, everything else frozen."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vlgauge.encoders.clip.loading import ClipEncoder
from vlgauge.encoders.clip.pixels import decoded_batches
from vlgauge.encoders.clip.tokens import ClipTokens, padded
from vlgauge.errors import UsageError
from vlgauge.training.pac_s.batches import Indices
from vlgauge.training.pac_s.heads import LOG_SCALE, Tensors, losses_of, normalised_pixels
from vlgauge.training.pac_s.losses import Losses
from vlgauge.training.pac_s.material import Material

if TYPE_CHECKING:
    import torch

# Weights that get an update, by the end of their name; the MLP too, unlike the released files, which never apply it.
UPDATED = ("attn.in_proj_weight", "attn.out_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight", "visual.conv1.weight")
_A, _B = ".lora_A", ".lora_B"


def new_updates(state: Tensors, rank: int, seed: int) -> Tensors:
    """A and B for every weight of `UPDATED`: A small and random, B zero, so that training starts from the base.

    A convolution of kernel size k has the rank ``k * rank``, so that B A has as many entries as its weight.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    updates = {}
    for name, weight in sorted(state.items()):
        if not name.endswith(UPDATED):
            continue
        kernel = weight.shape[-1] if weight.ndim == 4 else 1
        rows, columns = weight.shape[0] * kernel, weight.numel() // (weight.shape[0] * kernel)
        noise = torch.randn((rank * kernel, columns), generator=generator)
        updates[name + _A] = (noise / columns**0.5).requires_grad_()
        updates[name + _B] = torch.zeros((rows, rank * kernel)).requires_grad_()
    return updates


def merged(state: Tensors, updates: Tensors, rank: int) -> Tensors:
    """The updated weights, by name: W + B A / r."""
    names = [name.removesuffix(_A) for name in updates if name.endswith(_A)]
    return {
        name: state[name] + (updates[name + _B] @ updates[name + _A]).view(state[name].shape) / rank for name in names
    }


def projected_features(model: Any, inputs: torch.Tensor, side: str) -> torch.Tensor:
    """Projected features of pixels, or of token ids that are shorter than the context."""
    import torch

    if side == "image":
        return model.encode_image(inputs)
    length = inputs.shape[1]
    embedded = model.token_embedding(inputs) + model.positional_embedding[:length]
    read = model.ln_final(model.transformer(embedded, attn_mask=model.attn_mask[:length, :length]))
    ends = read[torch.arange(len(inputs), device=inputs.device), inputs.argmax(dim=-1)]
    return ends @ model.text_projection


class TowerLearner:
    """Low-rank updates; every batch goes through both towers, because features change with them."""

    def __init__(
        self,
        material: Material,
        encoder: ClipEncoder,
        *,
        rank: int,
        seed: int,
        prompt: str,
        weights: tuple[float, float],
        train_scale: bool = False,
    ) -> None:
        if encoder.row.resnet:
            raise UsageError(f"`--lora` must have a vision transformer, got {encoder.row.name}, a ResNet")
        self.material = material
        self.weights = weights
        self.rank = rank
        self._encoder = encoder
        self._model: Any = copy.deepcopy(encoder.model).requires_grad_(False)
        # What functional_call calls.
        self._model.forward = partial(projected_features, self._model)
        self._state = {name: tensor.detach() for name, tensor in self._model.state_dict().items()}
        self._device = self._state["text_projection"].device
        self._ids = ClipTokens(encoder.row.context)([prompt + text for text in material.texts])[0]
        start = new_updates(self._state, rank, seed)
        start |= {LOG_SCALE: self._state[LOG_SCALE].clone()} if train_scale else {}
        self.parameters: Tensors = {
            name: tensor.detach().to(self._device).requires_grad_() for name, tensor in start.items()
        }

    def losses(self, rows: Indices) -> Losses:
        """Eq. 3 of some rows, with gradients."""
        import torch

        updated = self._merged()

        def images(indices: Indices) -> torch.Tensor:
            pictures = [self.material.pictures[index] for index in indices]
            with decoded_batches(pictures, self._encoder.row, len(pictures)) as batches:
                (opened,) = batches
            return self._features(updated, normalised_pixels(opened, self._encoder), "image")

        def texts(indices: Indices) -> torch.Tensor:
            ids = padded([self._ids[index] for index in indices])
            return self._features(updated, torch.from_numpy(ids), "text")

        scale = self.parameters.get(LOG_SCALE, self._state[LOG_SCALE]).exp()
        return losses_of(self.material, rows, images, texts, scale, self.weights)

    @property
    def scale(self) -> float:
        """1 / tau as it is now."""
        return self.parameters.get(LOG_SCALE, self._state[LOG_SCALE]).exp().item()

    def state(self) -> dict[str, np.ndarray]:
        """The whole CLIP by open_clip's names with the updates merged, float32."""
        import torch

        with torch.no_grad():
            scale = {name: tensor for name, tensor in self.parameters.items() if name == LOG_SCALE}
            tensors = {**self._state, **self._merged(), **scale}
        return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}

    def _merged(self) -> Tensors:
        updates = {name: tensor for name, tensor in self.parameters.items() if name.endswith((_A, _B))}
        return merged(self._state, updates, self.rank)

    def _features(self, updated: Tensors, inputs: torch.Tensor, side: str) -> torch.Tensor:
        import torch

        return torch.func.functional_call(
            self._model, updated, (inputs.to(self._device), side), tie_weights=False, strict=False
        )
