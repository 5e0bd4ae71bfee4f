"""Construction of CLIP modules from tensors, and of their tokenizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.checkpoints.first_values import leave_empty, without_first_values
from vlgauge.core.errors import MissingExtraError, UsageError, WeightsNotFoundError, short_reason
from vlgauge.core.lean_imports import lean_import
from vlgauge.core.optional_dependencies import not_importable
from vlgauge.models.clip.architectures import ClipArchitecture
from vlgauge.models.clip.own_tokens import SiglipTokenizer
from vlgauge.models.clip.tokens import ClipTokens, OpenClipTokenizer, Tokens

if TYPE_CHECKING:
    import torch

NEEDS_CLIP = 'CLIP requires more packages; run: pip install "vlgauge[clip]"'


def empty_model(row: ClipArchitecture, device: str = "meta") -> torch.nn.Module:
    """Build the module of an architecture.

    Args:
        row: The architecture.
        device: Torch device. The default is the meta device, on which tensors have shapes but no values.

    Raises:
        ImportError: If a package is missing or broken.
        ValueError: If open_clip does not know the architecture.
        WeightsNotFoundError: If files of another repository are required and missing.
    """
    try:
        lean_import("open_clip")
        import torch
        from open_clip.factory import get_model_config
        from open_clip.model import CLIP, CustomTextCLIP
    except ImportError as error:
        raise MissingExtraError(not_importable(NEEDS_CLIP, error)) from error
    except RuntimeError as error:
        raise MissingExtraError(
            f"torch and torchvision must be from the same index and build, got a pair that fails with: {error}"
        ) from error
    config: dict[str, Any] | None = deepcopy(dict(row.config)) if row.config else get_model_config(row.architecture)
    if config is None:
        raise UsageError.about("backbone", f"must be an architecture that open_clip knows, got {row.architecture!r}")
    custom = config.pop("custom_text", False) or "hf_model_name" in config["text_cfg"]
    if "hf_model_name" in config["text_cfg"]:
        config["text_cfg"]["hf_model_pretrained"] = False
    with _without_numbers() if device == "meta" else torch.device(device), _configuration_there(row):
        model: torch.nn.Module = (CustomTextCLIP if custom else CLIP)(**config)
    if row.tanh_gelu:
        _make_tanh(model.visual)
    return model


def _make_tanh(module: Any) -> None:
    """Replace exact GELU modules by the tanh approximation. They have no weights."""
    import torch

    for name, part in module.named_children():
        if isinstance(part, torch.nn.GELU):
            setattr(module, name, torch.nn.GELU(approximate="tanh"))
        else:
            _make_tanh(part)


@cache
def list_expected_shapes(row: ClipArchitecture) -> Mapping[str, tuple[int, ...]]:
    """Return the names and shapes of the tensors of an architecture in open_clip."""
    return {name: tuple(tensor.shape) for name, tensor in empty_model(row).state_dict().items()}


@contextmanager
def _without_numbers() -> Iterator[None]:
    """Use the meta device, and skip the initialization of tensors.

    For the initialization of tensors without values, torch would import its compiler, which takes a second.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    of = torch.Tensor

    class Shapes(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in (of.div, of.mul) and isinstance(args[1], float) and args[0].is_floating_point():
                return torch.empty(args[0].shape, dtype=args[0].dtype)
            return (torch.empty if func is torch.randn else func)(*args, **kwargs or {})

    with torch.device("meta"), Shapes(), leave_empty(of.clamp_, of.erfinv_, of.triu_):
        yield


@contextmanager
def _configuration_there(row: ClipArchitecture) -> Iterator[None]:
    """Explain errors of text towers and tokenizers of other libraries, which read files of other repositories."""
    try:
        yield
    except OSError as error:
        why = short_reason(error)
        raise WeightsNotFoundError(
            f"{row.architecture} requires the tokenizer of another repository, which is not available: {why}; "
            "download it on a machine with network"
        ) from error


def build_model(row: ClipArchitecture, state: Mapping[str, torch.Tensor]) -> torch.nn.Module:
    """Build the module of an architecture with these tensors, by open_clip's names, in float32.

    Raises:
        RuntimeError: If tensors are missing, surplus or of another shape.
    """
    filled = {name: tensor.float() for name, tensor in state.items()}
    model = empty_model(row)
    model.load_state_dict(filled, strict=True, assign=True)
    # The masks are not stored in files.
    for tower in (model, getattr(model, "text", model)):
        mask = getattr(tower, "attn_mask", None)
        if mask is not None and mask.is_meta:
            tower.register_buffer("attn_mask", causal_mask(mask.shape[0]), persistent=False)
    left = [name for name, tensor in [*model.named_parameters(), *model.named_buffers()] if tensor.is_meta]
    if left:
        # Image towers of other libraries have more tables that are computed and not stored.
        with without_first_values():
            model = empty_model(row, "cpu")
        model.load_state_dict(filled, strict=True)
    return model


def causal_mask(length: int) -> torch.Tensor:
    """Return zeros on and below the diagonal and minus infinity above, shape ``(length, length)``."""
    import torch

    return torch.full((length, length), float("-inf")).triu_(1)


def tokens_of(row: ClipArchitecture, file: Path | None = None) -> Tokens:
    """Return the tokenizer of an architecture.

    Args:
        row: The architecture.
        file: The tokenizer file of the model. None if it has none.
    """
    if row.tokens == "clip":
        return ClipTokens(row.context)
    if file is not None:
        assert row.config is not None
        return SiglipTokenizer(
            file, row.context, row.config["text_cfg"]["vocab_size"], canonical=row.tokens == "canonicalize"
        )
    lean_import("open_clip")
    from open_clip.factory import get_tokenizer

    with _configuration_there(row):
        return OpenClipTokenizer(get_tokenizer(row.architecture), row.context)
