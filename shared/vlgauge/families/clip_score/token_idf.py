"""Inverse document frequency weights of words, indexed by the token ids of CLIP's tokenizer."""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.files import read_json, read_text
from vlgauge.core.validation import short_repr
from vlgauge.core.writing import write
from vlgauge.families.clip_score.formula import Floats
from vlgauge.models.clip.tokens import END, Ids, Tokens

FORMAT = "vlgauge-idf-1"
N_TOKENS = 49408
PADDING = 0
OWN_ROWS = ("references", "candidates", "auto")


@dataclass(frozen=True)
class Idf:
    """Fitted table of word weights.

    Attributes:
        weights: ln((N+1) / (df+1)) of each token id that occurs in a sentence, with df the number of sentences that
            contain it and N the number of all sentences. As in the authors' code, sentences shorter than the context
            also contain the padding id, which is the id of "!" at the start of a word of punctuation marks.
        n: N.
        name: Name of the sentences, for signatures.
    """

    weights: Mapping[int, float]
    n: int
    name: str
    _table: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = np.full(N_TOKENS, self.unseen)
        table[list(self.weights)] = list(self.weights.values())
        table[END] = self.end
        object.__setattr__(self, "_table", table)

    @property
    def unseen(self) -> float:
        """Weight of a token that occurs in no sentence: ln(N+1)."""
        return math.log(self.n + 1)

    @property
    def end(self) -> float:
        """Weight of the end token: the mean of the table, including the end token (0) and the padding."""
        return math.fsum(self.weights.values()) / len(self.weights) if self.weights else 0.0

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of the weights."""
        text = json.dumps([self.n, sorted(self.weights.items())])
        return hashlib.sha256(text.encode()).hexdigest()

    def of(self, ids: Ids) -> Floats:
        """Return the weights of token ids, same shape, float64."""
        return self._table[ids]

    def save(self, path: str | Path) -> None:
        """Write the table as JSON, for the setting ``idf=PATH``.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        weights = {str(token): self.weights[token] for token in sorted(self.weights)}
        record = {"format": FORMAT, "name": self.name, "n": self.n, "sha256": self.digest, "weights": weights}
        write(path, json.dumps(record, indent=1) + "\n")


def corpus_idf(sentences: Sequence[str], name: str, tokens: Tokens) -> Idf:
    """Compute weights from the sentences of a corpus. Sentences that are too long for the backbone are truncated.

    See `count_idf` for the formula.

    Args:
        sentences: Any texts.
        name: Name of the sentences, for signatures.
        tokens: Tokenizer of the encoder.

    Raises:
        ValueError: If there are no sentences.
    """
    return fit_idf(tokens(sentences)[0], name, tokens.context)


def fit_idf(ids: Sequence[Ids], name: str, context: int) -> Idf:
    """Compute weights from the token ids of a corpus.

    Args:
        ids: Token ids of each sentence, including start and end token, at most `context` each.
        name: Name of the sentences, for signatures.
        context: Maximum number of tokens of a sentence.

    Raises:
        ValueError: If there are no sentences.
    """
    if not len(ids):
        raise UsageError.about("idf", f"must have at least one sentence to count words in, got none in {name!r}")
    return count_idf(sentence_counts(ids, context), len(ids), name)


def sentence_counts(ids: Sequence[Ids], context: int) -> dict[int, int]:
    """Count the sentences that contain each token, in ascending order of token ids.

    Args:
        ids: Token ids of each sentence, including start and end token, at most `context` each.
        context: Maximum number of tokens of a sentence.
    """
    if not len(ids):
        return {}
    padded = [row if len(row) >= context else np.append(row, PADDING) for row in ids]
    sentence = np.repeat(np.arange(len(padded)), [len(row) for row in padded])
    pairs = np.unique(sentence * N_TOKENS + np.concatenate(padded).astype(np.int64))
    tokens, counts = np.unique(pairs % N_TOKENS, return_counts=True)
    return dict(zip(tokens.tolist(), counts.tolist(), strict=True))


