"""Text encoders of a setting: custom encoders of the user, CLIP, word lists, word vectors and sentence encoders."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.checkpoints.tensors import to_array
from vlgauge.checkpoints.torch_runtime import SENTENCE_PACKAGES
from vlgauge.core.errors import UsageError
from vlgauge.core.files import existing_file
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.core.signatures import signature_value
from vlgauge.core.validation import warn
from vlgauge.models import TextEncoder
from vlgauge.models.clip.loading import clip_encoder, look_for_clip, weights_name
from vlgauge.models.clip.tokens import SPELLED, contains_special_token
from vlgauge.models.sentences.model import SENTENCE_EXTRA, look_for_sentence_model, sentence_encoder
from vlgauge.models.sentences.words import BagOfWords, WordVectors


class GivenEncoder:
    """Custom encoder: a function, or an object with ``encode``, that returns an array with one row per text.

    Each distinct text is encoded once per call. Nothing is cached between calls, because the encoder may be in
    training.
    """

    def __init__(self, encoder: Any) -> None:
        self._encode: Callable[[list[str]], Any] = encoder.encode if hasattr(encoder, "encode") else encoder
        self.identity = str(signature_value(encoder))

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Return the embeddings of texts in their order, shape ``(n_texts, d)``.

        Raises:
            ValueError: If the encoder does not return one row of floats per text.
        """
        distinct = sorted(set(texts), key=lambda text: (len(text), text))
        pieces = []
        with progress_bar(len(distinct), "Encoding texts", progress) as advance:
            for start in range(0, len(distinct), batch_size):
                batch = distinct[start : start + batch_size]
                pieces.append(self._check(self._encode(batch), len(batch)))
                advance(len(batch))
        table = np.concatenate(pieces) if pieces else np.zeros((0, 0))
        row_of = {text: row for row, text in enumerate(distinct)}
        return table[[row_of[text] for text in texts]]

    def _check(self, vectors: Any, count: int) -> np.ndarray:
        # A torch tensor may be on another device or require gradients.
        array = to_array(vectors)
        if array.ndim != 2 or len(array) != count or not np.issubdtype(array.dtype, np.floating):
            raise UsageError.about(
                "encoder",
                f"must return one row of floats per text, got {array.dtype} of shape {array.shape} for {count} texts",
            )
        return array


class ClipTexts:
    """Text embeddings of CLIP after the projection, without a prompt."""

    def __init__(self, backbone: str, *, profile: str, device: str) -> None:
        self._clip = clip_encoder(backbone, profile=profile, device=device)
        self.identity = f"clip:{weights_name(self._clip, given=False)}"

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Return the embeddings of texts in their order, shape ``(n_texts, d)``, float32.

        Texts longer than the context are truncated.

        Warns:
            UserWarning: If a text was truncated, or spells a special token of CLIP.
        """
        hidden = self._clip.text_hidden(texts, batch_size=batch_size, progress=progress)
        if cut := int(hidden.truncated.sum()):
            warn(f"{cut} of {len(texts)} texts have over {self._clip.row.context} tokens and were truncated by CLIP")
        if special := sum(map(contains_special_token, texts)):
            warn(f"{special} of {len(texts)} texts {SPELLED}")
        return self._clip.project(hidden.end, "text")


def look_for_text_encoder(preflight: Preflight, encoder: Any, *, profile: str) -> None:
    """Make a preflight check the requirements of `text_encoder`, without downloading or reading anything."""
    if not isinstance(encoder, str):
        return
    kind, colon, rest = encoder.partition(":")
    if colon and kind in ("bow", "vectors"):
        preflight.look(lambda: existing_file("encoder", rest, f"an existing file after '{kind}:'"))
    elif colon and kind == "clip":
        look_for_clip(preflight, rest, weights=None, profile=profile)
    else:
        preflight.need(SENTENCE_PACKAGES)
        preflight.look(lambda: look_for_sentence_model(encoder, profile))


def text_encoder(encoder: Any, *, profile: str, pooling: str, device: str, extra: str = SENTENCE_EXTRA) -> TextEncoder:
    """Return the encoder of a setting. Sentence encoders by name or folder are loaded through the pool.

    ``"bow:PATH"`` counts the words of a list, ``"vectors:PATH"`` averages word vectors, and ``"clip:BACKBONE"`` uses
    the text embeddings of CLIP.

    Raises:
        WeightsNotFoundError: If the model cannot be found.
        MissingExtraError: If a package is missing.
    """
    if not isinstance(encoder, str):
        return GivenEncoder(encoder)
    if encoder.startswith("bow:"):
        return BagOfWords(encoder.removeprefix("bow:"))
    if encoder.startswith("vectors:"):
        return WordVectors(encoder.removeprefix("vectors:"))
    if encoder.startswith("clip:"):
        return ClipTexts(encoder.removeprefix("clip:"), profile=profile, device=device)
    return sentence_encoder(encoder, profile=profile, pooling=pooling, device=device, extra=extra)
