"""Image and text towers of CLIP, which return hidden states before the projection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from vlgauge.checkpoints.torch_runtime import exact
from vlgauge.core.validation import warn
from vlgauge.models.clip.architectures import ClipArchitecture

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16", "float16")
RELEASED_HALF = "released_half"
"""Precision of CLIP in OpenAI's loader on CUDA, for any device: float16 except for embeddings and LayerNorm."""


class ClipTowers:
    """CLIP in evaluation mode on a device. Using it does not change its state.

    Args:
        model: The module, in float32.
        row: Its architecture.
        device: Torch device.
        dtype: ``"float32"``, or the precision of the transformer blocks. Embeddings, LayerNorm, pooling and projections
            are always in float32. `RELEASED_HALF` is not supported for a ResNet.
    """

    def __init__(self, model: torch.nn.Module, row: ClipArchitecture, device: str, dtype: str) -> None:
        import torch

        self.model: Any = model.to(device).eval().requires_grad_(False)
        self.row = row
        self.device = torch.device(device)
        self.dtype = dtype
        # Only this class of open_clip has the layers of the text tower in the model itself and a causal mask.
        self.own_text = (
            getattr(self.model, "text_pool_type", None) == "argmax"
            and self.model.attn_mask is not None
            and isinstance(self.model.text_projection, torch.nn.Parameter)
        )
        self.own_image = hasattr(self.model.visual, "_embeds")
        self.stream = torch.float32
        if dtype == RELEASED_HALF:
            self.stream = torch.float16
            _halve(self.model)

    def image(self, squares: Sequence[np.ndarray], head: Any = None) -> np.ndarray:
        """Encode images, without the projection except for a ResNet, whose outputs are pooled and projected.

        Args:
            squares: Images, shape ``(size, size, 3)``, uint8.
            head: For a ResNet, tensors by name, of which ``visual.attnpool.*`` replace its own.

        Returns:
            Hidden states, shape ``(n, width)``, float32.
        """
        with exact(self.device):
            hidden = self._image(self.pixels(np.stack(squares)), head)
            return np.asarray(hidden.float().cpu().numpy())

    def text(self, ids: torch.Tensor, *, tokens: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """Encode token ids, without the projection.

        A text tower of another library returns projected embeddings and no tokens.

        Args:
            ids: Token ids, shape ``(n, n_tokens)``, padded with zeros.
            tokens: Whether to return the hidden states of all tokens.

        Returns:
            Hidden states of the end tokens, shape ``(n, width)``, and of all tokens, shape ``(n, n_tokens, width)``, or
            None.
        """
        import torch

        with exact(self.device):
            numbers = ids.to(self.device)
            if not self.own_text:
                with self._reduce_precision():
                    return self.model.encode_text(numbers).float().cpu().numpy(), None
            read = self._text(numbers).float()
            end = read[torch.arange(len(ids), device=self.device), numbers.argmax(dim=-1)]
            return end.cpu().numpy(), read.cpu().numpy() if tokens else None

    def projection(self, side: str) -> np.ndarray | None:
        """Return the projection matrix of a side, shape ``(width, embed)``.

        None if the outputs of this side are already projected.
        """
        own = self.own_image if side == "image" else self.own_text
        matrix = (self.model.visual.proj if side == "image" else self.model.text_projection) if own else None
        return None if matrix is None else np.asarray(matrix.detach().float().cpu().numpy())

    def _image(self, pixels: torch.Tensor, head: Any) -> torch.Tensor:
        tower = self.model.visual
        if self.own_image:
            embedded = tower._embeds(pixels.to(self.stream))
            with self._reduce_precision():
                seen = tower.transformer(embedded)
            return tower._pool(seen.float())[0]
        with self._reduce_precision():
            if not self.row.resnet:
                return self.model.encode_image(pixels)
            seen = tower.stem(pixels)
            for layer in (tower.layer1, tower.layer2, tower.layer3, tower.layer4):
                seen = layer(seen)
        return _apply_pool(tower.attnpool, seen.float(), head)

    def _text(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the hidden states of all tokens. Texts may be shorter than the context, because the mask is causal."""
        model, length = self.model, ids.shape[1]
        embedded = model.token_embedding(ids).to(self.stream) + model.positional_embedding[:length].to(self.stream)
        with self._reduce_precision():
            read = model.transformer(embedded, attn_mask=model.attn_mask[:length, :length].to(self.stream))
        return model.ln_final(read.float())

    def pixels(self, squares: np.ndarray) -> torch.Tensor:
        """Normalize images on the device, with bitwise the same result as torchvision.

        Args:
            squares: Images, shape ``(n, size, size, 3)``, uint8.

        Returns:
            Pixels, shape ``(n, 3, size, size)``, float32.
        """
        import torch

        raw = torch.from_numpy(squares)
        if self.device.type == "cuda":
            raw = raw.pin_memory()
        pixels = raw.to(self.device, non_blocking=True).permute(0, 3, 1, 2).contiguous().float().div_(255)
        mean = torch.tensor(self.row.mean, dtype=torch.float32, device=self.device).view(3, 1, 1)
        std = torch.tensor(self.row.std, dtype=torch.float32, device=self.device).view(3, 1, 1)
        return pixels.sub_(mean).div_(std)

    def _reduce_precision(self) -> AbstractContextManager[Any]:
        import torch

        if self.dtype in ("float32", RELEASED_HALF):
            return nullcontext()
        return torch.autocast(self.device.type, dtype=getattr(torch, self.dtype))


def _halve(model: torch.nn.Module) -> None:
    """Convert matrices to float16, and make LayerNorm compute in float32 on float16 inputs and outputs."""
    import torch
    from open_clip.model import convert_weights_to_fp16
    from open_clip.transformer import LayerNormFp32

    convert_weights_to_fp16(model)
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.__class__ = LayerNormFp32


def _apply_pool(pool: Any, seen: torch.Tensor, head: Any) -> torch.Tensor:
    """Apply the attention pool of a ResNet, optionally with other tensors."""
    import torch

    if not head:
        return pool(seen)
    tensors = {
        name.removeprefix("visual.attnpool."): torch.as_tensor(values, device=seen.device)
        for name, values in head.items()
        if name.startswith("visual.attnpool.")
    }
    return torch.func.functional_call(pool, tensors, (seen,))


class AutoBatchSize:
    """Forward pass that continues with half batches and a warning when the device first runs out of memory."""

    def __init__(self, forward: Callable[[Any], list[Any]]) -> None:
        self._forward = forward
        self._limit: int | None = None

    def __call__(self, batch: Sequence[Any]) -> list[Any]:
        """Return one result per item of the batch."""
        import torch

        step = self._limit or len(batch)
        try:
            return [out for start in range(0, len(batch), step) for out in self._forward(batch[start : start + step])]
        except torch.OutOfMemoryError:
            if self._limit is not None or len(batch) == 1:
                raise
        self._limit = (len(batch) + 1) // 2
        warn(
            f"the device ran out of memory with a batch of {len(batch)}, so batches of {self._limit} are used; "
            "pass a smaller `batch_size`"
        )
        return self(batch)
