"""Training of the heads only: on hidden features that the backbone has computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from vlgauge.encoders.clip.heads import heads_of
from vlgauge.encoders.clip.loading import ClipEncoder
from vlgauge.encoders.clip.pixels import decoded_batches
from vlgauge.errors import UsageError
from vlgauge.training.pac_s.batches import Indices
from vlgauge.training.pac_s.losses import Generated, Losses, pac_s_losses
from vlgauge.training.pac_s.material import MISSING, Material

if TYPE_CHECKING:
    import torch

POOL = "visual.attnpool."
LOG_SCALE = "logit_scale"
MAX_LOG_SCALE = float(np.log(100))  # as CLIP was trained

Tensors: TypeAlias = "dict[str, torch.Tensor]"


class HeadLearner:
    """The projections of both towers, or of a ResNet the attention pool in place of the image projection.

    Args:
        material: The rows.
        images: Hidden features of `material.pictures`, shape ``(n, width)``; of a ResNet ``(n, width, h, w)``.
        texts: Hidden features of `material.texts`, shape ``(n, width)``.
        state: Tensors of the base by open_clip's names; the heads start from it.
        weights: lambda_v and lambda_t.
        device: Where to train.
        pool: The attention pool of a ResNet, whose tensors are in `state`.
        train_scale: Whether the scale is trained too; otherwise it stays that of the base.
    """

    def __init__(
        self,
        material: Material,
        images: np.ndarray,
        texts: np.ndarray,
        state: Tensors,
        *,
        weights: tuple[float, float],
        device: str | torch.device = "cpu",
        pool: torch.nn.Module | None = None,
        train_scale: bool = False,
    ) -> None:
        import torch

        self.material = material
        self.weights = weights
        self._images, self._texts = torch.from_numpy(images), torch.from_numpy(texts)
        self._pool: Any = pool
        self._device = torch.device(device)
        self._log_scale = state[LOG_SCALE].detach().float().reshape(()).to(self._device)
        names = [*heads_of(state), *([LOG_SCALE] if train_scale else [])]
        self.parameters: Tensors = {
            name: state[name].detach().float().to(self._device, copy=True).requires_grad_() for name in sorted(names)
        }

    def losses(self, rows: Indices) -> Losses:
        """Eq. 3 of some rows, with gradients."""
        scale = self.parameters.get(LOG_SCALE, self._log_scale).exp()
        return losses_of(self.material, rows, self._project_images, self._project_texts, scale, self.weights)

    @property
    def scale(self) -> float:
        """1 / tau as it is now."""
        return self.parameters.get(LOG_SCALE, self._log_scale).exp().item()

    def _project_images(self, pictures: Indices) -> torch.Tensor:
        import torch

        hidden = self._images[torch.from_numpy(pictures)].to(self._device)
        if self._pool is None:
            return hidden @ self.parameters["visual.proj"]
        inner = {n.removeprefix(POOL): tensor for n, tensor in self.parameters.items() if n.startswith(POOL)}
        return torch.func.functional_call(self._pool, inner, (hidden,))

    def _project_texts(self, texts: Indices) -> torch.Tensor:
        import torch

        return self._texts[torch.from_numpy(texts)].to(self._device) @ self.parameters["text_projection"]


def losses_of(
    material: Material,
    rows: Indices,
    image_features: Callable[[Indices], torch.Tensor],
    text_features: Callable[[Indices], torch.Tensor],
    scale: torch.Tensor,
    weights: tuple[float, float],
) -> Losses:
    """Eq. 3 of some rows, given what turns indices of pictures and texts into projected features."""
    import torch

    def generated(made: Indices, features: Callable[[Indices], torch.Tensor], like: torch.Tensor) -> Generated:
        there = np.flatnonzero(made != MISSING)
        found = features(made[there]) if len(there) else like[:0]
        return Generated(found, torch.from_numpy(there).to(like.device))

    image, text = image_features(material.image[rows]), text_features(material.caption[rows])
    return pac_s_losses(
        image,
        text,
        generated(material.generated_image[rows], image_features, image),
        generated(material.generated_caption[rows], text_features, text),
        scale,
        image_weight=weights[0],
        text_weight=weights[1],
    )


def clamp_scale(parameters: Tensors) -> None:
    """Keep a trained logit scale at ln 100 or below."""
    import torch

    if LOG_SCALE in parameters:
        with torch.no_grad():
            parameters[LOG_SCALE].clamp_(max=MAX_LOG_SCALE)


def hidden_features(
    encoder: ClipEncoder, material: Material, prompt: str, batch_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Hidden features of the pictures and of the texts, one backbone pass over each."""
    texts = encoder.text_hidden(material.texts, prompt=prompt, batch_size=batch_size).end
    if encoder.row.resnet:
        return feature_maps(encoder, material, batch_size), texts
    return encoder.image_hidden(material.pictures, batch_size=batch_size), texts


def feature_maps(encoder: ClipEncoder, material: Material, batch_size: int) -> np.ndarray:
    """What the attention pool of a ResNet sees of the pictures, shape ``(n, width, h, w)``, float32."""
    import torch

    visual: Any = encoder.model.visual
    device = next(visual.parameters()).device
    maps = []
    with decoded_batches(material.pictures, encoder.row, batch_size) as batches, torch.no_grad():
        for opened in batches:
            seen = visual.stem(normalised_pixels(opened, encoder).to(device))
            for layer in (visual.layer1, visual.layer2, visual.layer3, visual.layer4):
                seen = layer(seen)
            maps.append(seen.cpu().numpy())
    return np.concatenate(maps)


def normalised_pixels(opened: list[np.ndarray | UsageError], encoder: ClipEncoder) -> torch.Tensor:
    """Squares as the image tower takes them, shape ``(n, 3, size, size)``."""
    import torch

    for square in opened:
        if isinstance(square, UsageError):
            raise square
    pixels = torch.from_numpy(np.stack([np.asarray(square) for square in opened])).permute(0, 3, 1, 2).float() / 255
    mean, std = (torch.tensor(numbers).view(1, 3, 1, 1) for numbers in (encoder.row.mean, encoder.row.std))
    return (pixels - mean) / std
