"""Tensors that a file of weights may have too many of, or lack, because no number depends on them.

Everything else that is missing or surplus is refused by name, by the loader of every model: what a file lacks would be
random, and what is too much belongs to another model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Known(NamedTuple):
    """Names of some tensors in the files of some models, and why they do not matter there."""

    models: tuple[str, ...]
    names: str
    reason: str


ANY, CLIP, DETECTOR, PAIR = "any", "clip", "detector", "pair"
SENTENCE, SENTENCE_OF_TOKENS = "sentence", "sentence of tokens"

SURPLUS = (
    Known((ANY, CLIP), r"(.*\.)?(input_resolution|context_length|vocab_size)", "numbers in OpenAI's archives"),
    Known(
        (CLIP, PAIR, SENTENCE, SENTENCE_OF_TOKENS),
        r"(.*\.)?embeddings\.position_ids",
        "the numbers 0, 1, 2, ..., which earlier versions of transformers saved",
    ),
    Known((SENTENCE, SENTENCE_OF_TOKENS), r"decoder\..*", "of T5, a sentence encoder is the first half"),
    Known((SENTENCE_OF_TOKENS,), r"(.*\.)?pooler\..*", "vectors of tokens are taken before the pooling layer"),
)
MISSING = (
    Known((SENTENCE_OF_TOKENS,), r"(.*\.)?pooler\..*", "vectors of tokens are taken before the pooling layer"),
    Known((DETECTOR,), r".*\.num_batches_tracked", "counts of the training; norms that were frozen have none"),
)


def surplus(names: Iterable[str], model: str) -> list[str]:
    """Those names that a file of such a model must not have beside its own, sorted."""
    return _but_for(SURPLUS, names, model)


def missing(names: Iterable[str], model: str) -> list[str]:
    """Those names that a file of such a model must not lack, sorted."""
    return _but_for(MISSING, names, model)


def _but_for(known: Iterable[Known], names: Iterable[str], model: str) -> list[str]:
    patterns = [re.compile(entry.names) for entry in known if model in entry.models]
    return sorted(name for name in names if not any(pattern.fullmatch(name) for pattern in patterns))
