"""Low-rank updates of PAC-S++ checkpoints, merged into the matrices that they update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vlgauge.core.errors import UsageError

if TYPE_CHECKING:
    import torch

RANK = 4
SCALE = 1.0 / RANK  # alpha / r of Sarto et al. (PAC-S++) with alpha = 1

# The released model contains these updates, but its forward pass never applies them.
_NOT_APPLIED = (".mlp.c_fc", ".mlp.c_proj")
_ALWAYS_UPDATED = (".attn.in_proj_weight", ".attn.out_proj.weight", "visual.conv1.weight")


def has_lora(tensors: Mapping[str, torch.Tensor]) -> bool:
    """Return whether the tensors of a checkpoint, by name, contain low-rank updates."""
    return any(name.endswith(("lora_A", "lora_B")) for name in tensors)


def merge_lora(tensors: Mapping[str, torch.Tensor], *, source: str) -> dict[str, torch.Tensor]:
    """Merge the updates of a LoRA checkpoint: W + B A alpha / r for attention and patch embedding, as released.

    Args:
        tensors: Tensors by OpenAI's names. The updates of ``X.weight`` are ``X.lora_A`` and ``X.lora_B``, and the
            updates of ``attn.in_proj_weight`` are ``attn.in_proj_weight_lora_A`` and ``_B``.
        source: File, for messages.

    Returns:
        The tensors without the updates. Merged tensors are float32.

    Raises:
        ValueError: If an update is missing, incomplete or of another rank.
    """
    plain = {name: tensor for name, tensor in tensors.items() if not name.endswith(("lora_A", "lora_B"))}
    stems = {_find_updated_name(name[:-1]): name[:-1] for name in tensors if name not in plain}
    if missing := sorted(name for name in plain if name.endswith(_ALWAYS_UPDATED) and name not in stems):
        raise UsageError.about(
            "checkpoint", f"must have a LoRA update for each layer, got none for {missing[0]!r} in {source!r}"
        )
    for updated, stem in sorted(stems.items()):
        for needed in (stem + "A", stem + "B", updated):
            if needed not in tensors:
                raise UsageError.about(
                    "checkpoint", f"must have both matrices of each LoRA update, got no {needed!r} in {source!r}"
                )
        if not updated.removesuffix(".weight").endswith(_NOT_APPLIED):
            plain[updated] = _merge_update(tensors[updated], tensors[stem + "A"], tensors[stem + "B"], updated, source)
    return plain


def _find_updated_name(stem: str) -> str:
    """Return the name of the tensor that ``stem + "A"`` and ``stem + "B"`` update."""
    if stem.endswith("_weight_lora_"):
        return stem.removesuffix("_lora_")
    return stem.removesuffix("lora_") + "weight"


def _merge_update(weight: torch.Tensor, a: torch.Tensor, b: torch.Tensor, name: str, source: str) -> torch.Tensor:
    # A convolution of kernel size k has k times the rank, so that B A has as many entries as its weight.
    rank = RANK * (weight.shape[-1] if weight.ndim == 4 else 1)
    fits = a.ndim == 2 and b.ndim == 2 and len(a) == b.shape[1] == rank and len(b) * a.shape[1] == weight.numel()
    if not fits:
        raise UsageError.about(
            "checkpoint",
            f"must have LoRA updates of rank {RANK}, got {tuple(b.shape)} times {tuple(a.shape)} for {name!r} of "
            f"shape {tuple(weight.shape)} in {source!r}",
        )
    return weight.float() + (b.float() @ a.float()).view(weight.shape) * SCALE