def count_idf(counts: Mapping[int, int], n: int, name: str) -> Idf:
    """Compute weights from the number of sentences that contain each token.

    The weight of a token is ln((N + 1) / (df + 1)).

    Args:
        counts: df by token id.
        n: N, the number of sentences.
        name: Name of the sentences, for signatures.
    """
    return Idf({token: math.log((n + 1) / (counts[token] + 1)) for token in sorted(counts)}, n, name)


def check_idf(value: Any) -> Any:
    """Check the setting ``idf`` and convert it to a form that `resolve_idf` accepts. A file must exist.

    Returns:
        None, False, an `Idf`, a string (a word such as "references", or a path), or a tuple of sentences.

    Raises:
        ValueError: If it has none of the supported forms.
    """
    if value is None or value is False or isinstance(value, Idf):
        return value
    if isinstance(value, (str, Path)):
        if str(value) in OWN_ROWS or os.path.isfile(value):
            return str(value)
        raise UsageError.about(
            "idf", f"must be one of {', '.join(map(repr, OWN_ROWS))} or an existing file, got {short_repr(str(value))}"
        )
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
        sentences = tuple(value)
        if sentences and all(isinstance(sentence, str) for sentence in sentences):
            return sentences
    raise UsageError.about(
        "idf",
        f"must be {', '.join(map(repr, OWN_ROWS))}, a list of sentences, a file of sentences, or a fitted Idf, got "
        f"{type(value).__name__}",
    )


def resolve_idf(
    value: Any, *, candidates: Sequence[str], references: Sequence[str] | None, tokens: Tokens
) -> Idf | None:
    """Resolve the checked setting ``idf`` to a table. None means no weights.

    Args:
        value: Return value of `check_idf`.
        candidates: All candidates of the call.
        references: All references of the call. None if the call has none.
        tokens: Tokenizer of the encoder.

    Raises:
        ValueError: If the setting requires references and there are none, or a file has no sentences.
    """
    if value is None or value is False or isinstance(value, Idf):
        return value or None
    if value in OWN_ROWS:
        name = choose_rows(value, has_references=bool(references))
        return corpus_idf(candidates if name == "candidates" else references or (), name, tokens)
    if isinstance(value, str):
        return _read_corpus(Path(value), tokens)
    return corpus_idf(value, "list", tokens)


def choose_rows(value: str, *, has_references: bool) -> str:
    """Return which texts of a call a setting in `OWN_ROWS` selects: "references" or "candidates".

    Raises:
        ValueError: If references are required and there are none.
    """
    if value == "references" and not has_references:
        raise UsageError("`idf='references'` requires references, got none; pass some, or choose 'candidates'")
    return ("references" if has_references else "candidates") if value == "auto" else value


def _read_corpus(path: Path, tokens: Tokens) -> Idf:
    """Read a table from a file: a saved table, sentences one per line, a JSON list, or JSON lists by key."""
    if path.suffix.lower() != ".json":
        return corpus_idf([line for line in read_text(path, "`idf`").splitlines() if line.strip()], path.stem, tokens)
    content = read_json(path, "`idf`")
    if isinstance(content, dict) and content.get("format") == FORMAT:
        return _load_saved(content, path)
    lists = list(content.values()) if isinstance(content, dict) else [content]
    if not all(isinstance(part, list) and all(isinstance(item, str) for item in part) for part in lists):
        raise UsageError.about(
            "idf", f"must be a JSON list of sentences, or lists of sentences by key, got other content in {str(path)!r}"
        )
    return corpus_idf([sentence for part in lists for sentence in part], path.stem, tokens)


def _load_saved(record: Any, path: Path) -> Idf:
    try:
        idf = Idf(
            {int(token): float(weight) for token, weight in record["weights"].items()}, record["n"], record["name"]
        )
        same = idf.digest == record["sha256"]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        same = False
    if not same:
        raise UsageError.about("idf", f"must be an unmodified table written by Idf.save, got {str(path)!r}")
    return idf
