"""CLIP tokenization, with texts truncated to the context of the backbone, and batches of texts of similar length."""

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.lean_imports import lean_import

Ids = npt.NDArray[np.integer]

START, END = 49406, 49407

# Spellings of the special tokens in OpenAI's code, which are recognized as separate words in a text. open_clip uses
# other spellings.
SPELLINGS = {"<|startoftext|>": START, "<|endoftext|>": END}

# Warning about texts with such a token. A symbol directly before it prevents its recognition.
SPELLED = (
    "contain <|startoftext|> or <|endoftext|>, which CLIP treats as special tokens, ignoring text after the "
    "second, or splits into words; remove them"
)

# Rows of a batch are at most 1 / _SLACK longer than the shortest one, or two tokens.
_SLACK = 4


class Tokens:
    """Base class of tokenizers.

    Args:
        context: Maximum number of tokens of a text, including start and end token.
    """

    def __init__(self, context: int) -> None:
        self.context = context

    def __call__(self, texts: Sequence[str]) -> tuple[list[np.ndarray], np.ndarray]:
        """Tokenize texts. A truncated text keeps its first tokens and the end token.

        Returns:
            Ids of each text, shapes ``(n_tokens,)``, int32, and whether it was truncated, shape ``(n_texts,)``.
        """
        known = {text: self._ids(text) for text in dict.fromkeys(texts)}
        truncated = np.array([len(known[text]) > self.context for text in texts], dtype=bool)
        rows = {text: self._row(ids) for text, ids in known.items()}
        return [rows[text] for text in texts], truncated

    def too_long(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which texts have more than `context` tokens, shape ``(n_texts,)``, bool."""
        return self(texts)[1]

    def contains_special_token(self, text: str) -> bool:
        """Return whether a text spells a special token, which is probably unintended and should cause a warning.

        False for tokenizers whose special tokens are unknown.
        """
        return False

    def _ids(self, text: str) -> list[int]:
        """Return all ids of a text, with the end token as the last one."""
        raise NotImplementedError

    def _row(self, ids: list[int]) -> np.ndarray:
        """Return the ids within the context."""
        kept = ids if len(ids) <= self.context else [*ids[: self.context - 1], ids[-1]]
        return np.array(kept, dtype=np.int32)


class ClipTokens(Tokens):
    """Tokenizer of CLIP: 49406, byte pairs of the cleaned and lowercased text, 49407.

    Cleaning consists of ftfy, unescaping HTML entities twice, and whitespace normalization. The ids are equal to the
    ids of the authors' code.
    """

    def _ids(self, text: str) -> list[int]:
        return [START, *byte_pairs().encode(text), END]

    def too_long(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which texts have more than `context` tokens, shape ``(n_texts,)``, bool."""
        long = np.array([not self._surely_fits(text) for text in texts], dtype=bool)
        if long.any():
            long[long] = self([text for text, doubtful in zip(texts, long, strict=True) if doubtful])[1]
        return long

    def contains_special_token(self, text: str) -> bool:
        """Return whether a text spells a special token. See the function of the same name."""
        return contains_special_token(text)

    def _surely_fits(self, text: str) -> bool:
        """Return whether a text fits without tokenizing it.

        Cleaning does not lengthen ASCII without entities, and no token consists of whitespace only.
        """
        return text.isascii() and "&" not in text and len("".join(text.split())) <= self.context - 2


@cache
def byte_pairs() -> Any:
    """Return the tokenizer of the process, a copy of open_clip's `SimpleTokenizer` with the released `SPELLINGS`.

    It caches the words that it has split.
    """
    lean_import("open_clip")
    import regex
    from open_clip import tokenizer as module

    # Copy the tokenizer that the import has created, because creating another one takes half a second.
    tokenizer: Any = copy(module._tokenizer)
    tokenizer.encoder, tokenizer.decoder = dict(tokenizer.encoder), dict(tokenizer.decoder)
    theirs = list(tokenizer.cache)[: len(SPELLINGS)]  # followed by words that were split before
    for name, (spelling, number) in zip(theirs, SPELLINGS.items(), strict=True):
        del tokenizer.encoder[name]
        tokenizer.encoder[spelling], tokenizer.decoder[number] = number, spelling
    words = tokenizer.pat.pattern.removeprefix("|".join(theirs))
    tokenizer.pat = regex.compile("|".join(map(regex.escape, SPELLINGS)) + words, regex.IGNORECASE)
    tokenizer.cache = {spelling: spelling for spelling in SPELLINGS}
    return tokenizer


def token_texts(ids: Ids) -> list[str]:
    """Return each token as a string, such as ``["<|startoftext|>", "a", "dog", "<|endoftext|>"]``."""
    return [byte_pairs().decode([token]).strip() for token in ids.tolist()]


def n_seen(ids: np.ndarray) -> int:
    """Return the number of tokens up to the first end token, which does not attend to the tokens after it.

    Args:
        ids: Token ids of a text, shape ``(n_tokens,)``, with an end token.
    """
    return int(np.argmax(ids == END)) + 1


def contains_special_token(text: str) -> bool:
    """Return whether a cleaned text contains one of `SPELLINGS`, even if it is joined to other symbols."""
    # Cleaning can add or remove a spelling only in other texts.
    plain = text.isascii() and text.isprintable() and "&" not in text
    read = text.lower() if plain else byte_pairs().clean_fn(text)
    return any(spelling in read for spelling in SPELLINGS)


class OpenClipTokenizer(Tokens):
    """Tokenizer of a text tower that is not CLIP's. Texts are padded to the context."""

    def __init__(self, tokenizer: Any, context: int) -> None:
        super().__init__(context)
        self._tokenizer = tokenizer
        self._pad = int(self._long([""])[0, -1])

    def __call__(self, texts: Sequence[str]) -> tuple[list[np.ndarray], np.ndarray]:
        """Tokenize texts.

        Returns:
            Ids of each text, shape ``(context,)``, int32, and whether it was truncated, shape ``(n_texts,)``.
        """
        if not texts:
            return [], np.zeros(0, dtype=bool)
        ids = self._tokenizer(list(texts), context_length=self.context).numpy().astype(np.int32)
        return list(ids), self.too_long(texts)

    def too_long(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which texts were truncated, shape ``(n_texts,)``."""
        return np.asarray(self._long(texts)[:, -1] != self._pad) if len(texts) else np.zeros(0, dtype=bool)

    def _long(self, texts: Sequence[str]) -> np.ndarray:
        """Return the ids in a longer context, whose additional last column shows whether a text was truncated."""
        return self._tokenizer(list(texts), context_length=self.context + 1).numpy()


def in_order(ids: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the distinct rows of ids, sorted by length and then by ids.

    Args:
        ids: Token ids of each text, shape ``(n_tokens,)`` each.
    """
    distinct = {row.tobytes(): row for row in ids}
    return sorted(distinct.values(), key=lambda row: (len(row), row.tolist()))


def buckets(ids: Sequence[np.ndarray], batch_size: int, context: int) -> Iterator[list[np.ndarray]]:
    """Yield batches of sorted rows with at most ``batch_size * context`` tokens each, including padding.

    Rows in a batch have similar lengths, because every row is padded to the longest one. With a `batch_size` of 1, each
    batch is one row.

    Args:
        ids: Token ids of each text, shape ``(n_tokens,)`` each, as sorted by `in_order`.
        batch_size: Number of texts of `context` tokens that fit into a batch.
        context: Maximum number of tokens of a text.
    """
    batch: list[np.ndarray] = []
    for row in ids:
        longest = len(batch[0]) + max(2, len(batch[0]) // _SLACK) if batch else len(row)
        if batch and (batch_size == 1 or len(row) > longest or (len(batch) + 1) * len(row) > batch_size * context):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
