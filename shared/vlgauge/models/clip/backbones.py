"""Resolution of backbone names: a row of the table, or an architecture of open_clip with a tag of its weights.

The tag is required even with a file of the user, because it determines mean, standard deviation and activation.
"""

from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.lean_imports import lean_import
from vlgauge.models.clip.architectures import CONVERTED_HUB_FILE, HUB_FILE, TABLE, ClipArchitecture

# Suffix of SigLIP 2 names for the text preprocessing of open_clip.
CANONICAL = "/canonicalize"
_HUB = "hf-hub:"
_RESIZE = {"shortest": "crop", "squash": "squash"}


def architecture_of(backbone: str | ClipArchitecture) -> ClipArchitecture:
    """Return the architecture of a backbone.

    Args:
        backbone: A custom architecture, or a name. Valid names are names of the table such as ``"ViT-B/32"``, their
            aliases and repositories, ignoring case and an ``"hf-hub:"`` before them. Names of a SigLIP 2 may end in
            ``"/canonicalize"``. Otherwise, the name is an architecture and a tag of open_clip such as
            ``"ViT-B-16:laion2b_s34b_b88k"``. The tag may be omitted if there is only one.

    Raises:
        ValueError: If the name is unknown or ambiguous.
    """
    if isinstance(backbone, ClipArchitecture):
        return backbone
    name = str(backbone)
    known = _find_row(name)
    if known is not None:
        return known
    plain = _find_row(name.removesuffix(CANONICAL)) if name.endswith(CANONICAL) else None
    if plain is not None and plain.tokens == "lower":
        label = plain.name + CANONICAL
        return replace(plain, name=label, architecture=label, tokens="canonicalize", aliases=())
    if ":" in name and not name.startswith(_HUB):
        return open_clip_architecture(name)
    return _guess_backbone(name)


def find_backbone(backbone: object) -> ClipArchitecture | None:
    """Return the custom or tabulated architecture of a setting `backbone`, or None for any other value."""
    if isinstance(backbone, ClipArchitecture):
        return backbone
    return _find_row(backbone) if isinstance(backbone, str) else None


def may_be_multilingual(backbone: object) -> bool:
    """Return whether a setting `backbone` selects a multilingual backbone, or one that is not in the table."""
    row = find_backbone(backbone)
    return backbone is not None and (row is None or row.multilingual)


def _find_row(name: str) -> ClipArchitecture | None:
    """Return the row of the table with this name, alias or repository, ignoring case."""
    if name in TABLE:
        return TABLE[name]
    wanted = name.removeprefix(_HUB).lower()
    rows = (row for row in TABLE.values() if wanted in map(str.lower, (row.name, *row.other_names)))
    return next(rows, None)


def _guess_backbone(name: str) -> ClipArchitecture:
    """Return the only backbone of open_clip with this name or repository, or raise ValueError with a suggestion."""
    lean_import("open_clip")
    import open_clip

    repository = name.removeprefix(_HUB)
    tags = open_clip.list_pretrained_tags_by_model(name)
    pairs = [f"{name}:{tag}" for tag in tags]
    if not tags and "/" in repository:
        pairs = [
            f"{architecture}:{tag}"
            for architecture, tag in open_clip.list_pretrained()
            if (open_clip.get_pretrained_cfg(architecture, tag).get("hf_hub") or "").strip("/") == repository
        ]
    if len(pairs) == 1:
        return open_clip_architecture(pairs[0])
    if pairs:
        ours = next(
            (f", or {row.name!r} for OpenAI's" for row in TABLE.values() if f"{name}-quickgelu" in row.aliases), ""
        )
        raise UsageError.about(
            "backbone", f"{name!r} must specify open_clip weights, one of {', '.join(map(repr, pairs))}{ours}"
        )
    names = [*TABLE, *(alias for row in TABLE.values() for alias in row.aliases)]
    close = get_close_matches(repository, names, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise UsageError.about(
        "backbone",
        f"must be a name that `vlgauge backbones` lists, or open_clip's 'ARCHITECTURE:TAG', got {name!r}{hint}",
    )


def open_clip_architecture(name: str) -> ClipArchitecture:
    """Return the architecture for a name and a tag such as ``"ViT-B-16:laion2b_s34b_b88k"``.

    There are no published scores of our metrics with such backbones.

    Raises:
        ValueError: If open_clip does not have these weights, or they need unsupported preprocessing.
    """
    lean_import("open_clip")
    import open_clip

    architecture, _, tag = name.partition(":")
    config = open_clip.get_model_config(architecture)
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if config is None or not tags:
        raise UsageError.about(
            "backbone", f"must be an architecture that open_clip has weights for, got {architecture!r}"
        )
    published = open_clip.get_pretrained_cfg(architecture, tag)
    if not published:
        raise UsageError.about(
            "backbone", f"must be '{architecture}:TAG' with one of the tags {', '.join(tags)}, got {name!r}"
        )
    if bool(published.get("quick_gelu")) != bool(config.get("quick_gelu")):
        other = architecture.removesuffix("-quickgelu") if config.get("quick_gelu") else f"{architecture}-quickgelu"
        raise UsageError.about(
            "backbone", f"must have the activation function of its weights, got {name!r}", f"use '{other}:{tag}'"
        )
    resize, interpolation = published.get("resize_mode") or "shortest", published.get("interpolation") or "bicubic"
    if "multimodal_cfg" in config or resize not in _RESIZE or interpolation not in ("bicubic", "bilinear"):
        raise UsageError.about("backbone", f"must be a CLIP with plain preprocessing, got {name!r}")
    return _row(name, architecture, config, published)


def _row(name: str, architecture: str, config: dict[str, Any], published: dict[str, Any]) -> ClipArchitecture:
    vision, text, embed = config["vision_cfg"], config["text_cfg"], config["embed_dim"]
    # Only this kind of text tower is equal to CLIP's, with a causal mask and pooling at the end token.
    own_text = not (config.get("custom_text") or "hf_model_name" in text or text.get("no_causal_mask"))
    repository, _, file = published.get("hf_hub", "").rpartition("/")
    files = (HUB_FILE, CONVERTED_HUB_FILE)
    resnet = isinstance(vision.get("layers"), (list, tuple))
    size = vision.get("image_size", 224)
    return ClipArchitecture(
        name,
        architecture,
        repository if repository and file in ("", *files) else None,
        embed,
        size=size if isinstance(size, int) else size[0],
        mean=tuple(published["mean"]),
        std=tuple(published["std"]),
        quick_gelu=bool(config.get("quick_gelu")),
        files=files,
        resnet=resnet,
        resize=_RESIZE[published.get("resize_mode") or "shortest"],  # type: ignore[arg-type]
        interpolation=published.get("interpolation") or "bicubic",
        context=text.get("context_length", 77),
        tokens="clip" if own_text and text.get("pool_type", "argmax") == "argmax" else "open_clip",
    )
