"""Captions that are too long for the encoder: truncated, rejected, or scored sentence by sentence."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.families.clip_score.formula import Positions
from vlgauge.models.clip.tokens import Tokens

POLICIES = ("truncate", "error", "split")

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Pieces:
    """Texts as they are encoded: whole, or as the sentences of a long text.

    Attributes:
        texts: The distinct pieces.
        index: Shape ``(n_pieces,)``, index in `texts` of each piece, text by text.
        owner: Shape ``(n_pieces,)``, index of the text of each piece, ascending.
        n_owners: Number of texts.
        is_long: Shape ``(n_owners,)``, whether the text as a whole is too long.
    """

    texts: list[str]
    index: Positions
    owner: Positions
    n_owners: int
    is_long: npt.NDArray[np.bool_]


def sentences(text: str) -> list[str]:
    """Split a text after each . ! or ? before whitespace. Return the text itself if it has no sentences."""
    return [part for part in _SENTENCE_END.split(text) if part.strip()] or [text]


def pieces_of(
    texts: Sequence[str], place: Callable[[int], str], tokens: Tokens, policy: str, prompt: str = ""
) -> Pieces:
    """Split texts into pieces according to a policy.

    Args:
        texts: Captions or references.
        place: Function from the index of a text to its position in the input, such as ``"references[3][0]"``, for error
            messages.
        tokens: Tokenizer of the encoder.
        policy: ``"truncate"`` and ``"error"`` keep every text whole, ``"split"`` splits long ones into sentences.
        prompt: Text before every text.

    Raises:
        ValueError: If the policy is ``"error"`` and a text is too long.
    """
    distinct = {text: position for position, text in enumerate(dict.fromkeys(texts))}
    index = np.fromiter((distinct[text] for text in texts), np.intp, len(texts))
    too_long = tokens.too_long([prompt + text for text in distinct])
    long = too_long[index]
    if policy == "error" and long.any():
        raise UsageError.about(
            place(int(np.argmax(long))),
            f"must have at most {tokens.context} tokens, including prompt, start and end token, got more",
            "shorten it, or choose another `long_text`",
        )
    if policy != "split" or not long.any():
        return Pieces(list(distinct), index, np.arange(len(texts)), len(texts), long)
    cut = [sentences(text) if flag else [text] for text, flag in zip(distinct, too_long, strict=True)]
    pieces: dict[str, int] = {}
    numbers = [np.array([pieces.setdefault(part, len(pieces)) for part in parts], dtype=np.intp) for parts in cut]
    sizes = np.array([len(parts) for parts in cut], dtype=np.intp)[index]
    joined = np.concatenate([numbers[position] for position in index])
    return Pieces(list(pieces), joined, np.repeat(np.arange(len(texts)), sizes), len(texts), long)
