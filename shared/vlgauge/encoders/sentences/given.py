"""An encoder that the user brings, behind the same protocol as ours."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vlgauge.encoders import TextEncoder
from vlgauge.encoders.clip.loading import clip_encoder, look_for_clip, weights_name
from vlgauge.encoders.clip.tokens import SPELLED, spells_special
from vlgauge.encoders.sentences.model import SENTENCE_EXTRA, look_for_sentence_model, sentence_encoder
from vlgauge.encoders.sentences.words import BagOfWords, WordVectors, existing_file
from vlgauge.errors import UsageError
from vlgauge.progress import Progress, progress_bar
from vlgauge.settings import warn
from vlgauge.signatures import named
from vlgauge.torch_use import SENTENCE_PACKAGES
from vlgauge.weights.preflight import Preflight


class GivenEncoder:
    """A function, or an object with ``encode``, from a list of texts to an array with one row per text.

    Each distinct text is encoded once per call; nothing is remembered, because the encoder may still be training.
    """

    def __init__(self, encoder: Any) -> None:
        self._encode: Callable[[list[str]], Any] = encoder.encode if hasattr(encoder, "encode") else encoder
        self.identity = str(named(encoder))

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Vectors of the texts, shape ``(n_texts, d)``, in the order of the texts."""
        distinct = sorted(set(texts), key=lambda text: (len(text), text))
        pieces = []
        with progress_bar(len(distinct), "Encoding texts", progress) as advance:
            for start in range(0, len(distinct), batch_size):
                batch = distinct[start : start + batch_size]
                pieces.append(self._checked(self._encode(batch), len(batch)))
                advance(len(batch))
        table = np.concatenate(pieces) if pieces else np.zeros((0, 0))
        row_of = {text: row for row, text in enumerate(distinct)}
        return table[[row_of[text] for text in texts]]

    def _checked(self, vectors: Any, count: int) -> np.ndarray:
        # A tensor of torch may be on another device or carry a gradient.
        array = np.asarray(vectors.detach().cpu() if hasattr(vectors, "detach") else vectors)
        if array.ndim != 2 or len(array) != count or not np.issubdtype(array.dtype, np.floating):
            raise UsageError(
                f"`encoder` must return one row of floats per text, got {array.dtype} of shape {array.shape} "
                f"for {count} texts"
            )
        return array


class ClipTexts:
    """Texts as CLIP's text tower sees them: after the projection, as they come, without a prompt."""

    def __init__(self, backbone: str, *, profile: str, device: str) -> None:
        self._clip = clip_encoder(backbone, profile=profile, device=device)
        self.identity = f"clip:{weights_name(self._clip, given=False)}"

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Vectors of the texts, shape ``(n_texts, d)``, float32, in their order; over the context a text is cut.

        Warns:
            UserWarning: If a text was cut, or spells a token of CLIP.
        """
        hidden = self._clip.text_hidden(texts, batch_size=batch_size, progress=progress)
        if cut := int(hidden.truncated.sum()):
            warn(f"{cut} of {len(texts)} texts have over {self._clip.row.context} tokens and were cut by CLIP")
        if special := sum(map(spells_special, texts)):
            warn(f"{special} of {len(texts)} texts {SPELLED}")
        return self._clip.project(hidden.end, "text")


def checked_encoder(encoder: Any) -> Any:
    """The setting `encoder` of a metric, if `text_encoder` can resolve it."""
    if not isinstance(encoder, str) and not callable(encoder) and not hasattr(encoder, "encode"):
        raise UsageError(
            f"`encoder` must be a name, a folder, a function or an object with `encode`, got {type(encoder).__name__}"
        )
    return encoder


def pools(encoder: Any) -> bool:
    """Whether a setting `encoder` stands for a sentence encoder, which alone reads the setting `pooling`."""
    return isinstance(encoder, str) and not encoder.startswith(("bow:", "vectors:", "clip:"))


def look_for_text_encoder(preflight: Preflight, encoder: Any, *, profile: str) -> None:
    """Have a preflight look for what `text_encoder` needs; nothing is fetched or read."""
    if not isinstance(encoder, str):
        return
    kind, colon, rest = encoder.partition(":")
    if colon and kind in ("bow", "vectors"):
        preflight.look(lambda: existing_file(rest, f"{kind}:"))
    elif colon and kind == "clip":
        look_for_clip(preflight, rest, weights=None, profile=profile)
    else:
        preflight.need(SENTENCE_PACKAGES)
        preflight.look(lambda: look_for_sentence_model(encoder, profile))


def text_encoder(encoder: Any, *, profile: str, pooling: str, device: str, extra: str = SENTENCE_EXTRA) -> TextEncoder:
    """The encoder that a setting stands for; names and folders of sentence encoders go through the pool.

    ``"bow:PATH"`` counts the words of a list, ``"vectors:PATH"`` takes means of word vectors, ``"clip:BACKBONE"`` takes
    the text vectors of CLIP.
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
