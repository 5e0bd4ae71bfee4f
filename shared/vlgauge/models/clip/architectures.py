"""Table of backbones: architecture, context, preprocessing, weights, license.

A file of weights contains neither its activation nor its normalization, and using wrong ones causes no error. Therefore
they are defined here and never by the caller.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from vlgauge.core.files import DATA

Colour = tuple[float, float, float]

OPENAI_MEAN: Colour = (0.48145466, 0.4578275, 0.40821073)
OPENAI_STD: Colour = (0.26862954, 0.26130258, 0.27577711)
HALF: Colour = (0.5, 0.5, 0.5)

HUB_FILE = "open_clip_model.safetensors"
TOKENIZER, IMAGE_SETTINGS = "tokenizer.json", "preprocessor_config.json"
# File name of conversions from the older pickles.
CONVERTED_HUB_FILE = "open_clip_pytorch_model.safetensors"


@dataclass(frozen=True)
class ClipArchitecture:
    """Backbone with two towers that embed images and texts in one space.

    Attributes:
        name: Name in the setting `backbone`.
        architecture: Name in open_clip, which determines the activation, or a name of this package if `config` is set.
        repository: Repository of the weights on the Hub. None for weights outside the Hub.
        revision: Commit of the repository, 40 hexadecimal digits. None if it is not pinned.
        files: Possible file names of the weights, of which the first existing one is used.
        sha256: SHA-256 of the file. None if it is not recorded.
        embed_width: Width of the embeddings of both towers.
        size: Height and width of the input of the image tower in pixels.
        mean: Mean of the colors.
        std: Standard deviation of the colors.
        quick_gelu: Whether the activation is x * sigmoid(1.702 x).
        openai_sha256: SHA-256 of OpenAI's file of these weights. None for weights of others.
        resnet: Whether the image tower is a ResNet, whose head is an attention pool.
        resize: ``"crop"`` to resize the shorter side to `size` and crop the center, ``"squash"`` to resize both sides.
        interpolation: Resizing filter.
        config: Keyword arguments of open_clip's model, for architectures that open_clip does not list, and `pool_type`
            of the text tower.
        context: Maximum number of tokens of a text, including start and end token.
        tokens: Tokenizer: ``"clip"`` for OpenAI's byte pairs, ``"lower"`` for the `tokenizer.json` of the model on
            lowercased text, ``"canonicalize"`` for the same without punctuation as in open_clip, or ``"open_clip"`` for
            open_clip's tokenizer of the architecture.
        first_positions: Number of rows of the first of two position tables that are used before the rows of the second.
            None for a single table.
        rgb_first: Whether images are converted to RGB before resizing.
        tanh_gelu: Whether the image tower uses the tanh approximation of GELU instead of the exact GELU of its library.
        licence: License of the weights, as stated by their authors.
        aliases: Other names.
        only_for: Name of the only metric that supports these weights. None for all metrics.
        multilingual: Whether the weights were trained on texts of many languages.
    """

    name: str
    architecture: str
    repository: str | None
    embed_width: int
    size: int = 224
    mean: Colour = OPENAI_MEAN
    std: Colour = OPENAI_STD
    quick_gelu: bool = True
    revision: str | None = None
    files: tuple[str, ...] = (HUB_FILE,)
    sha256: str | None = None
    openai_sha256: str | None = None
    resnet: bool = False
    resize: Literal["crop", "squash"] = "crop"
    interpolation: Literal["bicubic", "bilinear"] = "bicubic"
    config: Mapping[str, Any] | None = field(default=None, hash=False)
    context: int = 77
    tokens: Literal["clip", "lower", "canonicalize", "open_clip"] = "clip"
    first_positions: int | None = None
    rgb_first: bool = False
    tanh_gelu: bool = False
    licence: str = "not stated"
    aliases: tuple[str, ...] = ()
    only_for: str | None = None
    multilingual: bool = False

    @property
    def other_names(self) -> tuple[str, ...]:
        """Aliases, and the repository of the weights."""
        return (*self.aliases, *([self.repository] if self.repository else []))

    @property
    def further_files(self) -> tuple[str, ...]:
        """Files that belong to the weights and define the preprocessing of texts and images."""
        return (TOKENIZER, IMAGE_SETTINGS) if self.tokens in ("lower", "canonicalize") else ()


def read_backbones(file: Path) -> dict[str, ClipArchitecture]:
    """Return the backbones of a file by name. The fields of a row complete and replace those of its family."""
    stored = json.loads(file.read_text("utf-8"))
    table = {}
    for name, own in stored["backbones"].items():
        fields = _merge(stored["families"].get(own.pop("family", None), {}), own)
        tuples = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
        table[name] = ClipArchitecture(name, **{**fields, **tuples})
    return table


def _merge(fields: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    inner = {key: _merge(fields[key], value) for key, value in own.items() if isinstance(fields.get(key), dict)}
    return {**fields, **own, **inner}


# `longclip` is OpenAI's CLIP with 248 positions in two tables (Zhang et al., 2024), `siglip2` a SigLIP 2 of fixed
# resolution (Tschannen et al., 2025). The embedding of its texts is the last of 64 positions, which is padding except
# for the longest texts. There is no padding mask. Its `interpolation` is `resample: 2` in the preprocessor_config.json
# of the model, which overrides this value if it is next to the weights.
BACKBONES = DATA / "backbones.json"
TABLE = read_backbones(BACKBONES)
# SHA-256 of the TorchScript archives that OpenAI published. No other archives are opened.
OPENAI_ARCHIVES = frozenset(row.openai_sha256 for row in TABLE.values() if row.openai_sha256)
