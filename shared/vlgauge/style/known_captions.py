"""Which captions a table was fitted on, kept as digests: enough to know one again, not to read it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.style.counting import Ints
from vlgauge.style.weights import OrderCounts

_KEY_BYTES = 8


def caption_keys(captions: Sequence[Sequence[str]]) -> npt.NDArray[np.uint64]:
    """64-bit BLAKE2b of the tokens of each caption, joined by spaces; shape ``(n_captions,)``."""
    digests = (hashlib.blake2b(" ".join(tokens).encode(), digest_size=_KEY_BYTES).digest() for tokens in captions)
    # Big-endian, so that the order of the numbers is that of the hexadecimal digits in the file.
    return np.frombuffer(b"".join(digests), dtype=f">u{_KEY_BYTES}").astype(np.uint64)


@dataclass(frozen=True, eq=False)
class KnownCaptions:
    """How many copies of each caption every style has; captions without tokens are left out.

    Attributes:
        keys: shape ``(n,)``, ascending.
        copies: pairs (caption, style) and the number of copies, as if captions were n-grams.
    """

    keys: npt.NDArray[np.uint64]
    copies: OrderCounts

    @classmethod
    def counted(cls, captions: Sequence[Sequence[str]], styles: Ints, n_styles: int) -> KnownCaptions:
        """Copies of the given captions.

        Args:
            captions: Tokens of each caption.
            styles: shape ``(n_captions,)``.
            n_styles: |S|.
        """
        filled = [i for i, tokens in enumerate(captions) if tokens]
        keys, places = np.unique(caption_keys([captions[i] for i in filled]), return_inverse=True)
        return cls(keys, OrderCounts.counted(np.arange(len(keys)), places, styles[filled], n_styles))

    def find(self, captions: Sequence[Sequence[str]]) -> Ints:
        """Place of each caption among the known ones, -1 for an unknown or empty one."""
        if not len(self.keys):
            return np.full(len(captions), -1, np.int64)
        keys = caption_keys(captions)
        places = np.searchsorted(self.keys, keys)
        places[places == len(self.keys)] = 0
        return np.where(self.keys[places] == keys, places, -1)  # the key of no tokens is in no table
