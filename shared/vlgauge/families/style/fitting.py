"""Fitting of style tables on captions with style labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.progress import Progress, report_progress
from vlgauge.core.validation import check_choice, plain_text, rows_of, warn
from vlgauge.families.style.counts import KnownCaptions, Table
from vlgauge.families.style.tokenizers import TOKENIZERS, Tokens, check_text, tokenize_texts
from vlgauge.families.style.weights import OrderCounts
from vlgauge.inputs.text.ngrams import MAX_ORDER, ngram_sets, token_ids

MAX_STYLES = 2**16 - 1


def fit_table(
    cls: type[Table],
    captions: Any,
    styles: Any,
    *,
    tokenizer: str | None,
    held_out: Any,
    progress: Progress,
    **about: str | None,
) -> Table:
    """Fit a table on captions.

    See `StyleTable.fit` for arguments and errors.
    """
    for key, value in about.items():
        if value is not None:
            plain_text(value, key, "a string")
    rows, labels = _pair_styles(captions, styles, held_out)
    names = _sort_styles(labels)
    chosen = _choose_tokenizer(rows, tokenizer)
    split = tokenize_texts(rows, chosen, progress=progress) if isinstance(rows[0], str) else _check_tokens(rows)
    empty = sum(not tokens for tokens in split)
    if empty:
        # The warning is issued at the line that called StyleTable.fit.
        warn(f"{empty} of {len(split)} captions have no tokens and do not change the table")
    id_of = {style: i for i, style in enumerate(names)}
    ids = np.fromiter((id_of[label] for label in labels), np.int64, len(labels))
    texts = token_ids(split)
    counted = report_progress(ngram_sets(texts), MAX_ORDER, "Counting n-grams", progress, block=1)
    orders = [OrderCounts.count(sets.keys, sets.ngrams, ids[sets.captions], len(names)) for sets in counted]
    return cls(
        tokenizer=chosen,
        styles=names,
        captions=tuple(np.bincount(ids, minlength=len(names)).tolist()),
        tokens=texts.tokens,
        orders=tuple(orders),
        known=KnownCaptions.count(split, ids, len(names)),
        **about,
    )


def _pair_styles(captions: Any, styles: Any, held_out: Any) -> tuple[list[Any], list[Any]]:
    """Return captions and styles as lists of equal length, without captions that are held out."""
    columns = {"captions": captions, "styles": styles} | ({} if held_out is None else {"held_out": held_out})
    lists = {name: rows_of(name, column) for name, column in columns.items()}
    count = len(lists["captions"])
    for name, column in lists.items():
        if len(column) != count:
            raise UsageError.about(name, f"must have one entry per caption, got {len(column)} for {count} captions")
    left_out = check_mask(lists.get("held_out", [False] * count))
    kept = [i for i in range(count) if not left_out[i]]
    if not kept:
        raise UsageError.about("captions", "must have at least one caption that is not held out, got none")
    return [lists["captions"][i] for i in kept], [lists["styles"][i] for i in kept]


def check_mask(held_out: Sequence[Any]) -> list[bool]:
    """Convert a mask of held-out captions to a list of bools.

    Raises:
        ValueError: If an entry is neither a bool nor 0 or 1. The text "False" would otherwise count as true.
    """
    for i, entry in enumerate(held_out):
        if not isinstance(entry, (bool, int, np.bool_, np.integer)) or entry not in (0, 1):
            raise UsageError.about(f"held_out[{i}]", f"must be True or False, got {entry!r}")
    return [bool(entry) for entry in held_out]


def _sort_styles(labels: Sequence[Any]) -> tuple[str, ...]:
    """Return the sorted distinct styles after a check of their names."""
    for i, style in enumerate(labels):
        if not isinstance(style, str) or not style.strip():
            raise UsageError.about(f"styles[{i}]", f"must be the name of a style, got {style!r}")
        check_text(style, f"styles[{i}]")
    names = tuple(sorted(set(map(str, labels))))  # NumPy arrays contain NumPy's string type
    if not 2 <= len(names) <= MAX_STYLES:
        got = f"{len(names)}" if len(names) > 1 else f"only {names[0]!r}"
        raise UsageError.about("styles", f"must have 2 to {MAX_STYLES} different names, got {got}")
    return names


def _choose_tokenizer(rows: Sequence[Any], tokenizer: str | None) -> str:
    """Return the requested tokenizer, or the default for strings or lists of tokens."""
    split = not isinstance(rows[0], str)
    chosen = check_choice("tokenizer", tokenizer or ("whitespace" if split else "words-1"), tuple(TOKENIZERS))
    if split and chosen != "whitespace":
        raise UsageError.about(
            "tokenizer", f"must be 'whitespace' for captions given as lists of tokens, got {chosen!r}"
        )
    return chosen


def _check_tokens(rows: Sequence[Any]) -> list[Tokens]:
    """Check that captions are lists of tokens, each of which is a string without whitespace."""
    known: set[Any] = set()
    for i, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence):
            raise UsageError.about(
                f"captions[{i}]",
                f"must be a string or a list of tokens like the first caption, got {type(row).__name__}",
            )
        for token in set(row) - known:
            if not isinstance(token, str) or token.split() != [token]:
                raise UsageError.about(f"captions[{i}]", f"must have tokens without whitespace, got {token!r}")
            known.add(check_text(token, f"captions[{i}]"))
    return [list(row) for row in rows]
