"""Demo CLIP of the embedded profile: a small model trained on synthetic scenes, included in the package.

It was trained only on `vlgauge.scenes` and has no published scores, so only comparisons of its scores are meaningful.
`scripts/make/train_demo_clip.py` trained it. `data/demo_clip/demo_clip.json` contains the record of the training and
results on held-out scenes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.checkpoints.files import sha256_of
from vlgauge.core.errors import UsageError, WeightsNotFoundError
from vlgauge.core.files import DATA
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.signatures import DEMO_NUMBERS
from vlgauge.core.validation import warn
from vlgauge.models.clip.architectures import ClipArchitecture

if TYPE_CHECKING:
    import torch

DEMO_NAME = "vlgauge-toy-clip"

# Keyword arguments of `open_clip.model.CLIP`. The attention heads of both towers have a width of 32.
DEMO_MODEL: dict[str, Any] = {
    "embed_dim": 64,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 64, "patch_size": 16, "width": 128, "layers": 4, "head_width": 32},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 3},
}

# OpenAI's preprocessing, including mean and standard deviation, with a size of 64 pixels.
DEMO_ROW = ClipArchitecture(DEMO_NAME, DEMO_NAME, None, 64, size=64, config=DEMO_MODEL)

# Tensors of the file that replace `token_embedding.weight`. See `expanded`.
_TOKEN_IDS = "token_embedding.ids"
_TOKEN_ROWS = "token_embedding.rows"
_OTHER_ROW = "token_embedding.other"


# Demo models of which this process has warned.
_TOLD: set[str] = set()


def warn_of_demo(model: str) -> None:
    """Warn, once per process and model, that the scores are from a demo model."""
    if model not in _TOLD:
        _TOLD.add(model)
        warn(f"the scores of the demo {model} of the embedded profile {DEMO_NUMBERS}")


def demo_file(name: str = "demo_clip.safetensors") -> Path:
    """Return the path of a file of the demo CLIP."""
    return DATA / "demo_clip" / name


def read_demo_record() -> dict[str, Any]:
    """Return the JSON record of the demo model: configuration, preprocessing, training, held-out results, SHA-256."""
    return json.loads(demo_file("demo_clip.json").read_text("utf-8"))


def demo_state(path: Path | None = None) -> dict[str, torch.Tensor]:
    """Return the tensors of the demo CLIP by open_clip's names, float32, for `load_state_dict(strict=True)`.

    Args:
        path: File to read. None for the bundled file, whose SHA-256 is checked.

    Raises:
        WeightsNotFoundError: If the file does not exist.
        ValueError: If the bundled file has another SHA-256 than in its record.
    """
    with importing('the demo CLIP requires more packages; run: pip install "vlgauge[clip]"'):
        from safetensors.torch import load_file

    file = path or demo_file()
    if not file.is_file():
        raise WeightsNotFoundError(f"the demo CLIP is not at {str(file)!r}; install vlgauge again")
    if path is None:
        known, found = read_demo_record()["sha256"], sha256_of(file)
        if found != known:
            raise UsageError(
                f"the demo CLIP must have the recorded sha256 {known[:8]}, got {found[:8]} in {str(file)!r}; "
                "install vlgauge again"
            )
    return expand_tensors(load_file(file))


def expand_tensors(stored: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Expand the stored tensors to float32 and a full token table, in which all untrained tokens share one row.

    Args:
        stored: Tensors of the file, with `token_embedding.ids` (n,), `token_embedding.rows` (n, 64) and
            `token_embedding.other` (64,) instead of the whole table, and the rest by open_clip's names.

    Returns:
        Tensors by open_clip's names, float32. ``token_embedding.weight`` has the shape ``(vocab_size, 64)``.
    """
    state = {name: tensor.float() for name, tensor in stored.items() if not name.startswith("token_embedding.")}
    table = stored[_OTHER_ROW].float().repeat(DEMO_MODEL["text_cfg"]["vocab_size"], 1)
    table[stored[_TOKEN_IDS].long()] = stored[_TOKEN_ROWS].float()
    return {**state, "token_embedding.weight": table}


def compact_tensors(state: dict[str, torch.Tensor], ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the tensors of the file in float16, the inverse of `expanded` except for rounding.

    Args:
        state: Tensors by open_clip's names, with a token table of ``len(ids) + 1`` rows, the shared one first.
        ids: Token ids of the other rows, shape ``(n,)``.
    """
    table = state["token_embedding.weight"].half()
    rest = {name: tensor.half().contiguous() for name, tensor in state.items() if name != "token_embedding.weight"}
    return {**rest, _TOKEN_IDS: ids.int(), _TOKEN_ROWS: table[1:].clone(), _OTHER_ROW: table[0].clone()}
