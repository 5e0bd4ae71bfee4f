"""Encoder of images and texts with embeddings chosen by the test, in the interface of clip_s and pac_s."""

import dataclasses
from collections import Counter

import numpy as np

from vlgauge.models import TextHiddenStates
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.clip.tokens import ClipTokens


def grey(value, size=(4, 4)):
    """Return an image of a single gray value, by which `ChosenClip` identifies it."""
    return np.full((*size, 3), value, dtype=np.uint8)


@dataclasses.dataclass(frozen=True)
class ChosenAdapter:
    """Projections that scale each dimension."""

    scale: tuple
    digest: str = "fa" * 32


class ChosenClip:
    """Encoder with embeddings chosen by the gray value of an image and by the text after the prompt.

    The end token has the embedding of the text. Other texts have an embedding derived from their characters, and other
    tokens one derived from their id.
    """

    architecture = "fake"
    identity = "fake@00000000"
    digest = "0" * 64
    verified = True
    row = TABLE["ViT-B/32"]

    def __init__(self, images=(), texts=(), d=3):
        self.images, self.texts, self.d = dict(images), dict(texts), d
        self.forwards = Counter()
        self.prompts = set()

    def image_hidden(self, images, *, adapter=None, batch_size=64, on_error="raise", progress=None):
        self.forwards["image"] += len(images)
        return np.stack([self._seen(image, on_error) for image in images])

    def text_hidden(self, texts, *, prompt="", tokens=False, batch_size=64, progress=None):
        self.forwards["text"] += len(texts)
        self.prompts.add(prompt)
        read = [prompt + text for text in texts]
        (ids, cut), end = ClipTokens(self.row.context)(read), np.stack([self._read(text) for text in texts])
        rows = [np.array([self._vector(int(i)) for i in row], dtype=np.float32) for row in ids]
        for table, last in zip(rows, end, strict=True):
            table[-1] = last
        return TextHiddenStates(end, cut, rows if tokens else None, ids)

    def project(self, hidden, side, adapter=None):
        return np.asarray(hidden if adapter is None else hidden * np.array(adapter.scale), dtype=np.float32)

    def _seen(self, image, on_error):
        try:
            value = int(np.asarray(image.open().convert("L"))[0, 0])
        except ValueError:
            if on_error == "raise":
                raise
            return np.full(self.d, np.nan, dtype=np.float32)
        return np.asarray(self.images.get(value, self._vector(value)), dtype=np.float32)

    def _read(self, text):
        return np.asarray(self.texts.get(text, self._vector(*map(ord, text))), dtype=np.float32)

    def _vector(self, *numbers):
        return np.random.default_rng([7, *numbers]).normal(size=self.d)
