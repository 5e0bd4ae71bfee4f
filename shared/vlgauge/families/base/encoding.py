"""Settings of the encoder with which a metric embeds texts."""

from dataclasses import dataclass
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_choice
from vlgauge.models import TextEncoder
from vlgauge.models.sentences.given import text_encoder
from vlgauge.models.sentences.model import MINILM, POOLINGS


@dataclass(frozen=True, kw_only=True)
class EncoderSettings:
    """Settings of the encoder of texts.

    Attributes:
        encoder: Name, folder, function, or object with ``encode``.
        pooling: "model" or "cls", for sentence encoders.
    """

    encoder: Any = MINILM
    pooling: str = "model"

    def __post_init__(self) -> None:
        if not isinstance(self.encoder, str) and not callable(self.encoder) and not hasattr(self.encoder, "encode"):
            got = type(self.encoder).__name__
            raise UsageError.about(
                "encoder", f"must be a name, a folder, a function or an object with `encode`, got {got}"
            )
        check_choice("pooling", self.pooling, POOLINGS)

    def signature_fields(self) -> dict[str, Any]:
        """Return the fields for the signature, without the encoder, whose identity each call adds.

        Returns:
            ``dtype`` and, if the encoder pools tokens, ``pooling``. Empty if `encoder` is an object.
        """
        if not isinstance(self.encoder, str):
            return {}  # of unknown dtype
        # Built-in encoders compute in float32. Only sentence encoders pool.
        pools = not self.encoder.startswith(("bow:", "vectors:", "clip:"))
        return {"dtype": "float32"} | ({"pooling": self.pooling} if pools else {})

    def text_encoder(self, *, profile: str, device: str, extra: str) -> TextEncoder:
        """Return the encoder. An encoder specified by name comes from the pool."""
        return text_encoder(self.encoder, pooling=self.pooling, profile=profile, device=device, extra=extra)
