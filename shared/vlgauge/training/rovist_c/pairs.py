"""From stories to the samples of the paper: two neighbouring sentences, in order or swapped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.errors import UsageError

IN_ORDER, SWAPPED = 1, 0
LABELS = {SWAPPED: "swapped", IN_ORDER: "in order"}
TRAINING_SHARE = 0.85

Ints = npt.NDArray[np.int64]
Stories = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Sample:
    """Two texts and whether they are `IN_ORDER` or `SWAPPED`."""

    first: str
    second: str
    label: int


def samples(stories: Stories) -> list[Sample]:
    """Each pair of neighbours in order and swapped, so that the classes are balanced; identical ones are left out."""
    pairs = [(a, b) for story in stories for a, b in pairwise(story) if a.strip() != b.strip()]
    return [sample for a, b in pairs for sample in (Sample(a, b, IN_ORDER), Sample(b, a, SWAPPED))]


def split_stories(stories: Stories, seed: int) -> tuple[list[Any], list[Any]]:
    """Stories to train on and stories to validate with, by story, so that no sentence is in both by its neighbour.

    Equal stories fall on one side, or validation would know what was trained on.
    """
    distinct = list({tuple(story): list(story) for story in stories}.values())
    order = np.random.default_rng(seed).permutation(len(distinct))
    count = round(TRAINING_SHARE * len(distinct))
    if not 0 < count < len(distinct):
        raise UsageError(
            f"`stories` must be enough for two sides of {TRAINING_SHARE:.0%} and the rest, got {len(distinct)}"
        )
    training, validation = ([distinct[i] for i in sorted(part.tolist())] for part in (order[:count], order[count:]))
    return training, validation


@dataclass(frozen=True)
class Encoded:
    """Samples as the model takes them.

    Attributes:
        ids: Token ids of each sample.
        segments: Segment ids of each sample; None for a model that takes none.
        labels: shape ``(n,)``.
    """

    ids: list[list[int]]
    segments: list[list[int]] | None
    labels: Ints

    def __len__(self) -> int:
        return len(self.ids)


def encoded(tokenizer: Any, kept: Sequence[Sample], maximum: int, *, segments: bool = True) -> Encoded:
    """Token and segment ids of the samples, the longer text cut first where a pair exceeds ``maximum`` tokens."""
    if not kept:
        raise UsageError("`stories` must have a pair of different neighbouring sentences, got none")
    found = tokenizer(
        [sample.first for sample in kept],
        [sample.second for sample in kept],
        truncation="longest_first",
        max_length=maximum,
        return_token_type_ids=True,
        verbose=False,
    )
    labels = np.array([sample.label for sample in kept])
    return Encoded(found["input_ids"], found["token_type_ids"] if segments else None, labels)


def batches(data: Encoded, size: int, order: Ints, pad: int) -> Iterator[dict[str, Ints]]:
    """Batches in the order given, each padded to its longest sample; keys as the model names its arguments."""
    for start in range(0, len(order), size):
        rows = order[start : start + size].tolist()
        longest = max(len(data.ids[row]) for row in rows)
        batch = {
            "input_ids": np.full((len(rows), longest), pad, dtype=np.int64),
            "attention_mask": np.zeros((len(rows), longest), dtype=np.int64),
            "labels": data.labels[rows],
        }
        if data.segments is not None:
            batch["token_type_ids"] = np.zeros((len(rows), longest), dtype=np.int64)
        for i, row in enumerate(rows):
            length = len(data.ids[row])
            batch["input_ids"][i, :length] = data.ids[row]
            if data.segments is not None:
                batch["token_type_ids"][i, :length] = data.segments[row]
            batch["attention_mask"][i, :length] = 1
        yield batch


def by_length(data: Encoded) -> Ints:
    """Order in which batches have the least padding; for scoring, where the order makes no difference."""
    return np.argsort([len(ids) for ids in data.ids], kind="stable")
