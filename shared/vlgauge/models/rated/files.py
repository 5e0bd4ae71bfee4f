"""Files with a Polos head: safetensors with the tensor names of the authors' checkpoint."""

import hashlib
import json
import re
from collections.abc import Mapping
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np

from vlgauge.checkpoints.reading import read_tensors
from vlgauge.checkpoints.tensors import tensors_digest, to_array, write_tensors
from vlgauge.core.errors import UsageError
from vlgauge.models.clip.heads import safetensors_metadata
from vlgauge.models.hidden_layers import AllLayersEncoder
from vlgauge.models.rated.head import Head

FORMAT = "vlgauge-polos-1"
REQUIRED = ("text_encoder_sha256", "tokens_sha256", "clip_sha256", "architecture")
# Number of values per tensor in a digest. They distinguish models, because training changes them, too. Hashing all
# values would take seconds.
_NUMBERS = 512
# Texts that other tokenizers split differently: both cases, digits, punctuation marks, accents, rare words.
_TEXTS = ("A zebra's 1,350 stripes -- so-called!", 'the quaint naïve xylophonist said: "(yes) & no?"')
# Buffers that remain from the last training step.
_IGNORED = ("scalar_mix.dropout_mask", "scalar_mix.dropout_fill")
_LINEAR = re.compile(r"ff\.0\.ff\.linear_(\d+)\.(weight|bias)")
_SCALAR = re.compile(r"scalar_mix\.scalar_parameters\.(\d+)")
GAMMA = "scalar_mix.gamma"


def metadata_of(clip: Mapping[str, Any], architecture: str, text: AllLayersEncoder) -> dict[str, str]:
    """Return the metadata of the encoders of a head, independent of the format of their files."""
    tokens = json.dumps(text.token_ids(_TEXTS)[0]).encode()
    return {
        "text_encoder": text.identity,
        "text_encoder_sha256": tensors_digest(text.tensors(), _NUMBERS),
        "tokens_sha256": hashlib.sha256(tokens).hexdigest(),
        "clip_sha256": tensors_digest(clip, _NUMBERS),
        "architecture": architecture,
    }


def is_head(name: str) -> bool:
    """Return whether a tensor of the authors' checkpoint belongs to the trained head."""
    return name.startswith(("ff.", "scalar_mix."))


def head_of(tensors: Mapping[str, Any], metadata: Mapping[str, str], source: str) -> Head:
    """Build a head from tensors with the names of the authors' checkpoint.

    Args:
        tensors: NumPy arrays or torch tensors.
        metadata: Metadata of the head.
        source: File, for messages.

    Raises:
        ValueError: If tensors are missing, unknown, of another shape or not finite.
    """
    arrays = {name: to_array(tensor, np.float32) for name, tensor in tensors.items() if name not in _IGNORED}
    layers = sorted({int(found[1]) for name in arrays if (found := _LINEAR.fullmatch(name))})
    scalars = sorted(int(found[1]) for name in arrays if (found := _SCALAR.fullmatch(name)))
    names = [f"ff.0.ff.linear_{number}.{kind}" for number in (1, 2, 3) for kind in ("weight", "bias")]
    names += [f"scalar_mix.scalar_parameters.{number}" for number in range(max(len(scalars), 1))] + [GAMMA]
    if set(arrays) != set(names):
        lacking, more = sorted(set(names) - set(arrays)), sorted(set(arrays) - set(names))
        problems = [
            f"{', '.join(some[:3])} {what}" for some, what in ((lacking, "missing"), (more, "too much")) if some
        ]
        raise UsageError.about(
            "checkpoint", f"must have three linear layers and a weight per layer, got {'; '.join(problems)} in {source}"
        )
    matrices = tuple(arrays[f"ff.0.ff.linear_{number}.weight"] for number in layers)
    biases = tuple(arrays[f"ff.0.ff.linear_{number}.bias"] for number in layers)
    sizes = [matrix.shape for matrix in matrices]
    fits = all(
        matrix.ndim == 2 and bias.shape == matrix.shape[:1] for matrix, bias in zip(matrices, biases, strict=True)
    )
    chain = fits and all(one.shape[0] == next_one.shape[1] for one, next_one in pairwise(matrices))
    single = [arrays[name].shape for name in names if name.startswith("scalar_mix.")]
    if not chain or matrices[-1].shape[0] != 1 or any(shape != (1,) for shape in single):
        raise UsageError.about(
            "checkpoint", f"must have layers with matching sizes and one output, got {sizes} in {source}"
        )
    if any(not np.isfinite(array).all() for array in arrays.values()):
        raise UsageError.about("checkpoint", f"must be finite, got NaN or infinity in {source}")
    return Head(
        np.concatenate([arrays[f"scalar_mix.scalar_parameters.{number}"] for number in scalars]),
        float(arrays[GAMMA][0]),
        matrices,
        biases,
        tensors_digest(arrays),
        dict(metadata),
    )


def tensors_of(head: Head) -> dict[str, np.ndarray]:
    """Return the arrays of a head by the names of the authors' checkpoint and in their shapes, float32."""
    linear = {
        f"ff.0.ff.linear_{number}.{kind}": array
        for number, pair in enumerate(zip(head.matrices, head.biases, strict=True), 1)
        for kind, array in zip(("weight", "bias"), pair, strict=True)
    }
    scalars = {f"scalar_mix.scalar_parameters.{number}": value for number, value in enumerate(head.scalars[:, None])}
    return {**linear, **scalars, GAMMA: np.array([head.gamma], dtype=np.float32)}


def read_head(path: str | PathLike[str]) -> Head:
    """Read a head that `write_head` wrote.

    Raises:
        ValueError: If the file is invalid.
    """
    metadata = safetensors_metadata(path)
    if metadata.get("format") != FORMAT or any(not metadata.get(name) for name in REQUIRED):
        raise UsageError.about(
            "checkpoint",
            f"must be a safetensors file with format={FORMAT} and {', '.join(REQUIRED)} in its metadata, got "
            f"{metadata.get('format')!r} in {str(path)!r}",
            "convert the authors' reprod.ckpt with: vlgauge convert reprod.ckpt --kind polos",
        )
    return head_of(read_tensors(path), metadata, repr(str(path)))


def write_head(path: str | PathLike[str], head: Head, *, half: bool = False) -> None:
    """Write a head as safetensors, creating or replacing the file atomically.

    Args:
        path: The file.
        head: The head.
        half: Whether to store float16 instead of float32.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    write_tensors(path, tensors_of(head), {**head.metadata, "format": FORMAT}, half=half)
