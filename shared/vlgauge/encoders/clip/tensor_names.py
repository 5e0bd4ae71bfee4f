"""One set of names for CLIP's tensors, whoever saved them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from vlgauge.weights import known_tensors

if TYPE_CHECKING:
    import torch

_HF_TOWERS = {"text_model.": "", "vision_model.": "visual."}
# Within a tower of Hugging Face's CLIPModel; "pre_layrnorm" is spelled so there.
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


def normalised(tensors: Mapping[str, torch.Tensor], known: Collection[str]) -> dict[str, torch.Tensor]:
    """The tensors under the names that open_clip (and OpenAI) give them, if they are `known`; others stay.

    Leaves out what `vlgauge.weights.known_tensors` lists, takes away the prefix ``module.`` of data-parallel training,
    renames the tensors of Hugging Face's CLIPModel, and moves ``text.*`` of open_clip's other text layout to the top.
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
    """Names of CLIPModel; q, k and v are stacked, the projections transposed."""
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
        if set(parts) == set("qkv"):  # else the check of the names tells that it is missing
            renamed[target] = torch.cat([parts[part] for part in "qkv"])
    return renamed


def _hf_name(name: str) -> str:
    """open_clip's name of a tensor of CLIPModel that is only renamed."""
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
