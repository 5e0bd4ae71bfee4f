"""Table of backbones: architecture, context, preprocessing, weights, license.

A file of weights contains neither its activation nor its normalization, and using wrong ones causes no error. Therefore
they are defined here and never by the caller.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vlgauge.core.files import DATA

Colour = tuple[float, float, float]

OPENAI_MEAN: Colour = (0.48145466, 0.4578275, 0.40821073)
OPENAI_STD: Colour = (0.26862954, 0.26130258, 0.27577711)
HALF: Colour = (0.5, 0.5, 0.5)

HUB_FILE = "open_clip_model.safetensors"
TOKENIZER, PICTURE_SETTINGS = "tokenizer.json", "preprocessor_config.json"
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
    def further_files(self) -> tuple[str, ...]:
        """Files that belong to the weights and define the preprocessing of texts and images."""
        return (TOKENIZER, PICTURE_SETTINGS) if self.tokens in ("lower", "canonicalize") else ()


def _openai(name: str, repository: str, width: int, digest: str, **more: Any) -> ClipArchitecture:
    architecture = f"{name.replace('/', '-').replace('@', '-').removesuffix('px')}-quickgelu"
    more = {"licence": "MIT", "aliases": (architecture, f"{architecture}:openai"), **more}
    return ClipArchitecture(name, architecture, f"timm/{repository}.openai", width, openai_sha256=digest, **more)


def _long(
    name: str, shape: tuple[str, int, int], repository: str, file: str, aliases: tuple[str, ...]
) -> ClipArchitecture:
    """Return a Long-CLIP: OpenAI's CLIP with 248 positions in two tables (Zhang et al., 2024)."""
    of, patch, layers = shape
    image, text = (1024, 768) if layers == 24 else (768, 512)
    config = {
        "embed_dim": text,
        "quick_gelu": True,
        "vision_cfg": {"image_size": 224, "layers": layers, "width": image, "patch_size": patch},
        "text_cfg": {"context_length": 248, "vocab_size": 49408, "width": text, "heads": text // 64, "layers": 12},
    }
    return ClipArchitecture(
        name,
        f"{of}-long-quickgelu",
        repository,
        text,
        files=(file,),
        config=config,
        context=248,
        first_positions=20,
        licence="Apache-2.0",
        aliases=aliases,
    )


def _siglip2(
    name: str, trunk: str, size: int, widths: tuple[int, int, int], aliases: tuple[str, ...] = ()
) -> ClipArchitecture:
    """Return a SigLIP 2 of fixed resolution (Tschannen et al., 2025).

    The embedding of a text is its last of 64 positions, which is padding except for the longest texts. There is no
    padding mask.
    """
    width, heads, layers = widths
    text = {
        "context_length": 64,
        "vocab_size": 256000,
        "width": width,
        "heads": heads,
        "layers": layers,
        **({"mlp_ratio": 4304 / 1152} if width == 1152 else {}),
        "no_causal_mask": True,
        "proj_bias": True,
        "pool_type": "last",
        "norm_kwargs": {"eps": 1e-6},
        "act_kwargs": {"approximate": "tanh"},
    }
    image = {"image_size": size, "timm_model_name": trunk, "timm_pool": "map", "timm_proj": "none"}
    config = {"embed_dim": width, "init_logit_bias": -10, "custom_text": True, "vision_cfg": image, "text_cfg": text}
    return ClipArchitecture(
        name,
        name,
        f"google/{name}",
        width,
        size=size,
        mean=HALF,
        std=HALF,
        quick_gelu=False,
        files=("model.safetensors",),
        resize="squash",
        # `resample: 2` in the preprocessor_config.json of the model, which overrides this value if it is next to the
        # weights.
        interpolation="bilinear",
        config=config,
        context=64,
        tokens="lower",
        rgb_first=True,
        tanh_gelu=True,
        licence="Apache-2.0",
        aliases=aliases,
        multilingual=True,
    )


_BASE, _LARGE, _SO400M = (768, 12, 12), (1024, 16, 24), (1152, 16, 27)


_ROWS = (
    _openai(
        "ViT-B/32",
        "vit_base_patch32_clip_224",
        512,
        "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af",
        revision="a6f597a30f7b82c51704746581f9a4e41421e878",
        sha256="e6d1bd7789aa45192b3bf90570a789b478bae1b74ebcce7eddd908e83a2b7c31",
    ),
    _openai(
        "ViT-B/16",
        "vit_base_patch16_clip_224",
        512,
        "5806e77cd80f8b59890b7e101eabd078d9fb84e6937f9e85e4ecb61988df416f",
        revision="977e3dd0ec55ab8da155f2fbeb6b5f54948b6e3d",
        sha256="4b8699299b1e8997753c64b052ba32031449d5d853f55a039148560ee02b820f",
    ),
    _openai(
        "ViT-L/14",
        "vit_large_patch14_clip_224",
        768,
        "b8cca3fd41ae0c99ba7e8951adf17d267cdb84cd88be6f7c2e0eca1737a03836",
        revision="18d0535469bb561bf468d76c1d73aa35156c922b",
        sha256="9ce2e8a8ebfff3793d7d375ad6d3c35cb9aebf3de7ace0fc7308accab7cd207e",
    ),
    _openai(
        "RN50",
        "resnet50_clip",
        1024,
        "afeb0e10f9e5a86da6080e35cf09123aca3b358a0c3e3b6c78a7b63bc04b6762",
        revision="ec3d92cf63a5f9d591f0d611b736895966c73076",
        sha256="da0baa37fb2211eee5729ab69ed587eb10d48f5b7076ceeed01552fc3d4cb4ee",
        resnet=True,
    ),
    _openai(
        "RN101",
        "resnet101_clip",
        512,
        "8fa8567bab74a42d41c5915025a8e4538c3bdbe8804a470a72f30b0d94fab599",
        resnet=True,
    ),
    _openai(
        "RN50x4",
        "resnet50x4_clip",
        640,
        "7e526bd135e493cef0776de27d5f42653e6b4c8bf9e0f653bb11773263205fdd",
        resnet=True,
        size=288,
    ),
    _openai(
        "ViT-L/14@336px",
        "vit_large_patch14_clip_336",
        768,
        "3035c92b350959924f9f00213499208652fc7ea050643e8b385c2dac08641f02",
        size=336,
    ),
    ClipArchitecture(
        "laion/ViT-B-32",
        "ViT-B-32",
        "laion/CLIP-ViT-B-32-laion2B-s34B-b79K",
        512,
        quick_gelu=False,
        revision="1a25a446712ba5ee05982a381eed697ef9b435cf",
        sha256="ac4f8c4b88af6d963118cbf40ad93176d092abbedfcb752601ae1866352656e6",
        licence="MIT",
        aliases=("ViT-B-32:laion2b_s34b_b79k",),
    ),
    ClipArchitecture(
        "laion/ViT-L-14",
        "ViT-L-14",
        "laion/CLIP-ViT-L-14-laion2B-s32B-b82K",
        768,
        mean=HALF,
        std=HALF,
        quick_gelu=False,
        revision="1627032197142fbe2a7cfec626f4ced3ae60d07a",
        files=(CONVERTED_HUB_FILE,),
        sha256="7d129ed747e0ed53e82dfcc140382b51be66b56e6a9bdc3258afd2846e3bb019",
        licence="MIT",
        aliases=("ViT-L-14:laion2b_s32b_b82k",),
    ),
    ClipArchitecture(
        "convnext_base_w",
        "convnext_base_w",
        "laion/CLIP-convnext_base_w-laion2B-s13B-b82K",
        640,
        size=256,
        quick_gelu=False,
        licence="MIT",
        aliases=("convnext_base_w:laion2b_s13b_b82k",),
    ),
    ClipArchitecture(
        "EVA02-B-16",
        "EVA02-B-16",
        "timm/eva02_base_patch16_clip_224.merged2b_s8b_b131k",
        512,
        quick_gelu=False,
        tokens="open_clip",
        licence="MIT",
        aliases=("EVA02-B-16:merged2b_s8b_b131k",),
    ),
    _long("longclip-b", ("ViT-B-16", 16, 12), "BeichenZhang/LongCLIP-B", "longclip-B.pt", ("longclip",)),
    _long("longclip-l", ("ViT-L-14", 14, 24), "BeichenZhang/LongCLIP-L", "longclip-L.pt", ()),
    replace(_long("specs", ("ViT-B-32", 32, 12), "Xiaohud/SPECS", "spec.pt", ()), only_for="specs"),
    _siglip2("siglip2-base-patch16-224", "vit_base_patch16_siglip_224", 224, _BASE, ("siglip2",)),
    _siglip2("siglip2-base-patch16-256", "vit_base_patch16_siglip_256", 256, _BASE),
    _siglip2("siglip2-base-patch16-384", "vit_base_patch16_siglip_384", 384, _BASE),
    _siglip2("siglip2-base-patch16-512", "vit_base_patch16_siglip_512", 512, _BASE),
    _siglip2("siglip2-base-patch32-256", "vit_base_patch32_siglip_256", 256, _BASE),
    _siglip2("siglip2-large-patch16-256", "vit_large_patch16_siglip_256", 256, _LARGE),
    _siglip2("siglip2-large-patch16-384", "vit_large_patch16_siglip_384", 384, _LARGE),
    _siglip2("siglip2-large-patch16-512", "vit_large_patch16_siglip_512", 512, _LARGE),
    _siglip2("siglip2-so400m-patch14-224", "vit_so400m_patch14_siglip_224", 224, _SO400M),
    _siglip2("siglip2-so400m-patch16-256", "vit_so400m_patch16_siglip_256", 256, _SO400M),
    _siglip2("siglip2-so400m-patch16-384", "vit_so400m_patch16_siglip_384", 384, _SO400M),
    _siglip2("siglip2-so400m-patch16-512", "vit_so400m_patch16_siglip_512", 512, _SO400M),
)
# Results of `scripts/pin_backbones.py` for the rows above without a commit.
_PINS: dict[str, dict[str, Any]] = json.loads((DATA / "backbone_pins.json").read_text("utf-8"))


def _pin(row: ClipArchitecture) -> ClipArchitecture:
    pin = _PINS.get(row.name)
    return replace(row, **{**pin, "files": tuple(pin["files"])}) if pin else row


TABLE: dict[str, ClipArchitecture] = {row.name: _pin(row) for row in _ROWS}
# SHA-256 of the TorchScript archives that OpenAI published. No other archives are opened.
OPENAI_ARCHIVES = frozenset(row.openai_sha256 for row in TABLE.values() if row.openai_sha256)
