"""Conversion of the checkpoint of Polos' authors to a head, with a comparison of its encoders with the public ones.

The checkpoint was written by pytorch-lightning, whose classes are keys of a dictionary in it. Empty classes replace
them, and no code in the file is executed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.checkpoints import known_tensors
from vlgauge.checkpoints.files import sha256_of
from vlgauge.checkpoints.reading import read_torch_object, state_dict_in
from vlgauge.core.errors import UsageError
from vlgauge.models.clip.architectures import ClipArchitecture
from vlgauge.models.clip.checkpoints import clip_state
from vlgauge.models.hidden_layers import AllLayersEncoder
from vlgauge.models.rated.files import head_of, is_head, metadata_of
from vlgauge.models.rated.head import Head

if TYPE_CHECKING:
    import torch

# Objects that the trainer stored in addition to the tensors, by module and name.
_CALLBACKS = {"EarlyStopping": "early_stopping", "ModelCheckpoint": "model_checkpoint"}
STAND_INS = tuple(
    type(name, (), {"__module__": f"pytorch_lightning.callbacks.{module}"}) for name, module in _CALLBACKS.items()
)
"""Empty classes that replace the classes named in the checkpoint."""
# Training settings for which the head has the formula in `vlgauge.models.rated.head`.
_SETTINGS = {"layer": "mix", "pool": "cls", "activations": "Tanh", "final_activation": False}
_TEXT, _CLIP = "encoder.model.", "clip."
_IGNORED = "logit_scale"


def convert_polos(
    path: str | PathLike[str], row: ClipArchitecture, base_state: Mapping[str, torch.Tensor], text: AllLayersEncoder
) -> Head:
    """Return the head of the authors' checkpoint, after checking that its encoders are the public ones.

    Args:
        path: The checkpoint.
        row: Architecture of the CLIP.
        base_state: Tensors of the public CLIP, by open_clip's names.
        text: The public text encoder.

    Raises:
        ValueError: If the file is not such a checkpoint, its settings are not supported, or its encoders differ.
    """
    source = os.fspath(path)
    content = read_torch_object(path, allowed=STAND_INS)
    state = state_dict_in(content, Path(path))
    head = {name: tensor for name, tensor in state.items() if is_head(name)}
    parts = {prefix: _part(state, prefix) for prefix in (_TEXT, _CLIP)}
    if not head or not all(parts.values()):
        raise UsageError.about(
            "checkpoint",
            "must be the authors' checkpoint of Polos, with the tensors ff.*, scalar_mix.*, encoder.model.* and "
            f"clip.*, got {', '.join(sorted(state)[:3]) or 'none'} and so on in {source!r}",
        )
    _check_settings(content, source)
    _compare_texts(parts[_TEXT], text, source)
    _compare_clip(parts[_CLIP], row, base_state, source)
    about = {**metadata_of(base_state, row.architecture, text), "source_sha256": sha256_of(Path(path))}
    found = head_of(head, about, repr(source))
    found.check(layers=text.n_layers, text_width=text.width, embed_width=row.embed_width)
    return found


def _part(state: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def _check_settings(content: Any, source: str) -> None:
    """Check that the head has the supported formula. Missing settings are the defaults of the authors' code.

    Raises:
        ValueError: If a setting differs.
    """
    stored = content.get("hyper_parameters") if isinstance(content, Mapping) else None
    stored = stored if isinstance(stored, Mapping) else {}
    for name, wanted in _SETTINGS.items():
        # The class in the authors' code has another default for the last one.
        found = stored.get(name, "Sigmoid" if name == "final_activation" else wanted)
        if found != wanted and str(found) != str(wanted):
            raise UsageError.about(
                "checkpoint",
                f"must be trained with {name}: {wanted}, like the published one, got {found!r} in {source!r}",
            )


def _compare_texts(part: Mapping[str, torch.Tensor], text: AllLayersEncoder, source: str) -> None:
    public = text.tensors()
    own = {name: part[name] for name in known_tensors.surplus(part, known_tensors.LAYERS)}
    known_tensors.check_tensor_names(
        own, {name: tensor.shape for name, tensor in public.items()}, text.identity, source
    )
    _check_public_tensors(
        [name for name, tensor in own.items() if not tensor.float().equal(public[name].cpu())], text, source
    )


def _compare_clip(
    part: Mapping[str, torch.Tensor], row: ClipArchitecture, base: Mapping[str, torch.Tensor], source: str
) -> None:
    """Compare the CLIP of the authors, which was loaded on CUDA and therefore has matrices in float16."""
    own = clip_state(part, row, source=source)
    differing = [
        name
        for name, tensor in own.items()
        if name != _IGNORED and not tensor.equal(base[name]) and not tensor.equal(base[name].half().float())
    ]
    _check_public_tensors(differing, row, source)


def _check_public_tensors(differing: list[str], encoder: AllLayersEncoder | ClipArchitecture, source: str) -> None:
    if differing:
        what = encoder.name if isinstance(encoder, ClipArchitecture) else encoder.identity
        raise UsageError.about(
            "checkpoint",
            f"must have the tensors of the public {what}, with which its head is used, got {len(differing)} "
            f"different ones in {source!r}: {', '.join(sorted(differing)[:3])}",
        )
