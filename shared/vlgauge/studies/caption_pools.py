"""Studies of caption sets call metrics many times on the same captions, which are encoded and compared once."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from vlgauge.base.columns import Captions
from vlgauge.errors import UsageError

CaptionSets = Sequence[Sequence[str]]


def caption_sets(name: str, rows: Sequence[Any]) -> list[list[str]]:
    """Sets of captions as plain lists; ValueError names a row that is none."""
    return Captions(name).store_all(rows)


def together(*sides: CaptionSets) -> list[list[str]]:
    """The captions of all sides of each example."""
    numbers = [len(side) for side in sides]
    if len(set(numbers)) > 1:
        counts = " and ".join(map(str, numbers))
        raise UsageError(f"`predictions` and `references` must have equally many rows, got {counts}")
    return [[text for texts in row for text in texts] for row in zip(*sides, strict=True)]


@contextmanager
def compared_once(
    metrics: Mapping[str, Any], captions: CaptionSets, references: CaptionSets, *, pairs: bool = True
) -> Iterator[None]:
    """Context within which the metrics are called on some of the captions of each example.

    Metrics of one encoder share its vectors; CIDEr-D counts its n-grams in the references for all calls. With `pairs`,
    all pairs of an example are compared beforehand; else each call compares its own. Within such a context another one
    changes nothing.
    """
    with ExitStack() as stack:
        vectors: dict[Any, Any] = {}
        for metric in metrics.values():
            stack.enter_context(metric.among(captions, references, vectors, pairs=pairs))
        yield


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings on sizes of sets, which every row of a study states."""
    with warnings.catch_warnings():
        for words in ("is undefined for all of", "is a mean over sets of"):
            warnings.filterwarnings("ignore", message=f".* {words}")
        yield


def statistics_of(label: str, name: str, result: Mapping[str, Any]) -> dict[str, str]:
    """Prefix of the keys of each statistic in a result, by the name that it has in a study.

    That is the label of the metric, and for further statistics ``label:separate`` or ``label:base``.
    """
    prefixes = [key.removesuffix("_scores") for key in result if key.endswith("_scores")]
    prefixes = [prefix for prefix in prefixes if prefix in result and not prefix.endswith("_excess")]
    return {":".join(filter(None, (label, prefix.removeprefix(name).strip("_")))): prefix for prefix in prefixes}
