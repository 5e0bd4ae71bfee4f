"""Rules for missing and surplus tensors in weight files.

The loaders of all models reject a file with missing or surplus tensors, except for those listed in the data file
``known_tensors.json``, which do not affect the output. Missing tensors would be random, and surplus tensors indicate
another model.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vlgauge.core.errors import UsageError
from vlgauge.core.files import DATA

if TYPE_CHECKING:
    import torch


class Known(NamedTuple):
    """Names of tensors in the files of some models, and the reason why they do not matter there."""

    models: list[str]
    names: str
    reason: str


ANY, CLIP, DETECTOR, JUDGE, PAIR, SEQ2SEQ = "any", "clip", "detector", "judge", "pair", "seq2seq"
CLIP_T5 = "clip and t5"
SENTENCE, SENTENCE_OF_TOKENS, LAYERS = "sentence", "sentence of tokens", "layers"

_KNOWN = json.loads((DATA / "known_tensors.json").read_text("utf-8"))
SURPLUS, MISSING = ([Known(**entry) for entry in _KNOWN[kind]] for kind in ("surplus", "missing"))


def surplus(names: Iterable[str], model: str) -> list[str]:
    """Return the surplus names that a file of such a model must not have, sorted.

    Args:
        names: Names of surplus tensors.
        model: Kind of model, such as `CLIP`.
    """
    return _but_for(SURPLUS, names, model)


def missing(names: Iterable[str], model: str) -> list[str]:
    """Return the missing names that a file of such a model must have, sorted.

    Args:
        names: Names of missing tensors.
        model: Kind of model, such as `CLIP`.
    """
    return _but_for(MISSING, names, model)


def _but_for(known: Iterable[Known], names: Iterable[str], model: str) -> list[str]:
    patterns = [re.compile(entry.names) for entry in known if model in entry.models]
    return sorted(name for name in names if not any(pattern.fullmatch(name) for pattern in patterns))


def check_tensor_names(
    tensors: Mapping[str, torch.Tensor], shapes: Mapping[str, Sequence[int]], architecture: str, source: str
) -> None:
    """Check that a file has exactly the tensors of an architecture, as plain and finite floats.

    Args:
        tensors: Tensors of the file, by name.
        shapes: Expected shapes, by name.
        architecture: Name of the architecture, for the error message.
        source: Path of the file, for the error message.

    Raises:
        ValueError: If tensors are missing, unknown, of another shape, of another kind, or not finite.
    """
    complaints = {
        "missing": sorted(set(shapes) - set(tensors)),
        "not known": sorted(set(tensors) - set(shapes)),
        "of another shape": sorted(
            f"{name} {tuple(tensor.shape)} instead of {tuple(shapes[name])}"
            for name, tensor in tensors.items()
            if name in shapes and tuple(tensor.shape) != tuple(shapes[name])
        ),
        "not plain floats": sorted(name for name, tensor in tensors.items() if not _is_plain(name, tensor)),
    }
    found = "; ".join(f"{what}: {list_names(names)}" for what, names in complaints.items() if names)
    if found:
        raise UsageError.about(
            "checkpoint", f"must have the tensors of {architecture}, got others in {source!r}: {found}"
        )
    check_finite_tensors(tensors, source)


def check_finite_tensors(tensors: Mapping[str, torch.Tensor], source: str, setting: str = "checkpoint") -> None:
    """Check that no float tensor contains NaN or infinity, even if scores would still be finite.

    Raises:
        ValueError: If a tensor does.
    """
    broken = sorted(name for name, tensor in tensors.items() if tensor.is_floating_point() and not _is_finite(tensor))
    if broken:
        raise UsageError.about(setting, f"must be finite, got NaN or infinity in {source!r}: {list_names(broken)}")


def _is_finite(tensor: torch.Tensor) -> bool:
    if not tensor.numel():
        return True
    if tensor.element_size() == 1:
        return bool(tensor.isfinite().all())
    # Both bounds are NaN if one value is. This takes a sixth of the time of `isfinite`, which is only used for one-byte
    # floats.
    return all(math.isfinite(bound.item()) for bound in tensor.aminmax())


def _is_plain(name: str, tensor: torch.Tensor) -> bool:
    # Batch normalization counters are the only integers in a CLIP model.
    fits = tensor.is_floating_point() or name.endswith("num_batches_tracked")
    return fits and not tensor.is_sparse and not tensor.is_quantized


def list_names(names: Sequence[str]) -> str:
    """List the first 8 names, and the number of further ones."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more
