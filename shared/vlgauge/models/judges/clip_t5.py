"""CLIP-FlanT5, the model of the VQAScore paper (Lin et al., 2024), built on T5 and CLIP of transformers.

The input of the T5 encoder is the first half of the prompt, the image patches after two linear layers, and the second
half of the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from vlgauge.checkpoints import known_tensors
from vlgauge.checkpoints.reading import name_setting, read_tensors
from vlgauge.core.errors import UsageError
from vlgauge.models.judges.sources import PICKLED, JudgeFiles
from vlgauge.models.judges.transformers_judge import Parts

if TYPE_CHECKING:
    import torch

# Hidden layer of the image tower whose patches are used, unless the configuration names another one.
_LAYER = -2
_PROJECTOR = "mlp2x_gelu"
_LAYERS = {f"mm_projector.{layer}.{part}": f"{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias")}


def is_clip_t5(config: Mapping[str, Any]) -> bool:
    """Return whether a configuration describes a T5 with an image tower."""
    return "mm_vision_tower" in config and "d_model" in config


def load_clip_t5(files: JudgeFiles, tower: JudgeFiles, dtype: Any, device: str) -> Parts:
    """Load a CLIP-FlanT5 whose tensors are all read from the files.

    Args:
        files: Files of the T5 and of the projection layers.
        tower: Files of the image tower.
        dtype: Torch data type.
        device: Torch device.

    Raises:
        ValueError: If tensors are missing or unknown, or the projection layers have an unsupported type.
    """
    import torch
    import transformers
    from transformers.modeling_outputs import BaseModelOutputWithPooling

    if (kind := files.config.get("mm_projector_type")) != _PROJECTOR:
        raise UsageError(f"its layers between image and text must be {_PROJECTOR}, got {kind!r}")
    common: dict[str, Any] = {"local_files_only": True}
    own = {name: value for name, value in files.config.items() if name not in ("model_type", "architectures")}
    config = transformers.T5Config(**own)
    read: Any = transformers.CLIPVisionModel.from_pretrained
    seeing, info = read(str(tower.folder), use_safetensors=True, output_loading_info=True, **common)
    if unread := sorted(map(str, info["missing_keys"])):
        # The library initializes them randomly, and reports this only in its log.
        raise UsageError(f"the image tower must have the tensors of its configuration, got no {', '.join(unread[:3])}")
    model: Any = transformers.T5ForConditionalGeneration(config)
    between: Any = torch.nn.Sequential(
        torch.nn.Linear(seeing.config.hidden_size, config.d_model),
        torch.nn.GELU(),
        torch.nn.Linear(config.d_model, config.d_model),
    )
    state = _state(files)
    between.load_state_dict({short: state.pop(name) for name, short in _LAYERS.items() if name in state})
    lacking, more = model.load_state_dict(state, strict=False)
    # A matrix that is shared by several layers needs only one of its names.
    there = {id(value) for name, value in model.named_parameters(remove_duplicate=False) if name not in lacking}
    tied = {name for name, value in model.named_parameters(remove_duplicate=False) if id(value) in there}
    wrong = [*(set(lacking) - tied), *known_tensors.surplus(more, known_tensors.CLIP_T5)]
    if wrong:
        raise UsageError(
            f"it must have the tensors of its configuration, got different ones: {', '.join(sorted(wrong)[:3])}"
        )
    model.tie_weights()
    parts: tuple[Any, ...] = (seeing, between, model)
    seeing, between, model = (part.to(device, dtype).eval() for part in parts)
    # Submodules of the model are counted, moved and trained with it.
    model.add_module("vision_tower", seeing)
    model.add_module("mm_projector", between)
    layer = int(files.config.get("mm_vision_select_layer", _LAYER))

    def sight(pixel_values: torch.Tensor) -> Any:
        seen = seeing(pixel_values.to(between[0].weight.device, dtype), output_hidden_states=True).hidden_states[layer]
        return BaseModelOutputWithPooling(pooler_output=between(seen[:, 1:]))  # skip the class token

    def embedded(before: Sequence[int], seen: torch.Tensor | None, after: Sequence[int]) -> torch.Tensor:
        words = model.get_input_embeddings()
        halves = [words(torch.tensor([list(ids)], device=words.weight.device)) for ids in (before, after)]
        if seen is not None:
            halves.insert(1, seen.to(words.weight.device))
        return torch.cat(halves, dim=1)

    model.get_image_features = sight  # as in the models of transformers, so that features are cached
    images = transformers.AutoImageProcessor.from_pretrained(str(tower.folder), backend="pil", **common)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(files.folder), trust_remote_code=False, **common)
    return Parts("clip_t5", model, tokenizer, SimpleNamespace(image_processor=images), embedded)


def _state(files: JudgeFiles) -> dict[str, torch.Tensor]:
    """Read all tensors of a folder, from safetensors files or otherwise from the pickles of the authors."""
    paths = sorted(files.folder.glob("*.safetensors")) or sorted(files.folder.glob(PICKLED))
    found: dict[str, torch.Tensor] = {}
    with name_setting("model"):
        for path in paths:
            found.update(read_tensors(path))
    return found
