"""Source of the embeddings of phrases and regions: a CLIP model, a custom encoder, or passed features."""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.progress import Progress
from vlgauge.core.validation import warn
from vlgauge.families.grounding.features import unit_vectors
from vlgauge.inputs.images.lazy_images import PREPROCESSING
from vlgauge.inputs.images.lazy_images import LazyImage
from vlgauge.models import ImageTextEncoder
from vlgauge.models.clip import loading
from vlgauge.models.clip.tokens import SPELLED
from vlgauge.models.clip.tokens import contains_special_token
from vlgauge.models.detectors import GIVEN

Floats = npt.NDArray[np.float64]

OPENAI_BACKBONE = "ViT-B/32"
ENCODER_SETTINGS = ("weights", "profile", "device", "dtype", "feature_cache", "batch_size", "progress")


@dataclass(frozen=True)
class EncodedPhrases:
    """L2-normalized embeddings of the distinct phrases of a call.

    Attributes:
        rows: Embeddings, shape ``(n_distinct, d)``.
        row_of: Row of each phrase.
        truncated: Phrases that exceed the maximum length of the encoder.
        special: Phrases that contain a special token of CLIP.
    """

    rows: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    row_of: Mapping[str, int] = field(default_factory=dict)
    truncated: set[str] = field(default_factory=set)
    special: set[str] = field(default_factory=set)

    def rows_of(self, stories: Sequence[Sequence[str]]) -> list[list[int]]:
        """Return the rows of the phrases of each story."""
        return [[self.row_of[phrase] for phrase in story] for story in stories]

    def warn(self, stories: Sequence[Sequence[str]]) -> None:
        """Warn of truncated phrases and of special tokens, once per call, with counts."""
        phrases = [phrase for story in stories for phrase in story]
        if cut := sum(phrase in self.truncated for phrase in phrases):
            warn(f"noun phrases truncated to the maximum length of the encoder: {cut}")
        if special := sum(phrase in self.special for phrase in phrases):
            warn(f"{special} of {len(phrases)} noun phrases {SPELLED}")


@dataclass(frozen=True)
class Encoder:
    """Source of the embeddings of a call.

    Attributes:
        model: Encoder. None if the embeddings are passed.
        identity: Identity of the encoder, to which a fitted theta is bound.
        signed: Signature fields that identify the source of the embeddings.
        is_published: Whether the published thetas were computed with this encoder.
        batch_size: Setting of the metric.
        progress: Setting of the metric.
    """

    model: Any
    identity: str
    signed: dict[str, Any]
    is_published: bool = False
    batch_size: int = 64
    progress: Progress = None

    def phrases(self, stories: Sequence[Sequence[str]]) -> EncodedPhrases:
        """Encode the phrases of all stories without a prompt.

        Returns:
            The embeddings. Empty without an encoder or phrases.
        """
        distinct = list(dict.fromkeys(phrase for story in stories for phrase in story))
        if self.model is None or not distinct:
            return EncodedPhrases()
        hidden = self.model.text_hidden(distinct, batch_size=self.batch_size, progress=self.progress)
        rows = unit_vectors(self.model.project(hidden.end, "text"), "the text features of the encoder")
        cut = {phrase for phrase, was in zip(distinct, hidden.truncated, strict=True) if was}
        row_of = {phrase: row for row, phrase in enumerate(distinct)}
        return EncodedPhrases(rows, row_of, cut, set(filter(contains_special_token, distinct)))

    def regions(self, images: Sequence[LazyImage]) -> Floats:
        """Return the L2-normalized embeddings of images, shape ``(n_images, d)``."""
        hidden = self.model.image_hidden(images, batch_size=self.batch_size, progress=False)
        return unit_vectors(self.model.project(hidden, "image"), "the image features of the encoder")


NO_ENCODER = Encoder(None, GIVEN, {"enc": GIVEN, "dtype": None})


def look_for_encoder(preflight: Preflight, backbone: Any, *, weights: Any, profile: str) -> None:
    """Add the requirements of `load_encoder` to a preflight."""
    if not isinstance(backbone, (ImageTextEncoder, Encoder)):
        loading.look_for_clip(preflight, backbone, weights=weights, profile=profile)


def load_encoder(
    backbone: Any, *, weights: Any, profile: str, batch_size: int, progress: Progress, **clip: Any
) -> Encoder:
    """Load a CLIP model, or wrap a custom encoder, which uses its own device and data type.

    Raises:
        WeightsNotFoundError: If the weights cannot be found.
    """
    if isinstance(backbone, ImageTextEncoder):
        signed = {"enc": backbone.identity, "dtype": None, "prep": None}
        return Encoder(backbone, backbone.identity, signed, batch_size=batch_size, progress=progress)
    model = loading.clip_encoder(backbone, weights=weights, profile=profile, **clip)
    name = loading.weights_name(model, given=weights is not None)
    signed = {"enc": name, "prep": PREPROCESSING, "arch": model.architecture}
    openai = profile == "paper" and model.row.name == OPENAI_BACKBONE
    published = openai and (weights is None or model.digest == model.row.openai_sha256)
    return Encoder(model, model.identity, signed, published, batch_size, progress)
