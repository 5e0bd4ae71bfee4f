"""The setting that selects the tokenizer of captions."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import shown, warn

Tokenizer: TypeAlias = Callable[[str], Sequence[str]]

# Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese.
_OF_UNPARTED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
_LONG_WORD = 6  # letters; few words have that many such letters, and few captions have fewer


def warn_of_unparted(captions: Iterable[str]) -> None:
    """Warn if more than one in ten captions is a long single token in a script without spaces between words."""
    n_captions, unparted = 0, []
    for caption in captions:
        n_captions += 1
        if not caption.isascii() and len(caption.split()) == 1 and len(_OF_UNPARTED.findall(caption)) >= _LONG_WORD:
            unparted.append(caption)
    if 10 * len(unparted) > n_captions:
        warn(
            f"{len(unparted)} of {n_captions} captions have no spaces between their words, such as "
            f"{shown(unparted[0])}, and count as one word each; insert spaces, pass a function that splits them "
            "as `tokenizer`, or choose chrf"
        )


def tokenizer_setting(tokenizer: Any) -> Tokenizer | str | None:
    """Check the setting ``tokenizer`` of a metric.

    Args:
        tokenizer: None, "ptb", or a function from a string to a list or tuple of strings.

    Returns:
        The setting.

    Raises:
        UsageError: If it is none of these.
    """
    if not (tokenizer is None or callable(tokenizer) or (isinstance(tokenizer, str) and tokenizer == "ptb")):
        raise UsageError.about(
            "tokenizer", f"must be 'ptb' or a function from str to list of str, got {shown(tokenizer)}"
        )
    return tokenizer


def checked_tokenizer(tokenizer: Tokenizer) -> Callable[[str], tuple[str, ...]]:
    """Wrap the tokenizer of the user in a check of its results.

    Returns:
        Function from a caption to its tokens. It raises `UsageError` if the tokenizer does not return a list or tuple
        of strings.
    """

    def tokens(caption: str) -> tuple[str, ...]:
        found = tokenizer(caption)
        try:
            # A generator would be exhausted by the check. Joining is the fastest check of the types.
            right = isinstance(found, (list, tuple)) and "".join(found) is not None
        except TypeError:
            right = False
        if not right:
            raise UsageError.about("tokenizer", f"must return a list of str, got {shown(found)} for {shown(caption)}")
        return tuple(found)

    return tokens
