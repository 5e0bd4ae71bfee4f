"""CLIP-FlanT5, the model of VQAScore's paper (Lin et al., 2024), on the T5 and the CLIP of transformers.

T5's encoder reads the first half of a prompt, the patches of a picture through two linear layers, and the second half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from vlgauge.errors import UsageError
from vlgauge.judges.sources import PICKLED, JudgeFiles
from vlgauge.judges.transformers_judge import Parts
from vlgauge.weights import known_tensors
from vlgauge.weights.reading import given_as, read_tensors

if TYPE_CHECKING:
    import torch

# The patches of this layer are seen, where the configuration names no other one.
_LAYER = -2
_PROJECTOR = "mlp2x_gelu"
_LAYERS = {f"mm_projector.{layer}.{part}": f"{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias")}


def is_clip_t5(config: Mapping[str, Any]) -> bool:
    """Whether a configuration is that of a T5 with an image tower."""
    return "mm_vision_tower" in config and "d_model" in config


def load_clip_t5(files: JudgeFiles, tower: JudgeFiles, dtype: Any, device: str) -> Parts:
    """The parts of a CLIP-FlanT5, every tensor of them from the files."""
    import torch
    import transformers

    if (kind := files.config.get("mm_projector_type")) != _PROJECTOR:
        raise UsageError(f"its layers between picture and text must be {_PROJECTOR}, got {kind!r}")
    common: dict[str, Any] = {"local_files_only": True}
    own = {name: value for name, value in files.config.items() if name not in ("model_type", "architectures")}
    config = transformers.T5Config(**own)
    read: Any = transformers.CLIPVisionModel.from_pretrained
    seeing, told = read(str(tower.folder), use_safetensors=True, output_loading_info=True, **common)
    if unread := sorted(map(str, told["missing_keys"])):
        # The library makes them up, and says so where nobody looks.
        raise UsageError(f"the image tower must have the tensors of its configuration, lacks {', '.join(unread[:3])}")
    model: Any = transformers.T5ForConditionalGeneration(config)
    between: Any = torch.nn.Sequential(
        torch.nn.Linear(seeing.config.hidden_size, config.d_model),
        torch.nn.GELU(),
        torch.nn.Linear(config.d_model, config.d_model),
    )
    state = _state(files)
    between.load_state_dict({short: state.pop(name) for name, short in _LAYERS.items() if name in state})
    lacking, more = model.load_state_dict(state, strict=False)
    # A matrix that several layers share needs only one of its names.
    there = {id(value) for name, value in model.named_parameters(remove_duplicate=False) if name not in lacking}
    tied = {name for name, value in model.named_parameters(remove_duplicate=False) if id(value) in there}
    wrong = [*(set(lacking) - tied), *known_tensors.surplus(more, known_tensors.CLIP_T5)]
    if wrong:
        raise UsageError(f"it must have the tensors of its configuration, got others: {', '.join(sorted(wrong)[:3])}")
    model.tie_weights()
    parts: tuple[Any, ...] = (seeing, between, model)
    seeing, between, model = (part.to(device, dtype).eval() for part in parts)
    # What belongs to the model is counted, moved and trained with it.
    model.add_module("vision_tower", seeing)
    model.add_module("mm_projector", between)
    layer = int(files.config.get("mm_vision_select_layer", _LAYER))

    def sight(pixels: torch.Tensor) -> torch.Tensor:
        seen = seeing(pixels.to(between[0].weight.device, dtype), output_hidden_states=True).hidden_states[layer]
        return between(seen[:, 1:])  # without the token of the whole picture

    def embedded(before: Sequence[int], seen: torch.Tensor | None, after: Sequence[int]) -> torch.Tensor:
        words = model.get_input_embeddings()
        halves = [words(torch.tensor([list(ids)], device=words.weight.device)) for ids in (before, after)]
        if seen is not None:
            halves.insert(1, seen.to(words.weight.device))
        return torch.cat(halves, dim=1)

    pictures = transformers.AutoImageProcessor.from_pretrained(str(tower.folder), backend="pil", **common)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(files.folder), trust_remote_code=False, **common)
    return Parts("clip_t5", model, tokenizer, SimpleNamespace(image_processor=pictures), sight, embedded)


def _state(files: JudgeFiles) -> dict[str, torch.Tensor]:
    """All tensors of a folder, of safetensors or else of the authors' pickles."""
    paths = sorted(files.folder.glob("*.safetensors")) or sorted(files.folder.glob(PICKLED))
    found: dict[str, torch.Tensor] = {}
    with given_as("model"):
        for path in paths:
            found.update(read_tensors(path))
    return found
