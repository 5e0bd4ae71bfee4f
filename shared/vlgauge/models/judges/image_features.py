"""Cache of the outputs of image towers, so that each image is encoded once for all questions about it."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from vlgauge.core.context_values import context_value
from vlgauge.core.lru_cache import LRUCache

if TYPE_CHECKING:
    import torch

# Maximum size of the cache in CPU memory, in bytes. LLaVA-1.5 13B produces 11.8 MB per image in float32, so about 180
# images are kept.
MOST_BYTES = 2**31


@dataclass(frozen=True)
class _Seen:
    """Features of one image.

    Attributes:
        tokens: Its tokens, shape ``(n_tokens, width)``.
        deeper: Additional tokens for deeper layers of the text model.
    """

    tokens: torch.Tensor
    deeper: tuple[torch.Tensor, ...] = ()

    @property
    def n_bytes(self) -> int:
        return sum(one.numel() * one.element_size() for one in (self.tokens, *self.deeper))


class ImageFeatureCache:
    """Caching replacement for the method `get_image_features` of a model. Without this method, nothing is cached.

    While gradients are enabled, every image is encoded again.

    Attributes:
        passes: Number of images encoded so far, without passes for gradients.
    """

    def __init__(self, model: Any) -> None:
        self.passes = 0
        self._kept: LRUCache[bytes, _Seen] = LRUCache(MOST_BYTES, lambda seen: seen.n_bytes)
        # If two threads request the same image, the second one uses the cached features of the first.
        self._lock = threading.RLock()
        self._parameters = list(model.parameters())
        self._saved = _create_gradient_guard(self._parameters)
        self._is_known = True
        self._like: Callable[[Sequence[Any], Any], Any]
        self._keys: ContextVar[Sequence[bytes] | None] = ContextVar("images", default=None)
        inner = getattr(model, "model", model)
        self._make: Callable[..., Any] | None = getattr(inner, "get_image_features", None)
        if self._make is not None:
            self._arguments = inspect.signature(self._make)
            stand_in: Any = partial(self._features)
            stand_in.__signature__ = self._arguments  # `generate` inspects it to find the supported arguments
            inner.get_image_features = stand_in

    @contextmanager
    def of(self, images: Sequence[bytes]) -> Iterator[None]:
        """Declare that the image rows passed to the model inside the context are these images, in this order.

        Args:
            images: Key of each image. The cache is disabled in the context if one of them is empty.
        """
        with self._lock:
            self._forget_older()
        with context_value(self._keys, images if all(images) else None):
            yield

    def _features(self, *args: Any, **named: Any) -> Any:
        """Return the features of the images, computing only the missing ones."""
        import torch

        assert self._make is not None  # the replacement is only installed if the method exists
        keys, found = self._keys.get(), None
        if keys is not None and not torch.is_grad_enabled():
            given = self._arguments.bind(*args, **named).arguments
            with self._lock:
                found = self._find_known(keys, {**given, **given.pop("kwargs", {})})
        return self._make(*args, **named) if found is None else found

    def _find_known(self, keys: Sequence[bytes], given: Mapping[str, Any]) -> Any:
        """Return the features of these images, or None if inputs or outputs cannot be split by image."""
        import torch

        assert self._make is not None  # only called by the replacement of the method
        parts = _by_image(given, len(keys)) if self._is_known else None
        if parts is None:
            return None
        seen = {key: self._kept.get(key) for key in keys}
        new = [row for row, key in enumerate(keys) if seen[key] is None and key not in keys[:row]]
        if new:
            self.passes += len(new)
            some = {name: torch.cat([own[row] for row in new]) for name, own in parts.items()}
            made = self._split(self._make(**{**given, **some}), len(new))
            self._is_known = bool(made)
            for row, one in zip(new, made, strict=False):
                seen[keys[row]] = one
                self._kept.put(keys[row], one)
        return self._like([seen[key] for key in keys], given["pixel_values"].device) if self._is_known else None

    def _split(self, made: Any, n: int) -> list[_Seen]:
        """Return the features of each of `n` images, and remember how to assemble outputs from them.

        Returns:
            The features. Empty if the output has an unknown form.
        """
        import torch

        tokens, deeper = getattr(made, "pooler_output", None), getattr(made, "deepstack_features", None)
        if tokens is None or len(tokens) != n:
            return []
        stacked = isinstance(tokens, torch.Tensor)
        sizes = [len(one) for one in tokens]
        whole = deeper is not None and isinstance(deeper[0], torch.Tensor)
        layers = [layer.split(sizes) if whole else layer for layer in deeper or ()]
        kind = type(made)

        def like(seen: Sequence[Any], device: Any) -> Any:
            own = [one.tokens.to(device) for one in seen]
            fields: dict[str, Any] = {"pooler_output": torch.stack(own) if stacked else tuple(own)}
            if layers:
                parts = [tuple(one.deeper[i].to(device) for one in seen) for i in range(len(layers))]
                fields["deepstack_features"] = [torch.cat(part) for part in parts] if whole else parts
            return kind(**fields)

        self._like = like
        return [_Seen(tokens[i].cpu(), tuple(layer[i].cpu() for layer in layers)) for i in range(n)]

    def _forget_older(self) -> None:
        """Clear the cache if the weights were changed in place, for example by training."""
        try:
            _ = self._saved.grad_fn.saved_tensors
        except RuntimeError:  # a weight was changed since it was saved
            self.forget()
            self._saved = _create_gradient_guard(self._parameters)

    def forget(self) -> None:
        """Clear the cache."""
        self._kept.clear()


def _create_gradient_guard(tensors: Sequence[torch.Tensor]) -> Any:
    """Return a tensor whose `grad_fn.saved_tensors` raises RuntimeError if one of these tensors was changed.

    Older versions of torch free the saved tensors together with the output, so the output is returned, not its node.
    """
    import torch

    class Save(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, start: torch.Tensor, *saved: torch.Tensor) -> torch.Tensor:
            context.save_for_backward(*saved)
            return start.clone()

    with torch.enable_grad():
        start: Any = torch.zeros((), requires_grad=True)
        return Save.apply(start, *tensors)


def _by_image(given: Mapping[str, Any], n: int) -> dict[str, Sequence[torch.Tensor]] | None:
    """Split every input tensor of an image tower by image, or return None if a tensor cannot be split."""
    import torch

    grid = given.get("image_grid_thw")
    found = {}
    for name, value in given.items():
        if isinstance(value, torch.Tensor):
            sizes = [1] * n if grid is None or name != "pixel_values" else grid.prod(-1).tolist()
            if value.dim() == 0 or len(value) != sum(sizes):
                return None
            found[name] = value.split(sizes)
    return found if "pixel_values" in found else None
