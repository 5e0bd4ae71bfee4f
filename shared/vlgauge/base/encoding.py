"""What metrics share that ask an encoder of sentences for vectors."""

from typing import Any

from vlgauge.base.metric import Metric
from vlgauge.encoders import TextEncoder
from vlgauge.encoders.sentences.given import checked_encoder, look_for_text_encoder, pools, text_encoder
from vlgauge.encoders.sentences.model import MINILM, POOLINGS, SENTENCE_EXTRA
from vlgauge.settings import one_of
from vlgauge.weights.preflight import Preflight


class EncodingMetric(Metric):
    """Base of metrics with the settings ``encoder`` (a name, a folder, a function or an object) and ``pooling``."""

    device: str

    def __init__(self, *args: Any, encoder: Any = MINILM, pooling: str = "model", **host: Any) -> None:
        self.encoder = checked_encoder(encoder)
        self.pooling = one_of("pooling", pooling, POOLINGS)
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """The settings; the pooling only where the encoder reads it. The encoder is named by what a call asked."""
        fields = super().signature_fields()
        dropped = ("encoder",) if pools(self.encoder) else ("encoder", "pooling")
        # Our encoders compute in float32, a function of the user in what it likes.
        dtype = {"dtype": "float32"} if isinstance(self.encoder, str) else {}
        return dtype | {name: value for name, value in fields.items() if name not in dropped}

    @property
    def _extra(self) -> str:
        # trm needs no extra but where it reads vectors.
        return self.needs[0] if self.needs else SENTENCE_EXTRA

    def look_for_encoder(self, preflight: Preflight) -> None:
        """Have a preflight look for what `text_encoder` needs."""
        look_for_text_encoder(preflight, self.encoder, profile=self.profile)

    def text_encoder(self) -> TextEncoder:
        """The encoder of the settings; one by name comes from the pool."""
        how: dict[str, Any] = {"profile": self.profile, "pooling": self.pooling, "device": self.device}
        return text_encoder(self.encoder, extra=self._extra, **how)
