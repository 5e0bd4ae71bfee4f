"""Named tensors of torch or NumPy: conversion, digest and files."""

import hashlib
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.writing import atomic_write


def to_array(tensor: Any, dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Return a torch tensor, an array or a list as a contiguous array, of the same type if `dtype` is None.

    NumPy has no bfloat16, so tensors of this type become float32.
    """
    if hasattr(tensor, "detach"):
        tensor = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).detach().cpu()
    return np.asarray(tensor, dtype, order="C")


def tensors_digest(tensors: Mapping[str, Any], most: int | None = None) -> str:
    """Return the SHA-256 over names, shapes and values (as float32), which does not depend on the format of a file.

    Args:
        tensors: Tensors by name.
        most: Number of values of each tensor that are included. None for all.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)}\n".encode())
        digest.update(to_array(tensor.reshape(-1)[:most], "<f4").tobytes())
    return digest.hexdigest()


def write_tensors(
    path: str | PathLike[str],
    tensors: Mapping[str, Any],
    metadata: dict[str, str] | None = None,
    *,
    half: bool = False,
) -> None:
    """Write tensors as safetensors. The file is created or replaced atomically.

    Args:
        path: The file.
        tensors: Tensors by name, of any shape.
        metadata: Metadata of the file, as strings. None for none.
        half: Whether to store floats as float16.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    from safetensors.numpy import save_file

    arrays = {name: to_array(tensor) for name, tensor in tensors.items()}
    if half:
        arrays = {
            name: array.astype(np.float16) if np.issubdtype(array.dtype, np.floating) else array
            for name, array in arrays.items()
        }
    with atomic_write(path, in_folder=True) as part:
        save_file(arrays, part, metadata=metadata)
