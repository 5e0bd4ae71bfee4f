"""Conversion of the tensor names of all CLIP formats to the names of open_clip."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from vlgauge.checkpoints import known_tensors
from vlgauge.core.errors import UsageError
from vlgauge.core.files import DATA

if TYPE_CHECKING:
    import torch

# Names of the tensors in the models of Hugging Face, including its spelling "pre_layrnorm", and those in open_clip.
_RULES: dict[str, dict[str, str]] = json.loads((DATA / "tensor_names.json").read_text("utf-8"))
_FIELDS = {
    "layer": r"(?P<layer>\d+)",
    "number": "(?P<number>[12])",
    "part": "(?P<part>[qkv])",
    "kind": "(?P<kind>weight|bias)",
}


def normalize_names(tensors: Mapping[str, torch.Tensor], known: Collection[str]) -> dict[str, torch.Tensor]:
    """Rename tensors to the names of open_clip and OpenAI. Unknown names are kept.

    This omits the tensors listed in `vlgauge.checkpoints.known_tensors`, removes the prefix ``module.`` of
    data-parallel training, renames the tensors of Hugging Face's CLIPModel, and removes the prefix ``text.`` of
    open_clip's other text layout.

    Args:
        tensors: Tensors by name.
        known: Names of the tensors of the architecture.

    Returns:
        The tensors by the new names, with unchanged values, shapes and dtypes.
    """
    plain = {name: tensors[name] for name in known_tensors.surplus(tensors, known_tensors.CLIP)}
    if plain and all(name.startswith("module.") for name in plain):
        plain = {name.removeprefix("module."): tensor for name, tensor in plain.items()}
    if any(name.startswith(("text_model.", "vision_model.")) for name in plain):
        return _from_hugging_face(plain)
    if "text.token_embedding.weight" in plain and "token_embedding.weight" in known:
        return {name.removeprefix("text."): tensor for name, tensor in plain.items()}
    return plain


def _from_hugging_face(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Rename the tensors of CLIPModel, concatenate q, k and v, and transpose the projections."""
    renamed = _rename(tensors, _RULES["CLIPModel"])
    transposed = {name: renamed[name].T.contiguous() for name in ("visual.proj", "text_projection") if name in renamed}
    return renamed | transposed


def is_siglip(names: Collection[str]) -> bool:
    """Return whether tensors have the names of Hugging Face's SiglipModel."""
    return "vision_model.head.probe" in names


def from_siglip(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Rename the tensors of SiglipModel to open_clip's names, and concatenate q, k and v. Unknown names are kept.

    Returns:
        The tensors by open_clip's names. Unknown names and their values are unchanged.
    """
    renamed = _rename(tensors, _RULES["SiglipModel"])
    pool, positions = "visual.trunk.attn_pool", "visual.trunk.pos_embed"
    for kind in ("weight", "bias"):
        joined = renamed.pop(f"{pool}.qkv.{kind}", None)
        if joined is not None:
            width = len(joined) // 3
            renamed |= {f"{pool}.q.{kind}": joined[:width], f"{pool}.kv.{kind}": joined[width:]}
    shaped = {name: renamed[name].reshape(()) for name in ("logit_scale", "logit_bias") if name in renamed}
    return renamed | shaped | ({positions: renamed[positions][None]} if positions in renamed else {})


def _rename(tensors: Mapping[str, torch.Tensor], rules: Mapping[str, str]) -> dict[str, torch.Tensor]:
    """Rename tensors, and concatenate q, k and v. Unknown names are kept.

    Args:
        tensors: Tensors by name.
        rules: New names by old names, with placeholders of `_FIELDS`. Tensors that differ in ``part`` are concatenated.
    """
    import torch

    patterns = {re.compile(old.replace(".", r"\.").format(**_FIELDS)): new for old, new in rules.items()}
    renamed: dict[str, torch.Tensor] = {}
    stacks: dict[str, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        target = name
        fields: dict[str, str] = {}
        for pattern, new in patterns.items():
            if found := pattern.fullmatch(name):
                fields = found.groupdict()
                target = new.format(**fields)
        if "part" in fields:
            stacks.setdefault(target, {})[fields["part"]] = tensor
        else:
            renamed[target] = tensor
    for target, parts in stacks.items():
        if set(parts) == set("qkv"):  # missing tensors are reported by the check of the names
            renamed[target] = torch.cat([parts[part] for part in "qkv"])
    return renamed


# Second position table of a Long-CLIP. The first one has the usual name.
SECOND_POSITIONS = "positional_embedding_res"


def join_positions(tensors: Mapping[str, torch.Tensor], first: int, source: str) -> dict[str, torch.Tensor]:
    """Join the two position tables of a Long-CLIP: the first rows of one, then the remaining rows of the other.

    The remaining rows of the first and the first rows of the second table are never used (Zhang et al., 2024).

    Args:
        tensors: Tensors of a Long-CLIP by name.
        first: Number of rows of the first table.
        source: File, for messages.

    Raises:
        ValueError: If a table is missing or the shapes differ.
    """
    import torch

    own, other = tensors.get("positional_embedding"), tensors.get(SECOND_POSITIONS)
    if own is None or other is None or own.shape != other.shape:
        raise UsageError.about(
            "weights",
            f"must be weights of a Long-CLIP, which has two tables of positions, got {source!r} without "
            f"{SECOND_POSITIONS} of the shape of positional_embedding",
            "choose another `backbone` for 77 tokens",
        )
    plain = {name: tensor for name, tensor in tensors.items() if name != SECOND_POSITIONS}
    return {**plain, "positional_embedding": torch.cat([own[:first], other[first:]])}
