"""The two ways to train a CLIP for PAC-S: projections alone, or low-rank updates of both towers."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch

from vlgauge.core.errors import UsageError
from vlgauge.models.clip.heads import heads_of
from vlgauge.models.clip.loading import ClipEncoder
from vlgauge.models.clip.pixels import decode_batches, stack_squares
from vlgauge.models.clip.tokens import ClipTokens
from vlgauge.models.padding import pad_rows
from vlgauge.research.training.pac_s.data import CaptionMaterial, Indices
from vlgauge.research.training.pac_s.losses import Generated, Losses, pac_s_losses
from vlgauge.research.training.row_files import MISSING

POOL = "visual.attnpool."
LOG_SCALE = "logit_scale"
MAX_LOG_SCALE = float(np.log(100))  # as in the training of CLIP
# Suffixes of the weights that are updated. Deviation from the released files: the updates of the MLP are applied.
UPDATED = ("attn.in_proj_weight", "attn.out_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight", "visual.conv1.weight")
_A, _B = ".lora_A", ".lora_B"

Tensors: TypeAlias = dict[str, torch.Tensor]


class Learner:
    """Trained tensors by the names of open_clip, and the loss of a batch of rows.

    Args:
        material: Rows.
        parameters: Initial values of the trained tensors, which are copied.
        state: Tensors of the base.
        weights: lambda_v and lambda_t.
        train_scale: Whether to train the logit scale. Otherwise the scale of the base is used.
    """

    def __init__(
        self,
        material: CaptionMaterial,
        parameters: Tensors,
        state: Tensors,
        *,
        weights: tuple[float, float],
        train_scale: bool = False,
    ) -> None:
        self.material = material
        self.weights = weights
        self._device = state[LOG_SCALE].device
        self._log_scale = state[LOG_SCALE].detach().float().reshape(())
        start = {**parameters, **({LOG_SCALE: state[LOG_SCALE]} if train_scale else {})}
        self.parameters: Tensors = {
            name: tensor.detach().float().to(self._device, copy=True).requires_grad_()
            for name, tensor in sorted(start.items())
        }

    def losses(self, rows: Indices) -> Losses:
        """Compute Eq. 3 for some rows, with gradients.

        Args:
            rows: Indices of the rows, shape ``(n,)``.

        Returns:
            Scalar tensors: the total loss and its parts.
        """
        m = self.material
        image, text = self._images(m.image[rows]), self._texts(m.caption[rows])

        def generated(made: Indices, features: Callable[[Indices], torch.Tensor], like: torch.Tensor) -> Generated:
            there = np.flatnonzero(made != MISSING)
            found = features(made[there]) if len(there) else like[:0]
            return Generated(found, torch.from_numpy(there).to(like.device))

        return pac_s_losses(
            image,
            text,
            generated(m.generated_image[rows], self._images, image),
            generated(m.generated_caption[rows], self._texts, text),
            self.scale(),
            image_weight=self.weights[0],
            text_weight=self.weights[1],
        )

    def scale(self) -> torch.Tensor:
        """Return 1 / tau."""
        return self.parameters.get(LOG_SCALE, self._log_scale).exp()

    def clamp_scale(self) -> None:
        """Limit a trained logit scale to ln 100."""
        if LOG_SCALE in self.parameters:
            with torch.no_grad():
                self.parameters[LOG_SCALE].clamp_(max=MAX_LOG_SCALE)

    def _images(self, images: Indices) -> torch.Tensor:
        """Compute the projected features of images of the material."""
        raise NotImplementedError

    def _texts(self, texts: Indices) -> torch.Tensor:
        """Compute the projected features of texts of the material."""
        raise NotImplementedError


# -- The projections --------------------------------------------------------------------------------------------------
class HeadLearner(Learner):
    """Learner of the projections of both towers. In a ResNet the attention pool replaces the image projection.

    Args:
        material: Rows.
        images: Hidden features of `material.images`, shape ``(n, width)``, or ``(n, width, h, w)`` for a ResNet.
        texts: Hidden features of `material.texts`, shape ``(n, width)``.
        state: Tensors of the base by the names of open_clip, which include the initial heads.
        pool: Attention pool of a ResNet, whose tensors are in `state`.
        **how: `weights` and `train_scale` of `Learner`.
    """

    def __init__(
        self,
        material: CaptionMaterial,
        images: np.ndarray,
        texts: np.ndarray,
        state: Tensors,
        *,
        pool: torch.nn.Module | None = None,
        **how: Any,
    ) -> None:
        heads = {name: state[name] for name in heads_of(state)}
        super().__init__(material, heads, state, **how)
        self._hidden = torch.from_numpy(images), torch.from_numpy(texts)
        self._pool: Any = pool

    def _images(self, images: Indices) -> torch.Tensor:
        hidden = self._hidden[0][torch.from_numpy(images)].to(self._device)
        if self._pool is None:
            return hidden @ self.parameters["visual.proj"]
        inner = {n.removeprefix(POOL): tensor for n, tensor in self.parameters.items() if n.startswith(POOL)}
        return torch.func.functional_call(self._pool, inner, (hidden,))

    def _texts(self, texts: Indices) -> torch.Tensor:
        return self._hidden[1][torch.from_numpy(texts)].to(self._device) @ self.parameters["text_projection"]


def hidden_features(
    encoder: ClipEncoder, material: CaptionMaterial, prompt: str, batch_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the hidden features of the images and of the texts, with one backbone pass over each.

    Returns:
        Features of the images, shape ``(n_images, width)`` or feature maps of a ResNet, and of the texts, shape
        ``(n_texts, width)``.
    """
    texts = encoder.text_hidden(material.texts, prompt=prompt, batch_size=batch_size).end
    if encoder.row.resnet:
        return feature_maps(encoder, material, batch_size), texts
    return encoder.image_hidden(material.images, batch_size=batch_size), texts


