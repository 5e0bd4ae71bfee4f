"""The toy CLIP: a small model of drawn scenes that comes with the package, for `profile="embedded"`.

It has seen nothing but `vlgauge.scenes` and has no published number: only comparisons of its scores mean anything. It
was trained by `scripts/make/train_toy_clip.py`; `data/toy_clip/toy_clip.json` holds the record of the training and
what the model can do on scenes that it has not seen.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.encoders.clip.architectures import ClipArchitecture
from vlgauge.errors import UsageError, WeightsNotFoundError
from vlgauge.files import DATA
from vlgauge.installed import importing
from vlgauge.settings import warn
from vlgauge.signatures import TOY_NUMBERS
from vlgauge.weights.files import sha256_of

if TYPE_CHECKING:
    import torch

TOY_NAME = "vlgauge-toy-clip"

# Keywords of `open_clip.model.CLIP`. The heads of the text tower are 32 wide, as those of the image tower.
TOY_MODEL: dict[str, Any] = {
    "embed_dim": 64,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 64, "patch_size": 16, "width": 128, "layers": 4, "head_width": 32},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 3},
}

# Preprocessing as OpenAI's, mean and standard deviation included, but to 64 pixels.
TOY_ROW = ClipArchitecture(TOY_NAME, TOY_NAME, None, 64, size=64, config=TOY_MODEL)

# Tensors of the file that stand for `token_embedding.weight`: see `expanded`.
_TOKEN_IDS = "token_embedding.ids"
_TOKEN_ROWS = "token_embedding.rows"
_OTHER_ROW = "token_embedding.other"


# What this process was told.
_TOLD: set[str] = set()


def tell_of_pictures() -> None:
    """Warn, once per process, that the toy CLIP looks at a picture."""
    _tell_once(f"the scores of the toy CLIP of the embedded profile {TOY_NUMBERS}")


def tell_of_stories() -> None:
    """Warn, once per process, that the toy sentence-order model reads a story."""
    _tell_once(f"the scores of the toy sentence-order model of the embedded profile {TOY_NUMBERS}")


def _tell_once(text: str) -> None:
    if text not in _TOLD:
        _TOLD.add(text)
        warn(text)


def toy_file(name: str = "toy_clip.safetensors") -> Path:
    """Path of a file that belongs to the toy CLIP."""
    return DATA / "toy_clip" / name


def toy_record() -> dict[str, Any]:
    """What is known of the model: configuration, preprocessing, training, held-out figures, SHA-256 of the weights."""
    return json.loads(toy_file("toy_clip.json").read_text("utf-8"))


def toy_state(path: Path | None = None) -> dict[str, torch.Tensor]:
    """Tensors of the toy CLIP by open_clip's names, float32, ready for `load_state_dict(strict=True)`."""
    with importing('the toy CLIP needs more packages; run: pip install "vlgauge[clip]"'):
        from safetensors.torch import load_file

    file = path or toy_file()
    if not file.is_file():
        raise WeightsNotFoundError(f"the toy CLIP is not at {str(file)!r}; install vlgauge again")
    if path is None:
        known, found = toy_record()["sha256"], sha256_of(file)
        if found != known:
            raise UsageError(
                f"the toy CLIP must have the sha256 {known[:8]} of its record, got {found[:8]} in {str(file)!r}; "
                "install vlgauge again"
            )
    return expanded(load_file(file))


def expanded(stored: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The stored tensors in float32, with a row for every token: those that were not trained share one row.

    Args:
        stored: As in the file: `token_embedding.ids` (n,), `token_embedding.rows` (n, 64) and `token_embedding.other`
            (64,) in place of the whole table; the rest by open_clip's names.
    """
    state = {name: tensor.float() for name, tensor in stored.items() if not name.startswith("token_embedding.")}
    table = stored[_OTHER_ROW].float().repeat(TOY_MODEL["text_cfg"]["vocab_size"], 1)
    table[stored[_TOKEN_IDS].long()] = stored[_TOKEN_ROWS].float()
    return {**state, "token_embedding.weight": table}


def compacted(state: dict[str, torch.Tensor], ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """What the file holds, in float16: the reverse of `expanded` but for rounding.

    Args:
        state: Tensors by open_clip's names, but with a token table of ``len(ids) + 1`` rows, the shared one first.
        ids: Ids of the tokens of the other rows, shape ``(n,)``.
    """
    table = state["token_embedding.weight"].half()
    rest = {name: tensor.half().contiguous() for name, tensor in state.items() if name != "token_embedding.weight"}
    return {**rest, _TOKEN_IDS: ids.int(), _TOKEN_ROWS: table[1:].clone(), _OTHER_ROW: table[0].clone()}
