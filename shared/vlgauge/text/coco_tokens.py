"""Tokens of captions in the metrics of the COCO caption evaluation, and the setting that puts others in their place."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from vlgauge.errors import UsageError
from vlgauge.settings import shown, warn
from vlgauge.text.ptb.tokens import ptb_words

Tokenizer: TypeAlias = Callable[[str], Sequence[str]]

PTB = "ptb-3.4.1"
"""What signatures call the tokens of the COCO caption evaluation."""

# Letters of Thai, Lao, Burmese, Khmer, of Japanese and of Chinese.
_OF_UNPARTED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
_LONG_WORD = 6  # of such letters; few words have so many, few captions fewer


def coco_tokens(text: str) -> list[str]:
    """Split a caption as BLEU, CIDEr and METEOR of the COCO caption evaluation do.

    They read PTB tokens (`vlgauge.text.ptb.tokens`) joined by spaces, and split at any white space. ROUGE-L splits at
    spaces only and so sees the PTB tokens.

    Returns:
        The tokens, none empty and none with white space; [] for a caption of white space and dropped marks.
    """
    return ptb_words(text)


def warn_of_unparted(captions: Iterable[str]) -> None:
    """Warn where captions of a script without spaces between words would each be one token."""
    n_captions, unparted = 0, []
    for caption in captions:
        n_captions += 1
        if not caption.isascii() and len(caption.split()) == 1 and len(_OF_UNPARTED.findall(caption)) >= _LONG_WORD:
            unparted.append(caption)
    if 10 * len(unparted) > n_captions:
        warn(
            f"{len(unparted)} of {n_captions} captions have no spaces between their words, such as "
            f"{shown(unparted[0])}, and count as one word each; put spaces there, pass `tokenizer`, a function that "
            "splits them, or choose chrf"
        )


def tokenizer_setting(tokenizer: Any) -> Tokenizer | str | None:
    """Check the setting ``tokenizer`` of a metric: None, "ptb" or a function."""
    if not (tokenizer is None or callable(tokenizer) or (isinstance(tokenizer, str) and tokenizer == "ptb")):
        raise UsageError(f"`tokenizer` must be 'ptb' or a function from str to list of str, got {shown(tokenizer)}")
    return tokenizer


def checked_tokenizer(tokenizer: Tokenizer) -> Callable[[str], tuple[str, ...]]:
    """The tokenizer of the user, whose results are checked."""

    def tokens(caption: str) -> tuple[str, ...]:
        found = tokenizer(caption)
        try:
            # A generator would be empty after the look at what it gives; joining is the fastest look.
            right = isinstance(found, (list, tuple)) and "".join(found) is not None
        except TypeError:
            right = False
        if not right:
            raise UsageError.about("tokenizer", f"must return a list of str, got {shown(found)} for {shown(caption)}")
        return tuple(found)

    return tokens
