"""Captions that are longer than the encoder: cut, refused, or scored sentence by sentence."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.clip_score.formula import Positions
from vlgauge.encoders.clip.tokens import Tokens
from vlgauge.errors import UsageError

POLICIES = ("truncate", "error", "split")

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Pieces:
    """Texts as they go to the encoder: whole, or the sentences of a long one.

    Attributes:
        texts: The pieces, each once.
        index: shape ``(n_pieces,)``, position in `texts` of each piece, text by text.
        owner: shape ``(n_pieces,)``, the text that each is of, ascending.
        n_owners: Number of texts.
        is_long: shape ``(n_owners,)``, whether the text does not fit as a whole.
    """

    texts: list[str]
    index: Positions
    owner: Positions
    n_owners: int
    is_long: npt.NDArray[np.bool_]


def sentences(text: str) -> list[str]:
    """The text cut after each . ! or ? that white space follows; the text itself if there is none."""
    return [part for part in _SENTENCE_END.split(text) if part.strip()] or [text]


def pieces_of(
    texts: Sequence[str], place: Callable[[int], str], tokens: Tokens, policy: str, prompt: str = ""
) -> Pieces:
    """The pieces of texts under a policy.

    Args:
        texts: Captions or references.
        place: Where the text at a position stands, such as ``"references[3][0]"``, for messages.
        tokens: What reads them.
        policy: ``"truncate"`` and ``"error"`` leave every text whole, ``"split"`` cuts the long ones into sentences.
        prompt: What stands before every text.

    Raises:
        ValueError: If the policy is ``"error"`` and a text is too long.
    """
    distinct = {text: position for position, text in enumerate(dict.fromkeys(texts))}
    index = np.fromiter((distinct[text] for text in texts), np.intp, len(texts))
    too_long = tokens.too_long([prompt + text for text in distinct])
    long = too_long[index]
    if policy == "error" and long.any():
        raise UsageError(
            f"`{place(int(np.argmax(long)))}` must have at most {tokens.context} tokens with prompt, start and end, "
            "got more; shorten it, or choose another `long_text`"
        )
    if policy != "split" or not long.any():
        return Pieces(list(distinct), index, np.arange(len(texts)), len(texts), long)
    cut = [sentences(text) if flag else [text] for text, flag in zip(distinct, too_long, strict=True)]
    pieces: dict[str, int] = {}
    numbers = [np.array([pieces.setdefault(part, len(pieces)) for part in parts], dtype=np.intp) for parts in cut]
    sizes = np.array([len(parts) for parts in cut], dtype=np.intp)[index]
    joined = np.concatenate([numbers[position] for position in index])
    return Pieces(list(pieces), joined, np.repeat(np.arange(len(texts)), sizes), len(texts), long)
