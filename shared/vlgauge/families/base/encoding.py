"""Base class of metrics that embed texts with a sentence encoder."""

from typing import Any

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.validation import check_choice
from vlgauge.families.base.metric import Metric
from vlgauge.models import TextEncoder
from vlgauge.models.sentences.given import checked_encoder, look_for_text_encoder, pools, text_encoder
from vlgauge.models.sentences.model import MINILM, POOLINGS, SENTENCE_EXTRA


class EncodingMetric(Metric):
    """Base class of metrics with the settings ``encoder`` (name, folder, function or object) and ``pooling``."""

    device: str

    def __init__(self, *args: Any, encoder: Any = MINILM, pooling: str = "model", **host: Any) -> None:
        self.encoder = checked_encoder(encoder)
        self.pooling = check_choice("pooling", pooling, POOLINGS)
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings for the signature, without the encoder, whose identity each call adds.

        The pooling is included only if the encoder uses it.
        """
        fields = super().signature_fields()
        dropped = ("encoder",) if pools(self.encoder) else ("encoder", "pooling")
        # Built-in encoders compute in float32. The dtype of a custom function is unknown.
        dtype = {"dtype": "float32"} if isinstance(self.encoder, str) else {}
        return dtype | {name: value for name, value in fields.items() if name not in dropped}

    @property
    def _extra(self) -> str:
        # trm requires no extra unless it uses embeddings.
        return self.needs[0] if self.needs else SENTENCE_EXTRA

    def look_for_encoder(self, preflight: Preflight) -> None:
        """Add the requirements of `text_encoder` to a preflight check."""
        look_for_text_encoder(preflight, self.encoder, profile=self.profile)

    def text_encoder(self) -> TextEncoder:
        """Return the encoder of the settings. An encoder specified by name comes from the pool."""
        how: dict[str, Any] = {"profile": self.profile, "pooling": self.pooling, "device": self.device}
        return text_encoder(self.encoder, extra=self._extra, **how)
