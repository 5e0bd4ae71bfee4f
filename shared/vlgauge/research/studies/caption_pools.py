"""Studies that call metrics of caption sets many times on the same captions, which are encoded and compared once."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from vlgauge.core.errors import UsageError
from vlgauge.families.base.columns import Captions

CaptionSets = Sequence[Sequence[str]]


def caption_sets(name: str, rows: Sequence[Any]) -> list[list[str]]:
    """Convert caption sets to plain lists, one per row.

    Raises:
        ValueError: If a row is not a list of captions. The message names the row.
    """
    return Captions(name).store_all(rows)


def together(*sides: CaptionSets) -> list[list[str]]:
    """Concatenate the captions of all sides, one list per example.

    Raises:
        ValueError: If the sides have different numbers of rows.
    """
    numbers = [len(side) for side in sides]
    if len(set(numbers)) > 1:
        counts = " and ".join(map(str, numbers))
        raise UsageError(f"`predictions` and `references` must have the same number of rows, got {counts}")
    return [[text for texts in row for text in texts] for row in zip(*sides, strict=True)]


@contextmanager
def share_comparisons(
    metrics: Mapping[str, Any], captions: CaptionSets, references: CaptionSets, *, pairs: bool = True
) -> Iterator[None]:
    """Share embeddings and comparisons between all calls of the metrics on these captions.

    Metrics with the same encoder share its embeddings, and CIDEr-D counts the n-grams of the references once for all
    calls. Nested contexts have no effect.

    Args:
        metrics: Metrics of caption sets by label.
        captions: All captions of each example.
        references: References of each example.
        pairs: Whether to compare all pairs of an example in advance. Otherwise, each call compares its own pairs.
    """
    with ExitStack() as stack:
        vectors: dict[Any, Any] = {}
        for metric in metrics.values():
            stack.enter_context(metric.among(captions, references, vectors, pairs=pairs))
        yield


def compute_each(
    metrics: Mapping[str, Any],
    predictions: CaptionSets,
    references: CaptionSets,
    advance: Callable[[int], object] = lambda done: None,
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield label, name and result of each metric, without the warnings about set sizes, which every row states.

    Args:
        metrics: Metrics of caption sets by label.
        predictions: Candidates of each example.
        references: References of each example.
        advance: Called with 1 after each metric.
    """
    for label, metric in metrics.items():
        with warnings.catch_warnings():
            for words in ("is undefined for all of", "is a mean over sets of"):
                warnings.filterwarnings("ignore", message=f".* {words}")
            result = metric.compute(predictions=predictions, references=references)
        yield label, metric.name, result
        advance(1)


def statistics_of(label: str, name: str, result: Mapping[str, Any]) -> dict[str, str]:
    """Return the key prefix of each statistic in a result, by its name in a study.

    The name is the label of the metric, or ``label:separate`` and ``label:base`` for additional statistics.
    """
    prefixes = [key.removesuffix("_scores") for key in result if key.endswith("_scores")]
    prefixes = [prefix for prefix in prefixes if prefix in result and not prefix.endswith("_excess")]
    return {":".join(filter(None, (label, prefix.removeprefix(name).strip("_")))): prefix for prefix in prefixes}
