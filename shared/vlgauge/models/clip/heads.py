"""Adapters: projection matrices that replace the projections of an unchanged CLIP backbone, such as PAC-S."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.checkpoints.reading import check_file, is_safetensors
from vlgauge.checkpoints.tensors import tensors_digest, to_array, write_tensors
from vlgauge.core.errors import UsageError

FORMAT = "vlgauge-clip-adapter-1"
# Whole CLIP that was compared with its base.
FULL_FORMAT = "vlgauge-clip-1"
REQUIRED = ("kind", "architecture", "base_projections_sha256")

_POOL = "visual.attnpool."
Matrix = npt.NDArray[np.float32]


def is_head(name: str) -> bool:
    """Return whether a tensor belongs to the head.

    The head consists of the two projections, or of the attention pool and the text projection of a ResNet.
    """
    return name in ("visual.proj", "text_projection") or name.startswith(_POOL)


@dataclass(frozen=True, eq=False)
class Adapter:
    """Head of a CLIP, created by `adapter_of` or `read_adapter`.

    Attributes:
        tensors: Tensors by their names in open_clip, float32: ``text_projection`` and ``visual.proj`` of the shape
            ``(width, embed)``, or ``visual.attnpool.*`` of a ResNet instead of the latter.
        digest: `heads_digest` of its tensors, which does not depend on the file.
        metadata: Strings: kind ("pac_s", "custom"), architecture, base_projections_sha256, and optional entries.
    """

    tensors: dict[str, Matrix]
    digest: str
    metadata: dict[str, str]


def heads_of(state: Mapping[str, Any]) -> dict[str, Matrix]:
    """Return the tensors of the head in a state dict of torch tensors or NumPy arrays, float32."""
    return {name: to_array(tensor, np.float32) for name, tensor in state.items() if is_head(name)}


def heads_digest(state: Mapping[str, Any]) -> str:
    """Return the SHA-256 in hexadecimal digits over names, shapes and float32 values of the head in a state dict."""
    return tensors_digest(heads_of(state))


def adapter_of(state: Mapping[str, Any], metadata: Mapping[str, str]) -> Adapter:
    """Return the head of a state dict as an adapter.

    Args:
        state: Torch tensors or NumPy arrays. Tensors outside the head are ignored.
        metadata: Metadata with at least the keys `REQUIRED`.

    Raises:
        ValueError: If tensors or metadata are missing or invalid.
    """
    return _check_adapter(heads_of(state), dict(metadata), "the passed tensors")


def read_adapter(path: str | PathLike[str]) -> Adapter:
    """Read an adapter from safetensors.

    Raises:
        ValueError: If the file is not a complete adapter.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    metadata = safetensors_metadata(path)
    if metadata.get("format") != FORMAT:
        raise UsageError.about(
            "adapter",
            f"must be a safetensors file with format={FORMAT} in its metadata, got {metadata.get('format')!r} in "
            f"{os.fspath(path)!r}",
            "create one with: vlgauge convert",
        )
    try:
        tensors = load_file(path)
    except (SafetensorError, KeyError, TypeError) as error:  # a data type without NumPy equivalent raises KeyError
        raise UsageError.about(
            "adapter", f"must be complete, got {os.fspath(path)!r}, which fails with: {error}"
        ) from error
    return _check_adapter(tensors, metadata, repr(os.fspath(path)))


def write_adapter(path: str | PathLike[str], adapter: Adapter) -> None:
    """Write an adapter as safetensors, creating or replacing the file atomically.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    write_tensors(path, adapter.tensors, {**adapter.metadata, "format": FORMAT})


def safetensors_metadata(path: str | PathLike[str]) -> dict[str, str]:
    """Return the metadata of a safetensors file, or an empty dictionary if it has none or the file has another format.

    Raises:
        ValueError: If a safetensors file is incomplete.
    """
    from safetensors import SafetensorError, safe_open

    file = check_file(path)
    with file.open("rb") as stream:
        if not is_safetensors(stream.read(16)):
            return {}
    try:
        with safe_open(file, framework="numpy") as opened:
            return dict(opened.metadata() or {})
    except SafetensorError as error:
        raise UsageError.about(
            "checkpoint", f"must be a complete safetensors file, got {str(file)!r}: {error}"
        ) from error


def _check_adapter(tensors: dict[str, Any], metadata: dict[str, str], source: str) -> Adapter:
    """Check matrices and metadata, and return them as an adapter."""
    lacking = [name for name in REQUIRED if not metadata.get(name)]
    if lacking:
        raise UsageError.about(
            "adapter", f"must have the metadata {', '.join(REQUIRED)}, got none for {', '.join(lacking)} in {source}"
        )
    pool = {name for name in tensors if name.startswith(_POOL)}
    wanted = {"text_projection"} | (pool or {"visual.proj"})
    if set(tensors) != wanted:
        raise UsageError.about(
            "adapter",
            "must contain visual.proj, or the attention pool of a ResNet, and text_projection, got "
            f"{', '.join(sorted(tensors)) or 'nothing'} in {source}",
        )
    for name, tensor in tensors.items():
        if not np.issubdtype(tensor.dtype, np.floating) or not np.isfinite(tensor).all():
            raise UsageError.about("adapter", f"must contain finite floats, got others in {name} of {source}")
    heads = heads_of(tensors)
    shapes = [heads[name].shape for name in ("visual.proj", "text_projection") if name in heads]
    if any(len(shape) != 2 for shape in shapes) or len({shape[-1] for shape in shapes}) != 1:
        raise UsageError.about(
            "adapter", f"must contain two matrices of the same embedding dimension, got {shapes} in {source}"
        )
    return Adapter(heads, heads_digest(heads), metadata)
