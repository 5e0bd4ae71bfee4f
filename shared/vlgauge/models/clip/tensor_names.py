"""Conversion of the tensor names of all CLIP formats to the names of open_clip."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from vlgauge.checkpoints import known_tensors
from vlgauge.core.errors import UsageError

if TYPE_CHECKING:
    import torch

_HF_TOWERS = {"text_model.": "", "vision_model.": "visual."}
# Names within a tower of Hugging Face's CLIPModel, including its spelling "pre_layrnorm".
_HF_NAMES = {
    "embeddings.token_embedding.weight": "token_embedding.weight",
    "embeddings.position_embedding.weight": "positional_embedding",
    "embeddings.class_embedding": "class_embedding",
    "embeddings.patch_embedding.weight": "conv1.weight",
    "pre_layrnorm.weight": "ln_pre.weight",
    "pre_layrnorm.bias": "ln_pre.bias",
    "post_layernorm.weight": "ln_post.weight",
    "post_layernorm.bias": "ln_post.bias",
    "final_layer_norm.weight": "ln_final.weight",
    "final_layer_norm.bias": "ln_final.bias",
}
_HF_PARTS = {
    "layer_norm1": "ln_1",
    "layer_norm2": "ln_2",
    "mlp.fc1": "mlp.c_fc",
    "mlp.fc2": "mlp.c_proj",
    "self_attn.out_proj": "attn.out_proj",
}
_HF_LAYER = re.compile(r"encoder\.layers\.(\d+)\.(.+)\.(weight|bias)")


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
    if any(name.startswith(tuple(_HF_TOWERS)) for name in plain):
        return _from_hugging_face(plain)
    if "text.token_embedding.weight" in plain and "token_embedding.weight" in known:
        return {name.removeprefix("text."): tensor for name, tensor in plain.items()}
    return plain


def _from_hugging_face(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Rename the tensors of CLIPModel, concatenate q, k and v, and transpose the projections."""
    import torch

    renamed: dict[str, torch.Tensor] = {}
    stacks: dict[str, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        if name in ("visual_projection.weight", "text_projection.weight"):
            target = "visual.proj" if name.startswith("visual") else "text_projection"
            renamed[target] = tensor.T.contiguous()
            continue
        stack = re.fullmatch(r"(.+)\.self_attn\.([qkv])_proj\.(weight|bias)", name)
        if stack:
            out_proj = _hf_name(f"{stack[1]}.self_attn.out_proj.{stack[3]}")
            stacks.setdefault(out_proj.replace("out_proj.", "in_proj_"), {})[stack[2]] = tensor
        else:
            renamed[_hf_name(name)] = tensor
    for target, parts in stacks.items():
        if set(parts) == set("qkv"):  # missing tensors are reported by the check of the names
            renamed[target] = torch.cat([parts[part] for part in "qkv"])
    return renamed


# Names within a tower of SiglipModel, and the corresponding names in open_clip's text and image tower.
_SIGLIP_LAYER = re.compile(r"(text|vision)_model\.encoder\.layers\.(\d+)\.(.+)\.(weight|bias)")
_SIGLIP_TOWERS = {"text": "text.transformer.resblocks.", "vision": "visual.trunk.blocks."}
_SIGLIP_PARTS = {
    "text": _HF_PARTS,
    "vision": {
        "layer_norm1": "norm1",
        "layer_norm2": "norm2",
        "mlp.fc1": "mlp.fc1",
        "mlp.fc2": "mlp.fc2",
        "self_attn.out_proj": "attn.proj",
    },
}
_SIGLIP_NAMES = {
    "text_model.embeddings.token_embedding": "text.token_embedding",
    "text_model.final_layer_norm": "text.ln_final",
    "text_model.head": "text.text_projection",
    "vision_model.embeddings.patch_embedding": "visual.trunk.patch_embed.proj",
    "vision_model.post_layernorm": "visual.trunk.norm",
    "vision_model.head.attention.out_proj": "visual.trunk.attn_pool.proj",
    "vision_model.head.layernorm": "visual.trunk.attn_pool.norm",
    "vision_model.head.mlp.fc1": "visual.trunk.attn_pool.mlp.fc1",
    "vision_model.head.mlp.fc2": "visual.trunk.attn_pool.mlp.fc2",
}
# Tensors that have another shape in open_clip.
_SIGLIP_SHAPES: dict[str, tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "text_model.embeddings.position_embedding.weight": ("text.positional_embedding", lambda table: table),
    "vision_model.embeddings.position_embedding.weight": ("visual.trunk.pos_embed", lambda table: table[None]),
    "vision_model.head.probe": ("visual.trunk.attn_pool.latent", lambda probe: probe),
    "logit_scale": ("logit_scale", lambda number: number.reshape(())),
    "logit_bias": ("logit_bias", lambda number: number.reshape(())),
}


def is_siglip(names: Collection[str]) -> bool:
    """Return whether tensors have the names of Hugging Face's SiglipModel."""
    return "vision_model.head.probe" in names


def from_siglip(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Rename the tensors of SiglipModel to open_clip's names, and concatenate q, k and v. Unknown names are kept.

    Returns:
        The tensors by open_clip's names. Unknown names and their values are unchanged.
    """
    import torch

    renamed: dict[str, torch.Tensor] = {}
    stacks: dict[str, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        stem, _, kind = name.rpartition(".")
        layer = _SIGLIP_LAYER.fullmatch(name)
        if name in _SIGLIP_SHAPES:
            target, shaped = _SIGLIP_SHAPES[name]
            renamed[target] = shaped(tensor)
        elif stem in _SIGLIP_NAMES:
            renamed[f"{_SIGLIP_NAMES[stem]}.{kind}"] = tensor
        elif stem == "vision_model.head.attention" and kind.startswith("in_proj_"):
            pool, kind = "visual.trunk.attn_pool.", kind.removeprefix("in_proj_")
            width = len(tensor) // 3
            renamed[f"{pool}q.{kind}"], renamed[f"{pool}kv.{kind}"] = tensor[:width], tensor[width:]
        elif layer and layer[3] in _SIGLIP_PARTS[layer[1]]:
            part = _SIGLIP_PARTS[layer[1]][layer[3]]
            renamed[f"{_SIGLIP_TOWERS[layer[1]]}{layer[2]}.{part}.{layer[4]}"] = tensor
        elif layer and layer[3] in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"):
            joined = "attn.in_proj_" if layer[1] == "text" else "attn.qkv."
            target = f"{_SIGLIP_TOWERS[layer[1]]}{layer[2]}.{joined}{layer[4]}"
            stacks.setdefault(target, {})[layer[3].removeprefix("self_attn.")[0]] = tensor
        else:
            renamed[name] = tensor
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


def _hf_name(name: str) -> str:
    """Return open_clip's name of a tensor of CLIPModel that is only renamed."""
    for tower, prefix in _HF_TOWERS.items():
        inner = name.removeprefix(tower)
        if inner == name:
            continue
        if inner in _HF_NAMES:
            return prefix + _HF_NAMES[inner]
        layer = _HF_LAYER.fullmatch(inner)
        if layer and layer[2] in _HF_PARTS:
            return f"{prefix}transformer.resblocks.{layer[1]}.{_HF_PARTS[layer[2]]}.{layer[3]}"
    return name
