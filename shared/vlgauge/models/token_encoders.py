"""Encoders of tokens: one layer of a BERT or RoBERTa, by default the one that agrees best with human ratings."""

import json
from typing import Any

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.checkpoints.torch_runtime import PAIR_PACKAGES
from vlgauge.core.errors import UsageError, as_setting
from vlgauge.core.files import DATA
from vlgauge.models.clip.towers import DTYPES as DTYPES
from vlgauge.models.hidden_layers import MINILM, load_layered_encoder, look_for_layered
from vlgauge.models.hidden_layers import AllLayersEncoder as AllLayersEncoder

ROBERTA = "FacebookAI/roberta-large@722cf37b1afa9454edce342e7895e588b6ff1d59"
EXTRA = "bertscore"

# From the authors' evaluation of BERTScore on WMT16 (bert-score 0.3.13). They did not evaluate MiniLM of 6 layers; they
# recommend layer 5 for the BERTs of 6 layers.
RECOMMENDED: dict[str, int] = json.loads((DATA / "recommended_layers.json").read_text("utf-8"))
# Owners under whom the Hub lists models that had no owner when the authors named them.
_OWNERS = ("google-bert/", "FacebookAI/", "openai-community/", "distilbert/")


def model_of(model: str | None, profile: str) -> str:
    """Return the model of the settings, or the default of the profile."""
    return model or (MINILM if profile == "embedded" else ROBERTA)


def layer_of(model: str, num_layers: int | None) -> int:
    """Return the layer of the settings, or the recommended one.

    Raises:
        UsageError: If neither is known.
    """
    name = model.partition("@")[0]
    plain = next((name.removeprefix(owner) for owner in _OWNERS if name.startswith(owner)), name)
    layer = RECOMMENDED.get(plain) if num_layers is None else num_layers
    if layer is None:
        raise UsageError.about(
            "num_layers", f"must be given for a `model` whose best layer is not known, got None for {model!r}"
        )
    return layer


def look_for(metric: str, model: str, *, profile: str) -> Preflight:
    """Return a preflight that checks the model, without loading or downloading anything."""
    preflight = Preflight(metric, EXTRA)
    preflight.need(PAIR_PACKAGES)
    preflight.look(lambda: look_for_layered(model, **_how(profile)))
    return preflight


def token_encoder(model: str, layer: int, *, profile: str, device: str, dtype: str) -> AllLayersEncoder:
    """Return the encoder from the pool, without the layers above the one that is used.

    Args:
        model: Folder, Hub id, or `MINILM`.
        layer: Number of the layer, with 0 for the embeddings.
        profile: "paper", or "embedded", under which nothing is downloaded.
        device: Device of torch, or "auto".
        dtype: One of `DTYPES`.

    Raises:
        UsageError: If the model has fewer layers.
    """
    encoder = load_layered_encoder(model, **_how(profile), device=device, extra=EXTRA, top=layer, dtype=dtype)
    if (n_layers := encoder.n_layers - 1) < layer:
        raise UsageError.about("num_layers", f"must be at most {n_layers}, the layers of {model!r}, got {layer}")
    return encoder


def _how(profile: str) -> dict[str, Any]:
    hint = f"pass the folder of a model as `model`, or {as_setting('profile', 'embedded')}"
    return {"profile": profile, "setting": "model", "hint": hint}
