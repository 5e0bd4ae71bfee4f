"""Texts as CLIP takes them: token ids, cut to the context of the backbone, in batches of similar length."""

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vlgauge.lean_imports import lean_import

Ids = npt.NDArray[np.integer]

START, END = 49406, 49407

# What CLIP's own code reads as these two wherever it stands by itself in a text; open_clip has other spellings.
SPELLINGS = {"<|startoftext|>": START, "<|endoftext|>": END}

# Of texts with one, in warnings. A sign before it keeps it from standing by itself.
SPELLED = (
    "have <|startoftext|> or <|endoftext|> in them, which CLIP reads as tokens of its own, and no text behind the "
    "second, or as odd words; strip them"
)

# Ids beside which a row may stand in a batch: at most a quarter more, and never fewer than two more.
_SLACK = 4


class Tokens(Protocol):
    """What turns texts into the ids that a backbone takes.

    Attributes:
        context: The most tokens that it reads of a text, start and end token included.
    """

    context: int

    def __call__(self, texts: Sequence[str]) -> tuple[list[np.ndarray], np.ndarray]:
        """Ids of each text, shapes ``(n_tokens,)``, int32, and which texts were cut, shape ``(n_texts,)``."""
        ...

    def too_long(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts have more than `context` tokens, shape ``(n_texts,)``."""
        ...

    def spells_special(self, text: str) -> bool:
        """Whether a text spells a token that users do not mean, of which a warning is due."""
        ...


class ClipTokens:
    """Token ids of texts: 49406, byte pairs of the cleaned text in lower case, 49407.

    Cleaning is ftfy, HTML entities twice, white space; the ids are those of the authors' code.

    Args:
        context: The most tokens of a text, start and end token included.
    """

    def __init__(self, context: int) -> None:
        self.context = context

    def __call__(self, texts: Sequence[str]) -> tuple[list[np.ndarray], np.ndarray]:
        """Ids of each text, shapes ``(n_tokens,)``, int32, and which texts were cut, shape ``(n_texts,)``.

        A text over the context keeps its first tokens and the end token.
        """
        known = {text: self._ids(text) for text in dict.fromkeys(texts)}
        truncated = np.array([len(known[text]) > self.context for text in texts], dtype=bool)
        cut = {text: self._cut(ids) for text, ids in known.items()}
        return [cut[text] for text in texts], truncated

    def _ids(self, text: str) -> list[int]:
        return [START, *byte_pairs().encode(text), END]

    def _cut(self, ids: list[int]) -> np.ndarray:
        if len(ids) > self.context:
            ids = [*ids[: self.context - 1], END]
        return np.array(ids, dtype=np.int32)

    def too_long(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts have more tokens than the context, start and end token included, shape ``(n_texts,)``."""
        long = np.array([not self._surely_fits(text) for text in texts], dtype=bool)
        if long.any():
            long[long] = self([text for text, doubtful in zip(texts, long, strict=True) if doubtful])[1]
        return long

    def spells_special(self, text: str) -> bool:
        """See the function of the module."""
        return spells_special(text)

    def _surely_fits(self, text: str) -> bool:
        """Whether a look is enough: ASCII without entities is not longer when cleaned, and no token is a space."""
        return text.isascii() and "&" not in text and len("".join(text.split())) <= self.context - 2


@cache
def byte_pairs() -> Any:
    """One tokenizer for the process, with the released `SPELLINGS`; it remembers the words that it has split."""
    lean_import("open_clip")
    import regex
    from open_clip import tokenizer as module

    # A copy of their own, which its import has made: to make another one takes half a second.
    tokenizer: Any = copy(module._tokenizer)
    tokenizer.encoder, tokenizer.decoder = dict(tokenizer.encoder), dict(tokenizer.decoder)
    theirs = list(tokenizer.cache)[: len(SPELLINGS)]  # words that somebody split may stand behind
    for name, (spelling, number) in zip(theirs, SPELLINGS.items(), strict=True):
        del tokenizer.encoder[name]
        tokenizer.encoder[spelling], tokenizer.decoder[number] = number, spelling
    words = tokenizer.pat.pattern.removeprefix("|".join(theirs))
    tokenizer.pat = regex.compile("|".join(map(regex.escape, SPELLINGS)) + words, regex.IGNORECASE)
    tokenizer.cache = {spelling: spelling for spelling in SPELLINGS}
    return tokenizer


def token_texts(ids: Ids) -> list[str]:
    """Each token as text, such as ``["<|startoftext|>", "a", "dog", "<|endoftext|>"]``."""
    return [byte_pairs().decode([token]).strip() for token in ids.tolist()]


def n_seen(ids: np.ndarray) -> int:
    """Number of tokens up to the first end token; those behind it are not seen by it."""
    return int(np.argmax(ids == END)) + 1


def spells_special(text: str) -> bool:
    """Whether one of `SPELLINGS` stands in a text as CLIP reads it, be it glued to a sign and so read as words."""
    # Only the cleaning of other texts can make or break a spelling.
    plain = text.isascii() and text.isprintable() and "&" not in text
    read = text.lower() if plain else byte_pairs().clean_fn(text)
    return any(spelling in read for spelling in SPELLINGS)


class ForeignTokens:
    """Token ids of texts for a text tower that is not CLIP's, padded to its context by its own tokenizer."""

    def __init__(self, tokenizer: Any, context: int) -> None:
        self._tokenizer = tokenizer
        self.context = context
        self._pad = int(self._long([""])[0, -1])

    def __call__(self, texts: Sequence[str]) -> tuple[list[np.ndarray], np.ndarray]:
        """Ids of each text, all of the length of the context, and which texts were cut."""
        if not texts:
            return [], np.zeros(0, dtype=bool)
        ids = self._tokenizer(list(texts), context_length=self.context).numpy().astype(np.int32)
        return list(ids), self.too_long(texts)

    def too_long(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts were cut, shape ``(n_texts,)``."""
        return np.asarray(self._long(texts)[:, -1] != self._pad) if len(texts) else np.zeros(0, dtype=bool)

    def spells_special(self, text: str) -> bool:
        """Of other tokenizers nothing is known."""
        return False

    def _long(self, texts: Sequence[str]) -> np.ndarray:
        """Ids in a context that is one token longer: its last column tells whether a text was cut."""
        return self._tokenizer(list(texts), context_length=self.context + 1).numpy()


def in_order(ids: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The distinct rows of ids by length, then by ids, whatever their order was."""
    distinct = {row.tobytes(): row for row in ids}
    return sorted(distinct.values(), key=lambda row: (len(row), row.tolist()))


def buckets(ids: Sequence[np.ndarray], batch_size: int, context: int) -> Iterator[list[np.ndarray]]:
    """Batches of rows that stand in order; with padding, at most ``batch_size * context`` tokens each, of 1 one row.

    Rows of one batch have similar lengths, because every row is padded to the longest.
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


def padded(batch: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of ids, filled up with zeros, shape ``(n, longest)``, int64."""
    table = np.zeros((len(batch), max(len(row) for row in batch)), dtype=np.int64)
    for line, row in zip(table, batch, strict=True):
        line[: len(row)] = row
    return table
