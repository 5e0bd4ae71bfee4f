"""Conversion of a released checkpoint to a small adapter, after comparing every tensor with the base."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vlgauge.checkpoints.files import sha256_of
from vlgauge.checkpoints.reading import read_tensors
from vlgauge.checkpoints.tensors import write_tensors
from vlgauge.core.errors import UsageError
from vlgauge.models.clip.architectures import OPENAI_ARCHIVES, ClipArchitecture
from vlgauge.models.clip.checkpoints import check_no_base, clip_state, differences
from vlgauge.models.clip.heads import (
    FORMAT,
    FULL_FORMAT,
    Adapter,
    adapter_of,
    heads_digest,
    is_head,
    safetensors_metadata,
    write_adapter,
)
from vlgauge.models.clip.lora import has_lora

if TYPE_CHECKING:
    import torch

# Weight w of the score in the paper, recorded in the file.
_PAC_S_W = "2.0"


@dataclass(frozen=True, eq=False)
class Conversion:
    """Result of a conversion.

    Attributes:
        adapter: The heads. None if more than the heads differs from the base.
        state: The tensors of the whole CLIP by open_clip's names.
        differences: Largest absolute difference from the base, by tensor.
        lora: Whether the checkpoint contained low-rank updates.
        metadata: Metadata of the file to write.
    """

    adapter: Adapter | None
    state: dict[str, torch.Tensor]
    differences: dict[str, float]
    lora: bool
    metadata: dict[str, str]

    @property
    def changed(self) -> dict[str, float]:
        """Tensors that differ, sorted by descending difference."""
        differing = {name: value for name, value in self.differences.items() if value}
        return dict(sorted(differing.items(), key=lambda item: -item[1]))

    def write(self, path: str | PathLike[str]) -> None:
        """Write the adapter, or the whole CLIP, as safetensors.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        if self.adapter is not None:
            write_adapter(path, self.adapter)
        else:
            write_tensors(path, self.state, self.metadata)


def convert(
    path: str | PathLike[str],
    row: ClipArchitecture,
    base_state: Mapping[str, torch.Tensor],
    *,
    base_sha256: str,
    kind: Literal["pac_s", "custom"] = "pac_s",
) -> Conversion:
    """Convert a checkpoint after comparing it with its base.

    Args:
        path: The checkpoint.
        row: Architecture of the base.
        base_state: Tensors of the base by open_clip's names.
        base_sha256: SHA-256 of the weights of the base.
        kind: Kind of the checkpoint.

    Raises:
        ValueError: If the checkpoint is an adapter, does not fit the architecture, or is equal to the base.
    """
    source = os.fspath(path)
    if safetensors_metadata(path).get("format") == FORMAT:
        raise UsageError.about(
            "checkpoint", f"must be a complete CLIP, got an adapter, which does not require conversion: {source!r}"
        )
    tensors = read_tensors(path, archives=OPENAI_ARCHIVES)
    state = clip_state(tensors, row, source=source)
    check_no_base(state, base_state, row, source)
    found = differences(state, base_state)
    metadata = {
        "kind": kind,
        "architecture": row.architecture,
        "base_weights": base_sha256,
        "base_projections_sha256": heads_digest(base_state),
        "source_sha256": sha256_of(Path(path)),
        **({"w": _PAC_S_W} if kind == "pac_s" else {}),
    }
    if not any(value for name, value in found.items() if not is_head(name)):
        return Conversion(adapter_of(state, metadata), state, found, has_lora(tensors), metadata)
    changed = ",".join(name for name, value in found.items() if value)
    return Conversion(None, state, found, has_lora(tensors), {**metadata, "format": FULL_FORMAT, "changed": changed})