def feature_maps(encoder: ClipEncoder, material: CaptionMaterial, batch_size: int) -> np.ndarray:
    """Compute the inputs of the attention pool of a ResNet, shape ``(n, width, h, w)``, float32."""
    visual: Any = encoder.model.visual
    maps = []
    with decode_batches(material.images, encoder.row, batch_size) as batches, torch.no_grad():
        for opened in batches:
            seen = visual.stem(encoder.pixels(stack_squares(opened)))
            for layer in (visual.layer1, visual.layer2, visual.layer3, visual.layer4):
                seen = layer(seen)
            maps.append(seen.cpu().numpy())
    return np.concatenate(maps)


# -- Low-rank updates -------------------------------------------------------------------------------------------------
class TowerLearner(Learner):
    """Learner of low-rank updates W + B A / r of both towers, with all other weights frozen (Sarto et al., PAC-S++).

    Every batch passes through both towers, because the features change during training.
    """

    def __init__(
        self, material: CaptionMaterial, encoder: ClipEncoder, *, rank: int, seed: int, prompt: str, **how: Any
    ) -> None:
        if encoder.row.resnet:
            raise UsageError.about("--lora", f"must have a vision transformer, got {encoder.row.name}, a ResNet")
        self.rank = rank
        self._encoder = encoder
        self._model: Any = copy.deepcopy(encoder.model).requires_grad_(False)
        # `torch.func.functional_call` calls `forward`.
        self._model.forward = partial(project_features, self._model)
        self._state = {name: tensor.detach() for name, tensor in self._model.state_dict().items()}
        self._ids = ClipTokens(encoder.row.context)([prompt + text for text in material.texts])[0]
        super().__init__(material, new_updates(self._state, rank, seed), self._state, **how)

    def state(self) -> Tensors:
        """Return the tensors of the whole CLIP with merged updates by the names of open_clip, float32."""
        with torch.no_grad():
            scale = {name: tensor for name, tensor in self.parameters.items() if name == LOG_SCALE}
            return {**self._state, **merge_weights(self._state, self.parameters, self.rank), **scale}

    def losses(self, rows: Indices) -> Losses:
        """Compute Eq. 3 for some rows, with gradients. The updates are merged once for all rows.

        Returns:
            Scalar tensors: the total loss and its parts.
        """
        self._updated = merge_weights(self._state, self.parameters, self.rank)
        return super().losses(rows)

    def _images(self, images: Indices) -> torch.Tensor:
        chosen = [self.material.images[index] for index in images]
        with decode_batches(chosen, self._encoder.row, len(chosen)) as batches:
            (opened,) = batches
        return self._features(self._encoder.pixels(stack_squares(opened)), "image")

    def _texts(self, texts: Indices) -> torch.Tensor:
        return self._features(pad_rows([self._ids[index] for index in texts], 0), "text")

    def _features(self, inputs: torch.Tensor, side: str) -> torch.Tensor:
        return torch.func.functional_call(
            self._model, self._updated, (inputs.to(self._device), side), tie_weights=False, strict=False
        )


def new_updates(state: Tensors, rank: int, seed: int) -> Tensors:
    """Create A and B for every weight of `UPDATED`.

    A is small and random, and B is zero, so training starts at the base. A convolution of kernel size k has the rank
    ``k * rank``, so that B A has as many entries as its weight.
    """
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


def merge_weights(state: Tensors, updates: Tensors, rank: int) -> Tensors:
    """Return the updated weights W + B A / r by name."""
    names = [name.removesuffix(_A) for name in updates if name.endswith(_A)]
    return {
        name: state[name] + (updates[name + _B] @ updates[name + _A]).view(state[name].shape) / rank for name in names
    }


def project_features(model: Any, inputs: torch.Tensor, side: str) -> torch.Tensor:
    """Compute the projected features of pixels, or of token ids, which may be shorter than the context.

    Args:
        model: CLIP of open_clip.
        inputs: Pixels, shape ``(n, 3, size, size)``, or token ids, shape ``(n, length)``.
        side: "image" or "text".

    Returns:
        Shape ``(n, embed_width)``, not normalized.
    """
    if side == "image":
        return model.encode_image(inputs)
    length = inputs.shape[1]
    embedded = model.token_embedding(inputs) + model.positional_embedding[:length]
    read = model.ln_final(model.transformer(embedded, attn_mask=model.attn_mask[:length, :length]))
    ends = read[torch.arange(len(inputs), device=inputs.device), inputs.argmax(dim=-1)]
    return ends @ model.text_projection
