"""CLIP encoders from the pool of the process, with published weights, weights of the user, or another head."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vlgauge.checkpoints.files import joint_digest, sha256_of
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.checkpoints.torch_runtime import CLIP_PACKAGES, check_torch, resolve_device
from vlgauge.core.errors import UsageError, UsageTypeError, WeightsNotFoundError, as_setting
from vlgauge.core.pool import pool
from vlgauge.core.progress import with_size
from vlgauge.core.signatures import local_name
from vlgauge.core.validation import PROFILES, check_choice
from vlgauge.models.clip import demo
from vlgauge.models.clip.architectures import ClipArchitecture
from vlgauge.models.clip.backbones import architecture_of
from vlgauge.models.clip.checkpoints import Checkpoint, check_adapter, load_checkpoint, read_state
from vlgauge.models.clip.encoder import ClipEncoder
from vlgauge.models.clip.files import (
    find_given_file,
    find_weights,
    look_for_weights,
    paper_adapter,
    paper_adapter_path,
    tokenizer_file,
    with_own_images,
)
from vlgauge.models.clip.heads import FORMAT, FULL_FORMAT, Adapter, safetensors_metadata
from vlgauge.models.clip.model import build_model, tokens_of
from vlgauge.models.clip.tokens import Tokens
from vlgauge.models.clip.towers import DTYPES, RELEASED_HALF, ClipTowers

if TYPE_CHECKING:
    import torch

__all__ = ["DEFAULT", "ClipEncoder", "clip_encoder", "clip_with_checkpoint", "weights_name"]

DEFAULT = "ViT-B/32"
KINDS = ("pac_s", "pac_s++", "clip_s")


@dataclass(frozen=True)
class _Weights:
    """Resolved weights.

    Attributes:
        row: The architecture.
        path: The file.
        digest: SHA-256.
        read: Function that reads the tensors.
        verified: Whether they were compared with plain CLIP, if they are a checkpoint.
        tokenizer: Tokenizer file, or None.
    """

    row: ClipArchitecture
    path: Path
    digest: str
    read: Callable[[], Mapping[str, torch.Tensor]]
    verified: bool = True
    tokenizer: Path | None = None


def clip_encoder(
    backbone: str | ClipArchitecture | None = None,
    *,
    weights: str | Path | None = None,
    profile: str = "paper",
    device: str = "auto",
    dtype: str = "float32",
    feature_cache: str | Path | None = None,
) -> ClipEncoder:
    """Return the CLIP encoder of a backbone from the pool of this process.

    Args:
        backbone: Name in the table such as ``"ViT-B/32"``, or a custom architecture. None for ViT-B/32, or for the demo
            CLIP under the embedded profile.
        weights: File with the weights, or folder with one of `vlgauge.models.clip.files.FOLDER_FILES`. None for the
            Hub file at the revision of the table.
        profile: ``"paper"``, or ``"embedded"`` for the demo CLIP, which needs no download.
        device: ``"auto"`` for the first available device of cuda, mps and cpu, or a torch device.
        dtype: ``"float32"``, ``"bfloat16"`` (faster on some devices, changes scores by up to 3e-3), ``"float16"`` (CUDA
            only), or `vlgauge.models.clip.towers.RELEASED_HALF` for the precision of OpenAI's code on CUDA.
        feature_cache: Folder in which features are stored between processes. None for the folder in the environment
            variable ``VLGAUGE_FEATURES``, if it is set.

    Raises:
        ValueError: If a setting is invalid, or the weights do not fit the architecture.
        WeightsNotFoundError: If the weights are not on this machine and cannot be downloaded.
        ImportError: If a package is missing.
        RuntimeError: If this process was forked after torch had run. See `vlgauge.checkpoints.torch_runtime`.
    """
    check_choice("dtype", dtype, (*DTYPES, RELEASED_HALF))
    check_torch("CLIP", CLIP_PACKAGES, "clip")
    return _pool_encoder(_resolve_weights(backbone, weights, profile), device, dtype, feature_cache)


def clip_with_checkpoint(
    backbone: str | ClipArchitecture | None = None,
    checkpoint: str | Path | Adapter | None = None,
    *,
    kind: str = "pac_s",
    weights: str | Path | None = None,
    profile: str = "paper",
    device: str = "auto",
    dtype: str = "float32",
    feature_cache: str | Path | None = None,
) -> tuple[ClipEncoder, Adapter | None]:
    """Return a CLIP encoder, and the head that a metric applies to it.

    A checkpoint that differs from the backbone only in its head shares the encoder, and thus every forward pass, with
    the metrics that use the plain backbone. Any other checkpoint is a separate encoder without a head. Its `verified`
    is False if the backbone was not available for comparison.

    Args:
        backbone: See `clip_encoder`.
        checkpoint: Adapter, file with an adapter or a whole CLIP, or folder as for `weights`. None for the converted
            one in the cache of the user, or for the demo adapter under the embedded profile.
        kind: ``"pac_s"`` requires a checkpoint, ``"pac_s++"`` a whole CLIP with separate or merged low-rank updates,
            and ``"clip_s"`` is the plain backbone without a checkpoint.
        weights: See `clip_encoder`.
        profile: See `clip_encoder`.
        device: See `clip_encoder`.
        dtype: See `clip_encoder`.
        feature_cache: See `clip_encoder`.

    Returns:
        The encoder, and the adapter whose head the metric applies. None without a separate head.

    Raises:
        ValueError: If the checkpoint does not belong to the backbone, or is the backbone itself.
        WeightsNotFoundError: If there is no checkpoint, or the backbone of an adapter is missing.
    """
    check_choice("kind", kind, KINDS)
    check_choice("dtype", dtype, DTYPES)
    check_torch("CLIP", CLIP_PACKAGES, "clip")
    if checkpoint is None and kind == "clip_s":
        return clip_encoder(
            backbone, weights=weights, profile=profile, device=device, dtype=dtype, feature_cache=feature_cache
        ), None
    row = _row(backbone, profile)
    if checkpoint is None:
        checkpoint = _default_checkpoint(row, profile, kind)
    if not isinstance(checkpoint, Adapter):
        checkpoint = _existing(checkpoint)
    base: _Weights | None = None
    try:
        # A checkpoint that was compared during its conversion does not need the base.
        base = None if weights is None and _was_compared(checkpoint) else _resolve_weights(backbone, weights, profile)
    except WeightsNotFoundError:
        # A whole CLIP does not need the backbone. `load_checkpoint` warns if it cannot be compared with it.
        if weights is not None or not _is_whole(checkpoint):
            raise
    found = _load_checkpoint(checkpoint, row, base)
    if found.adapter is not None and kind == "pac_s++":
        raise UsageError.about(
            "checkpoint",
            "must be a checkpoint of PAC-S++, a complete CLIP with trained towers, got only projections for "
            f"{row.name}",
            "omit `version` for PAC-S",
        )
    if found.adapter is not None and base is not None:
        return _pool_encoder(base, device, dtype, feature_cache), found.adapter
    assert isinstance(checkpoint, Path)
    path = checkpoint
    whole = _Weights(row, path, sha256_of(path), lambda: read_state(path, row, setting="checkpoint"), found.verified)
    return _pool_encoder(whole, device, dtype, feature_cache), None


def weights_name(encoder: ClipEncoder, *, given: bool) -> str:
    """Return the name of the weights of an encoder for signatures.

    It is a repository with its commit, or the digest of a file. A file of the user that is a copy of the published
    weights has their name.

    Args:
        encoder: The encoder.
        given: Whether the user has passed the weights.
    """
    row, digest = encoder.row, encoder.digest
    if given and digest not in (row.sha256, row.openai_sha256):
        return local_name(digest)
    if row.name == demo.DEMO_NAME:
        return f"{demo.DEMO_NAME}@{digest[:8]}"
    return f"{row.repository}@{row.revision[:8] if row.revision else f'sha256-{digest[:12]}'}"


def clip_tokens(
    backbone: str | ClipArchitecture | None = None, *, weights: str | Path | None = None, profile: str = "paper"
) -> Tokens:
    """Return the tokenizer of a backbone, without reading the weights.

    Raises:
        ValueError: If the backbone is unknown.
        WeightsNotFoundError: If the tokenizer cannot be found.
    """
    row = _row(backbone, profile)
    file = tokenizer_file(row, weights)
    return pool.get(("tokens", row.name, row.tokens, row.context, file), lambda: tokens_of(row, file))


def look_for_clip(
    preflight: Preflight,
    backbone: str | ClipArchitecture | None,
    *,
    weights: str | Path | None,
    profile: str,
    checkpoint: str | Path | Adapter | None = None,
    kind: str = "clip_s",
) -> None:
    """Make a preflight check the requirements of `clip_with_checkpoint`."""
    row = _row(backbone, profile)
    preflight.need(CLIP_PACKAGES)
    if checkpoint is None and kind != "clip_s":
        preflight.look(lambda: _default_checkpoint(row, profile, kind))
        if kind == "pac_s++" and (place := paper_adapter_path(row, kind)).is_file():
            checkpoint = place
    alone = False
    if isinstance(checkpoint, (str, os.PathLike)):
        preflight.look(lambda: _existing(checkpoint))
        file = Path(checkpoint).expanduser()
        alone = weights is None and (file.is_dir() or (file.is_file() and _is_whole(file)))
    # A whole CLIP does not need the backbone.
    if profile == "paper" and not alone:
        preflight.look(lambda: look_for_weights(row, weights))


def _pool_encoder(weights: _Weights, device: str, dtype: str, feature_cache: str | Path | None) -> ClipEncoder:
    """Return the encoder of resolved weights from the pool."""
    _check_path("feature_cache", feature_cache)
    device = resolve_device(device)
    if dtype == "float16" and not device.startswith("cuda"):
        raise UsageError.about("dtype", f"must be 'float32' or 'bfloat16' on {device}, got 'float16'")

    # Load the tokenizer before the weights, which take longer.
    tokens = tokens_of(weights.row, weights.tokenizer)

    def build() -> ClipEncoder:
        towers = ClipTowers(build_model(weights.row, weights.read()), weights.row, device, dtype)
        return ClipEncoder(towers, tokens, weights.digest, verified=weights.verified)

    key = ("clip", weights.row, weights.digest, device, dtype, weights.verified)
    what = with_size(f"CLIP {weights.row.name}", weights.path.stat().st_size)
    encoder: ClipEncoder = pool.get(key, build, what)
    folder = feature_cache if feature_cache is not None else os.environ.get("VLGAUGE_FEATURES")
    return encoder.with_feature_cache(folder) if folder else encoder


def _row(backbone: str | ClipArchitecture | None, profile: str) -> ClipArchitecture:
    name = backbone.name if isinstance(backbone, ClipArchitecture) else backbone
    check_choice("profile", profile, PROFILES)
    if profile == "embedded":
        if name not in (None, demo.DEMO_NAME):
            raise UsageError.about(
                "backbone",
                f"is not supported with profile='embedded', which only has the demo CLIP, got {name!r}",
                f"pass {as_setting('profile', 'paper')}",
            )
        return demo.DEMO_ROW
    if name == demo.DEMO_NAME:
        raise UsageError.about("backbone", f"{name!r} requires profile='embedded', got profile='paper'")
    return architecture_of(DEFAULT if backbone is None else backbone)


def _resolve_weights(backbone: str | ClipArchitecture | None, weights: str | Path | None, profile: str) -> _Weights:
    row = _row(backbone, profile)
    _check_path("weights", weights)
    if profile == "paper":
        path, tokenizer = find_weights(row, weights), tokenizer_file(row, weights)
        row = with_own_images(row, weights)
        digest = joint_digest([path, *([tokenizer] if tokenizer else [])])
        return _Weights(row, path, digest, lambda: read_state(path, row), tokenizer=tokenizer)
    if weights is not None:
        raise UsageError.about("weights", f"is not supported with profile='embedded', got {str(weights)!r}")
    file = demo.demo_file()
    if not file.is_file():
        raise WeightsNotFoundError(f"the demo CLIP is not at {str(file)!r}; install vlgauge again")
    return _Weights(row, file, sha256_of(file), demo.demo_state)


def _default_checkpoint(row: ClipArchitecture, profile: str, kind: str) -> Path:
    """Return the default weights of PAC-S. There is no fallback to plain CLIP."""
    return demo.demo_file("demo_pac_s.safetensors") if profile == "embedded" else paper_adapter(row, kind)


def _check_path(name: str, value: object) -> None:
    """Check that a setting is a path, or None for the default.

    Raises:
        TypeError: If it is not.
    """
    if value is not None and not isinstance(value, (str, os.PathLike)):
        raise UsageTypeError.about(name, f"must be a path, got {type(value).__name__}")
    try:
        os.lstat(value or "")
    except ValueError as error:  # a zero byte, or half of a character
        raise UsageError.about(name, f"must be a path, got {value!r:.200} ({error})") from None
    except OSError:
        pass


def _existing(checkpoint: str | os.PathLike[str]) -> Path:
    _check_path("checkpoint", checkpoint)
    return find_given_file(checkpoint, "checkpoint")


def _was_compared(checkpoint: Path | Adapter) -> bool:
    """Return whether a checkpoint is a whole CLIP written by `vlgauge convert`."""
    return not isinstance(checkpoint, Adapter) and safetensors_metadata(checkpoint).get("format") == FULL_FORMAT


def _is_whole(checkpoint: Path | Adapter) -> bool:
    """Return whether a checkpoint is a whole CLIP and not an adapter."""
    return not isinstance(checkpoint, Adapter) and safetensors_metadata(checkpoint).get("format") != FORMAT


def _load_checkpoint(checkpoint: Path | Adapter, row: ClipArchitecture, base: _Weights | None) -> Checkpoint:
    """Compare a checkpoint with its base, once per process."""
    if isinstance(checkpoint, Adapter):
        state = base.read() if base else {}
        return Checkpoint(check_adapter(checkpoint, row, state, source="the passed adapter"))
    key = ("clip-head", row, sha256_of(checkpoint), base.digest if base else None)
    return pool.get(key, lambda: load_checkpoint(checkpoint, row, base.read() if base else None))
