"""LoRA adapters (Hu et al., 2022) in the format of LLaVA's training code, merged into the LLaVA model of transformers.

A folder contains ``adapter_config.json``, two low-rank matrices per matrix of the language model in
``adapter_model.safetensors`` or ``adapter_model.bin``, and the projection layers between image and text, which were
trained without LoRA, in ``non_lora_trainables.bin``. Only tensors are read, so neither peft nor LLaVA's code is
required.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vlgauge.checkpoints.reading import name_setting, read_tensors
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import short_repr
from vlgauge.models.judges.sources import JudgeFiles

if TYPE_CHECKING:
    import torch

MATRICES = ("adapter_model.safetensors", "adapter_model.bin")
WHOLE = "non_lora_trainables.bin"

# Names of layers in LLaVA, and the corresponding names in transformers.
_LAYERS = (
    (re.compile(r"model\.(?=layers\.)"), "model.language_model."),
    (re.compile(r"model\.mm_projector\.0\."), "model.multi_modal_projector.linear_1."),
    (re.compile(r"model\.mm_projector\.2\."), "model.multi_modal_projector.linear_2."),
)
# Both prefixes may occur, depending on the class of the trained model.
_WRAPPED = re.compile(r"(base_model\.)?(model\.(?=model\.))?")
_THIN = re.compile(r"(?P<layer>.+)\.lora_(?P<side>[AB])(\.default)?\.weight")
# Fields of adapter_config.json that would change the computation, and their supported values.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "peft_type": ("LORA",),
    "bias": (None, "none"),
    "fan_in_fan_out": (None, False),
    "use_dora": (None, False),
    "modules_to_save": (None, []),
    "layer_replication": (None, []),
    "rank_pattern": (None, {}),
    "alpha_pattern": (None, {}),
    "trainable_token_indices": (None, {}, []),
    "target_parameters": (None, []),
}


def add_adapter(model: torch.nn.Module, files: JudgeFiles) -> None:
    """Merge an adapter into a LLaVA model in place.

    Each adapted matrix W becomes ``W + s B A``, with the scale ``s`` of `scale_of`. Layers that were trained without
    LoRA are replaced. Every tensor of the adapter must match exactly one parameter of the model.

    Args:
        model: The LLaVA model of transformers.
        files: Files and configuration of the adapter.

    Raises:
        ValueError: If the adapter is not a plain LoRA of this model, has a layer twice or makes a weight infinite, or
            if parts of the model are not in memory.
    """
    import torch

    scale = scale_of(files.config)
    own = dict(model.named_parameters())
    with name_setting("adapter"):
        thin = read_tensors(next(files.folder / name for name in MATRICES if (files.folder / name).is_file()))
        file = files.folder / WHOLE
        whole = read_tensors(file) if file.is_file() else {}
    sides: dict[str, dict[str, torch.Tensor]] = {}
    is_twice = False
    for name, value in thin.items():
        found = _THIN.fullmatch(name)
        pair = sides.setdefault(own_name(found["layer"] if found else name), {})
        side = found["side"] if found else ""
        is_twice |= side in pair
        pair[side] = value
    rank = files.config["r"]
    added = {f"{layer}.weight": _product(layer, pair, rank, files.name) for layer, pair in sides.items()}
    if not added:
        raise UsageError.about("adapter", f"must have the matrices of at least one layer, got none in {files.name!r}")
    changed = {own_name(name): value for name, value in whole.items()}
    if is_twice or len(changed) < len(whole) or changed.keys() & added.keys():
        raise UsageError.about("adapter", f"must contain each layer once, got one twice in {files.name!r}")
    for name, value in {**added, **changed}.items():
        if name not in own or own[name].shape != value.shape:
            of = "no such layer" if name not in own else f"{tuple(own[name].shape)}"
            raise UsageError.about(
                "adapter",
                f"must be an adapter of this model, got {name} of shape {tuple(value.shape)} in {files.name!r}, "
                f"where the model has {of}",
            )
        if own[name].is_meta:
            raise UsageError.about(
                "device_map",
                "must keep a model with an `adapter` in memory, got one that keeps parts of it on the disk or "
                "moves them between devices",
                "choose another one, or a smaller `dtype`",
            )
    with torch.no_grad():
        for name, value in added.items():
            weight, more = own[name], scale * value
            if not more.isfinite().all():
                raise UsageError.about(
                    "adapter",
                    f"must add finite numbers, got lora_alpha {files.config['lora_alpha']} in {files.name!r}, which "
                    f"makes {name} infinite",
                )
            weight.add_(more.to(weight.device, weight.dtype))
        for name, value in changed.items():
            own[name].copy_(value)


def scale_of(config: Mapping[str, Any]) -> float:
    """Return the factor of the product of the low-rank matrices: alpha / r, or alpha / sqrt(r) for "rslora".

    Raises:
        ValueError: If the adapter is not a plain LoRA, or alpha or r is not a positive number.
    """
    for field, plain in _PLAIN.items():
        if config.get(field) not in plain:
            raise UsageError.about(
                "adapter", f"must be a plain LoRA, got {field}: {short_repr(config.get(field))} in its settings"
            )
    alpha, rank = config.get("lora_alpha"), config.get("r")
    if not all(
        isinstance(one, (int, float)) and not isinstance(one, bool) and 0 < one < math.inf for one in (alpha, rank)
    ):
        raise UsageError.about(
            "adapter", f"must have lora_alpha and r, two numbers above 0, got {alpha!r} and {rank!r}"
        )
    assert alpha is not None  # checked above
    assert rank is not None
    return float(alpha) / (math.sqrt(rank) if config.get("use_rslora") else rank)


def own_name(name: str) -> str:
    """Return the name of a LLaVA tensor or layer in transformers.

    Names without a counterpart are returned without the prefixes of wrappers.
    """
    bare = _WRAPPED.sub("", name, count=1)
    for pattern, here in _LAYERS:
        if pattern.match(bare):
            return pattern.sub(here, bare, count=1)
    return bare


def _product(layer: str, pair: Mapping[str, torch.Tensor], rank: int, name: str) -> torch.Tensor:
    """Return ``B A`` in float32, shape ``(n_out, n_in)``."""
    fits = pair.keys() == {"A", "B"} and all(value.dim() == 2 for value in pair.values())
    if not fits or {pair["B"].shape[1], len(pair["A"])} != {rank}:
        raise UsageError.about(
            "adapter",
            f"must have the matrices lora_A and lora_B of rank {rank} for each layer, got other ones for {layer} "
            f"in {name!r}",
        )
    return pair["B"].float() @ pair["A"].float()
