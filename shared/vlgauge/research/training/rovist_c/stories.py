"""Stories from published files, JSON lines or synthetic scenes, and sentence pairs for training."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge import scenes
from vlgauge.core.errors import UsageError
from vlgauge.core.files import read_text
from vlgauge.inputs.tables.files import read_rows, take_column
from vlgauge.models.padding import pad_rows

Stories = list[list[str]]

ROC_SENTENCES = tuple(f"sentence{number}" for number in range(1, 6))


def read_vist(path: str | Path) -> Stories:
    """Read stories from a VIST file of stories in sequence (``train.story-in-sequence.json``).

    Each annotation is a list of one record with `story_id`, `worker_arranged_photo_order` and `text`. The texts of a
    story are ordered by photo. `original_text` is preferred if a record has it, because it is not tokenized.

    Raises:
        ValueError: If the file has another layout.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        records = [record for records in content["annotations"] for record in records]
        parts = [
            (
                str(record["story_id"]),
                int(record["worker_arranged_photo_order"]),
                str(record.get("original_text") or record["text"]),
            )
            for record in records
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError.about(
            str(path),
            "must be the VIST stories in sequence, with story_id, worker_arranged_photo_order and text in every "
            f"annotation, got {type(error).__name__}: {error}",
        ) from error
    stories: dict[str, list[tuple[int, str]]] = {}
    for story, position, text in parts:
        stories.setdefault(story, []).append((position, text))
    return clean_stories([text for _, text in sorted(story, key=lambda part: part[0])] for story in stories.values())


def read_rocstories(path: str | Path) -> Stories:
    """Read stories from a ROCStories file, a CSV with the columns sentence1 to sentence5.

    Raises:
        ValueError: If a column is missing.
    """
    rows = read_rows(str(path), "csv")
    return clean_stories(zip(*(map(str, take_column(rows, title)) for title in ROC_SENTENCES), strict=True))


def read_jsonl(path: str | Path) -> Stories:
    """Read stories from JSON lines: lists of sentences, or objects with such a list under "story" or "sentences".

    Raises:
        ValueError: If a line has another layout.
    """
    stories = []
    for number, line in enumerate(read_text(path, f"`{path}`").split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise UsageError.about(str(path), f"must contain JSON, got {error} in line {number}") from None
        sentences = value.get("story", value.get("sentences")) if isinstance(value, dict) else value
        if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
            raise UsageError.about(str(path), f"must have a list of sentences in every line, got none in line {number}")
        stories.append(sentences)
    return clean_stories(stories)


def draw_stories(n: int, seed: int, split: str) -> Stories:
    """Generate the sentences of synthetic stories. See `vlgauge.scenes`."""
    return clean_stories(story.sentences for story in scenes.stories(n, seed=seed, split=split))


def clean_stories(stories: Any) -> Stories:
    """Strip the sentences, and remove empty sentences and stories of fewer than two."""
    kept = ([sentence.strip() for sentence in story if sentence.strip()] for story in stories)
    return [story for story in kept if len(story) > 1]


READERS: dict[str, Callable[[str | Path], Stories]] = {
    "vist": read_vist,
    "rocstories": read_rocstories,
    "jsonl": read_jsonl,
}


# -- Sentence pairs ---------------------------------------------------------------------------------------------------
IN_ORDER, SWAPPED = 1, 0
LABELS = {SWAPPED: "swapped", IN_ORDER: "in order"}
TRAINING_SHARE = 0.85

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """Two texts, and whether they are `IN_ORDER` or `SWAPPED`."""

    first: str
    second: str
    label: int


def samples(stories: Sequence[Sequence[str]]) -> list[Sample]:
    """Return each pair of neighbors in order and swapped, for balanced classes. Identical neighbors are left out."""
    pairs = [(a, b) for story in stories for a, b in pairwise(story) if a.strip() != b.strip()]
    return [sample for a, b in pairs for sample in (Sample(a, b, IN_ORDER), Sample(b, a, SWAPPED))]


def split_stories(stories: Sequence[Sequence[str]], seed: int) -> tuple[list[Any], list[Any]]:
    """Split stories into training and validation, after removing duplicates.

    All sentences of a story are on the same side. Duplicate stories on both sides would leak training data into
    validation.

    Returns:
        Stories for training and for validation, in order of first occurrence.

    Raises:
        ValueError: If there are too few distinct stories.
    """
    distinct = list({tuple(story): list(story) for story in stories}.values())
    order = np.random.default_rng(seed).permutation(len(distinct))
    count = round(TRAINING_SHARE * len(distinct))
    if not 0 < count < len(distinct):
        raise UsageError.about(
            "stories", f"must be enough for a split into {TRAINING_SHARE:.0%} and the rest, got {len(distinct)}"
        )
    training, validation = ([distinct[i] for i in sorted(part.tolist())] for part in (order[:count], order[count:]))
    return training, validation


@dataclass(frozen=True)
class Encoded:
    """Samples in the format of the model.

    Attributes:
        ids: Token ids of each sample.
        segments: Segment ids of each sample. None for a model without segments.
        labels: Labels, shape ``(n,)``.
        pad: Id of the padding token.
    """

    ids: list[list[int]]
    segments: list[list[int]] | None
    labels: Ints
    pad: int

    def __len__(self) -> int:
        return len(self.ids)


def encode_samples(tokenizer: Any, kept: Sequence[Sample], maximum: int, *, segments: bool = True) -> Encoded:
    """Encode the samples as token and segment ids.

    If a pair exceeds `maximum` tokens, the longer text is truncated first.

    Returns:
        Ids and segments of each sample, and its label.

    Raises:
        ValueError: If there are no samples.
    """
    if not kept:
        raise UsageError.about("stories", "must have a pair of different adjacent sentences, got none")
    found = tokenizer(
        [sample.first for sample in kept],
        [sample.second for sample in kept],
        truncation="longest_first",
        max_length=maximum,
        return_token_type_ids=True,
        verbose=False,
    )
    labels = np.array([sample.label for sample in kept])
    return Encoded(found["input_ids"], found["token_type_ids"] if segments else None, labels, tokenizer.pad_token_id)


def batches(data: Encoded, size: int, order: Ints) -> Iterator[tuple[Ints, dict[str, Any]]]:
    """Yield batches in the order `order`, each padded to its longest sample.

    Args:
        data: Encoded samples.
        size: Maximum number of samples per batch.
        order: Indices of samples, shape ``(n,)``.

    Yields:
        Indices of the samples, and arguments of the model: ``input_ids``, ``attention_mask`` and, with segments,
        ``token_type_ids``, tensors of shape ``(size, longest)``.
    """
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        ids = [data.ids[row] for row in rows]
        inputs = {"input_ids": pad_rows(ids, data.pad), "attention_mask": pad_rows([[1] * len(one) for one in ids], 0)}
        if data.segments is not None:
            inputs["token_type_ids"] = pad_rows([data.segments[row] for row in rows], 0)
        yield rows, inputs


def by_length(data: Encoded) -> Ints:
    """Return the indices of the samples, shape ``(n_samples,)``, from the shortest to the longest.

    In this order there is the least padding, which makes no difference to scores.
    """
    return np.argsort([len(ids) for ids in data.ids], kind="stable")
