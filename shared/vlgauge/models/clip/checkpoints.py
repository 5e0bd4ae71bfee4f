"""Loading of CLIP checkpoints in all published formats, with checks that a checkpoint is not plain CLIP by mistake."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vlgauge.checkpoints.files import sha256_of
from vlgauge.checkpoints.known_tensors import check_tensor_names
from vlgauge.checkpoints.reading import check_file, name_setting, read_tensors
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import warn
from vlgauge.models.clip.architectures import OPENAI_ARCHIVES, ClipArchitecture
from vlgauge.models.clip.heads import (
    FORMAT,
    FULL_FORMAT,
    Adapter,
    adapter_of,
    heads_digest,
    heads_of,
    is_head,
    read_adapter,
    safetensors_metadata,
)
from vlgauge.models.clip.lora import has_lora, merge_lora
from vlgauge.models.clip.model import list_expected_shapes
from vlgauge.models.clip.tensor_names import SECOND_POSITIONS, from_siglip, is_siglip, join_positions, normalize_names

if TYPE_CHECKING:
    import torch

State = dict[str, "torch.Tensor"]


# Not used in scores, but training may change it.
_IGNORED = "logit_scale"
# Relative rounding error of bfloat16, and smallest step of float16.
_RELATIVE_ROUNDING, _ABSOLUTE_ROUNDING = 2.0**-8, 1e-7

_warned: set[str] = set()


@dataclass(frozen=True)
class Checkpoint:
    """Result of loading a checkpoint for a backbone.

    Attributes:
        adapter: Heads for the base, if nothing else differs from it. None for a whole CLIP, because more differs or the
            base was not available.
        verified: Whether the heads were compared with the heads of the base. If not, signatures contain a note.
    """

    adapter: Adapter | None
    verified: bool = True


def read_state(path: Path, row: ClipArchitecture, *, setting: str = "weights") -> State:
    """Read the tensors of a weights file by open_clip's names.

    Raises:
        ValueError: If the tensors do not fit the architecture. See `clip_state`.
    """
    shapes = list_expected_shapes(row)
    with name_setting(setting):
        tensors = read_tensors(path, archives=OPENAI_ARCHIVES)
        if any(name.startswith("text.") for name in shapes):
            # Other text towers have the names of open_clip, except for SigLIP.
            tensors = from_siglip(tensors) if is_siglip(tensors) else tensors
            check_tensor_names(tensors, shapes, row.architecture, str(path))
            return tensors
        return clip_state(tensors, row, source=str(path))


def clip_state(tensors: Mapping[str, torch.Tensor], row: ClipArchitecture, *, source: str) -> State:
    """Convert the tensors of a file to the state dict of an architecture.

    Args:
        tensors: Output of `read_tensors`, with names of OpenAI, open_clip or Hugging Face's CLIPModel, with or without
            the prefix ``module.``, with or without the low-rank updates of PAC-S++.
        row: The architecture.
        source: File, for messages.

    Returns:
        State dict with open_clip's names, complete and finite. Floats are float32, and low-rank updates are merged.

    Raises:
        ValueError: If tensors are missing, unknown, of another shape or not finite.
    """
    wanted = list_expected_shapes(row)
    plain = normalize_names(tensors, wanted)
    if has_lora(plain):
        plain = merge_lora(plain, source=source)
    if row.first_positions is not None:
        plain = join_positions(plain, row.first_positions, source)
    elif SECOND_POSITIONS in plain:
        raise UsageError.about(
            "weights",
            f"must be weights of {row.name}, got weights of a Long-CLIP in {source!r}",
            "pass the `backbone` 'longclip-b', 'longclip-l' or 'specs'",
        )
    check_tensor_names(plain, wanted, row.architecture, source)
    return {name: tensor.detach().float() if tensor.is_floating_point() else tensor for name, tensor in plain.items()}


def differences(state: Mapping[str, torch.Tensor], base: Mapping[str, torch.Tensor]) -> dict[str, float]:
    """Return the largest absolute difference from the base by tensor, for every tensor that is used in scores.

    Args:
        state: Tensors by open_clip's names.
        base: Tensors of the base by the same names, with the same shapes.
    """
    return {
        name: float((tensor.double() - base[name].double()).abs().max())
        for name, tensor in state.items()
        if name != _IGNORED
    }


def load_checkpoint(
    path: str | PathLike[str], row: ClipArchitecture, base_state: Mapping[str, torch.Tensor] | None
) -> Checkpoint:
    """Load an adapter or a whole CLIP. A whole CLIP that differs from the base only in its heads becomes an adapter.

    Args:
        path: Adapter, or any file supported by `read_tensors`.
        row: Architecture of the backbone.
        base_state: `clip_state` of the backbone. None if it is not available.

    Raises:
        ValueError: If the file does not fit the backbone or is equal to it, or is an adapter without `base_state`.

    Warns:
        UserWarning: If a whole CLIP cannot be compared with the base.
    """
    source = os.fspath(path)
    metadata = safetensors_metadata(path)
    if metadata.get("format") == FORMAT:
        if base_state is None:
            raise UsageError.about(
                "checkpoint",
                f"is an adapter, which requires the weights of {row.name}, but they are not available: {source!r}",
            )
        return Checkpoint(check_adapter(read_adapter(path), row, base_state, source=source))
    _check_architecture(metadata.get("architecture"), row, source)
    tensors = read_tensors(path, archives=OPENAI_ARCHIVES)
    state = clip_state(tensors, row, source=source)
    if base_state is None:
        # Nonzero updates differ from plain CLIP, and converted files were compared during the conversion.
        updated = any(name.endswith("lora_B") and bool(tensor.any()) for name, tensor in tensors.items())
        verified = updated or metadata.get("format") == FULL_FORMAT
        if not verified:
            _warn_uncompared(heads_digest(state), row, source)
        return Checkpoint(None, verified)
    check_no_base(state, base_state, row, source)
    if not all(
        tensor.equal(base_state[name]) for name, tensor in state.items() if not is_head(name) and name != _IGNORED
    ):
        return Checkpoint(None)
    about = {"kind": "custom", "architecture": row.architecture, "source_sha256": sha256_of(check_file(path))}
    return Checkpoint(adapter_of(state, {**about, "base_projections_sha256": heads_digest(base_state)}))


def check_adapter(
    adapter: Adapter, row: ClipArchitecture, base_state: Mapping[str, torch.Tensor], *, source: str
) -> Adapter:
    """Check that an adapter belongs to the backbone and is not the backbone's own head, and return it.

    Args:
        adapter: The adapter.
        row: Architecture of the backbone.
        base_state: `clip_state` of the backbone.
        source: File, for messages.

    Raises:
        ValueError: If the adapter has heads of other shapes, was trained on other weights, or equals the backbone's
            head.
    """
    _check_architecture(adapter.metadata["architecture"], row, source)
    base = heads_of(base_state)
    wanted = {name: matrix.shape for name, matrix in base.items()}
    found = {name: matrix.shape for name, matrix in adapter.tensors.items()}
    if found != wanted:
        raise UsageError.about(
            "checkpoint", f"must have heads of shapes {wanted} for {row.architecture}, got {found} in {source!r}"
        )
    trained_on, here = adapter.metadata["base_projections_sha256"], heads_digest(base)
    if trained_on != here:
        raise UsageError.about(
            "checkpoint",
            f"must be an adapter for these weights of {row.name} (heads {here[:8]}), got one for other weights "
            f"(heads {trained_on[:8]}) in {source!r}",
        )
    if all(_equal_but_rounded(adapter.tensors[name], matrix) for name, matrix in base.items()):
        raise _plain_clip(row, source)
    return adapter


def check_no_base(
    state: Mapping[str, torch.Tensor], base: Mapping[str, torch.Tensor], row: ClipArchitecture, source: str
) -> None:
    """Check that a whole CLIP is not the base itself, even after rounding to half precision.

    Args:
        state: Tensors of the checkpoint, as returned by `clip_state`.
        base: Tensors of the base by the same names.
        row: Architecture of the base.
        source: File, for messages.

    Raises:
        ValueError: If it is the base.
    """
    heads_first = sorted(set(state) - {_IGNORED}, key=lambda name: (not is_head(name), name))
    changed = (name for name in heads_first if not _equal_but_rounded(state[name].numpy(), base[name].numpy()))
    if next(changed, None) is None:
        raise _plain_clip(row, source)


def _warn_uncompared(digest: str, row: ClipArchitecture, source: str) -> None:
    """Warn, once per head, that it could not be compared with the head of the base."""
    if digest not in _warned:
        _warned.add(digest)
        warn(
            f"{source!r} was not compared with plain CLIP, because the weights of {row.name} are not available; "
            f"run: vlgauge prefetch clip:{row.name}"
        )


def _check_architecture(architecture: str | None, row: ClipArchitecture, source: str) -> None:
    if architecture not in (None, row.architecture):
        raise UsageError.about(
            "checkpoint", f"must be for {row.architecture}, got one for {architecture} in {source!r}"
        )


def _equal_but_rounded(values: np.ndarray, base: np.ndarray) -> bool:
    return bool(np.allclose(values, base, rtol=_RELATIVE_ROUNDING, atol=_ABSOLUTE_ROUNDING))


def _plain_clip(row: ClipArchitecture, source: str) -> UsageError:
    return UsageError.about(
        "checkpoint",
        f"must differ from the CLIP weights of {row.name}, got {source!r}",
        "use clip_s without `checkpoint`, or pass the weights of PAC-S",
    )
