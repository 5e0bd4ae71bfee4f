"""Encoders of tokens: one layer of a BERT or RoBERTa, by default the one that agrees best with human ratings."""

from typing import Any

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.checkpoints.torch_runtime import PAIR_PACKAGES
from vlgauge.core.errors import UsageError, as_setting
from vlgauge.models.clip.towers import DTYPES
from vlgauge.models.hidden_layers import MINILM, AllLayersEncoder, load_layered_encoder, look_for_layered

ROBERTA = "FacebookAI/roberta-large@722cf37b1afa9454edce342e7895e588b6ff1d59"
EXTRA = "bertscore"

__all__ = [
    "DTYPES",
    "EXTRA",
    "MINILM",
    "RECOMMENDED",
    "ROBERTA",
    "AllLayersEncoder",
    "layer_of",
    "look_for",
    "model_of",
    "token_encoder",
]

# From the authors' evaluation of BERTScore on WMT16 (bert-score 0.3.13). They did not evaluate MiniLM of 6 layers; they
# recommend layer 5 for the BERTs of 6 layers.
RECOMMENDED = {
    MINILM: 5,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-cased-finetuned-mrpc": 9,
    "bert-base-multilingual-cased": 9,
    "bert-base-chinese": 8,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "roberta-base-openai-detector": 7,
    "roberta-large-openai-detector": 15,
    "distilroberta-base": 5,
    "allenai/scibert_scivocab_uncased": 8,
    "allenai/scibert_scivocab_cased": 9,
    "SpanBERT/spanbert-base-cased": 8,
    "SpanBERT/spanbert-large-cased": 17,
    "ProsusAI/finbert": 10,
    "dbmdz/bert-base-turkish-cased": 10,
    "princeton-nlp/unsup-simcse-bert-base-uncased": 10,
    "princeton-nlp/unsup-simcse-bert-large-uncased": 18,
    "princeton-nlp/unsup-simcse-roberta-base": 8,
    "princeton-nlp/unsup-simcse-roberta-large": 13,
    "princeton-nlp/sup-simcse-bert-base-uncased": 10,
    "princeton-nlp/sup-simcse-bert-large-uncased": 18,
    "princeton-nlp/sup-simcse-roberta-base": 10,
    "princeton-nlp/sup-simcse-roberta-large": 16,
}
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
