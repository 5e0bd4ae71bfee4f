"""Models of Polos from the pool: a CLIP, a text encoder that returns all layers, and a head."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from vlgauge.checkpoints.files import cache_folder, sha256_of
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.checkpoints.torch_runtime import PAIR_PACKAGES
from vlgauge.core.errors import UsageError, UsageTypeError, WeightsNotFoundError, as_setting
from vlgauge.core.files import DATA
from vlgauge.core.pool import pool
from vlgauge.core.validation import short_repr
from vlgauge.models.clip.loading import ClipEncoder, clip_encoder, look_for_clip
from vlgauge.models.hidden_layers import MINILM, AllLayersEncoder, load_layered_encoder, look_for_layered
from vlgauge.models.rated.files import metadata_of, read_head
from vlgauge.models.rated.head import Head

PROMPT = "A photo depicts "
TEXT_ENCODER = "princeton-nlp/sup-simcse-roberta-base"
EXTRA = "polos"
RELEASED = "https://polos-polaris.s3.ap-northeast-1.amazonaws.com/reprod.zip"
DEMO_HEAD = DATA / "polos" / "demo_polos.safetensors"


@dataclass(frozen=True)
class PolosModels:
    """Encoders, and a head fitted to their outputs."""

    clip: ClipEncoder
    text: AllLayersEncoder
    head: Head


def head_place() -> Path:
    """Return the path to which `vlgauge convert --kind polos` writes the authors' head, which may not exist."""
    return cache_folder() / "adapters" / "polos.safetensors"


def manual_step() -> str:
    """Return the instructions for obtaining the authors' head, for a message."""
    return (
        f"download {RELEASED} (about 1 GB), unpack it, and run on a machine with the two public encoders: "
        "vlgauge convert reprod/reprod.ckpt --kind polos"
    )


def find_head(checkpoint: str | Path | None, profile: str) -> Path:
    """Return the file with the head: that of the user, the converted one, or the demo head under the embedded profile.

    Raises:
        TypeError: If `checkpoint` is not a path.
        WeightsNotFoundError: If the file does not exist.
    """
    if checkpoint is not None:
        if not isinstance(checkpoint, (str, PathLike)):
            raise UsageTypeError.about("checkpoint", f"must be the path of a file, got {short_repr(checkpoint)}")
        path = Path(checkpoint).expanduser()
        if not path.is_file():
            raise WeightsNotFoundError.about(
                "checkpoint", f"must be an existing file with the head of a Polos, got {str(path)!r}"
            )
        return path
    path = DEMO_HEAD if profile == "embedded" else head_place()
    if not path.is_file():
        raise WeightsNotFoundError(
            f"the head of Polos is not in {str(path)!r}: {manual_step()}; or pass {as_setting('checkpoint')}, or "
            f"{as_setting('profile', 'embedded')}"
        )
    return path


def text_encoder_name(text_encoder: str | None, profile: str) -> str:
    """Return the text encoder of the settings, or the default of the profile."""
    return text_encoder or (MINILM if profile == "embedded" else TEXT_ENCODER)


def text_encoder_of(text_encoder: str | None, *, profile: str, device: str, extra: str = EXTRA) -> AllLayersEncoder:
    """Return the text encoder of the settings from the pool.

    See `vlgauge.models.hidden_layers.load_layered_encoder`.

    Raises:
        WeightsNotFoundError: If the model cannot be found.
    """
    name = text_encoder_name(text_encoder, profile)
    return load_layered_encoder(name, profile=profile, device=device, setting="text_encoder", hint=_hint(), extra=extra)


def look_for(
    metric: str,
    *,
    backbone: Any,
    weights: str | Path | None,
    text_encoder: str | None,
    checkpoint: str | Path | None,
    profile: str,
) -> Preflight:
    """Return a preflight that checks all three models, without loading or downloading anything."""
    preflight = Preflight(metric, EXTRA)
    look_for_clip(preflight, backbone, weights=weights, profile=profile)
    preflight.need(PAIR_PACKAGES)
    name = text_encoder_name(text_encoder, profile)
    preflight.look(lambda: look_for_layered(name, profile=profile, setting="text_encoder", hint=_hint()))
    preflight.look(lambda: find_head(checkpoint, profile))
    return preflight


def polos_models(
    *,
    backbone: Any,
    weights: str | Path | None,
    text_encoder: str | None,
    checkpoint: str | Path | None,
    profile: str,
    device: str,
    dtype: str,
    feature_cache: str | Path | None,
) -> PolosModels:
    """Return the three models of the settings, each loaded once per process.

    Raises:
        WeightsNotFoundError: If a model is missing.
        ValueError: If the head was fitted to other encoders.
    """
    path = find_head(checkpoint, profile)
    head: Head = pool.get(("polos", sha256_of(path)), lambda: read_head(path), "the head of Polos")
    clip = clip_encoder(
        backbone, weights=weights, profile=profile, device=device, dtype=dtype, feature_cache=feature_cache
    )
    text = text_encoder_of(text_encoder, profile=profile, device=device)
    models = PolosModels(clip, text, head)
    pool.get(("polos-fits", head.digest, clip.digest, text.digest), lambda: _check(models))
    return models


def _check(models: PolosModels) -> bool:
    clip, text, head = models.clip, models.text, models.head
    head.check(layers=text.n_layers, text_width=text.width, embed_width=clip.row.embed_width)
    found = metadata_of(clip.model.state_dict(), clip.architecture, text)
    names = {
        "text_encoder_sha256": f"text encoder {text.identity}",
        "tokens_sha256": f"tokenizer of {text.identity}",
        "clip_sha256": f"CLIP {clip.row.name}",
    }
    for key, name in names.items():
        if head.metadata[key] != found[key]:
            raise UsageError.about(
                "checkpoint",
                f"must be a head for the {name} ({found[key][:8]}), got one for a different one "
                f"({head.metadata[key][:8]})",
            )
    return True


def clip_texts(clip: ClipEncoder, texts: Sequence[str], **how: Any) -> Any:
    """Return the CLIP embeddings of texts with the prompt before them, shape ``(n, embed)``, not normalized."""
    return clip.project(clip.text_hidden(texts, prompt=PROMPT, **how).end, "text")


def _hint() -> str:
    return f"or pass the folder of one as {as_setting('text_encoder')}, or {as_setting('profile', 'embedded')}"
