"""Values of a paper from the caption scores that its authors released, without any model."""

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.core.files import read_text
from vlgauge.research.protocols import read_flickr8k_expert
from vlgauge.research.protocols.evaluation import judge
from vlgauge.research.studies.published import PublishedRow
from vlgauge.research.verification.findings import Data, Finding, Tools, Unchecked, attempt_check, compare_values

FLEUR_EXPERT = ("results/fleur_flickr8k_expert.txt", "flickr8k.json")
FLEUR_PASCAL = {kind: f"results/fleur_pascal_{kind}.txt" for kind in ("HC", "HI", "HM", "MM")}
# Number of expert ratings per caption. The released file has one score for all of them.
RATINGS = 3
_LINE = re.compile(r"^(caption|our score|label) : (.*)$", re.MULTILINE)


def check_released_scores(data: Data, tools: Tools) -> Iterator[Finding | Unchecked]:
    """Check FLEUR on Flickr8k-Expert and Pascal-50S with the scores of its repository."""
    for row in tools.select_rows("fleur_results"):
        work = _expert if row.row == "Flickr8k-Expert" else _pascal
        yield from attempt_check(
            [row], "it is in the repository Yebin46/FLEUR; --data FOLDER", partial(work, row, data)
        )


def _expert(row: PublishedRow, data: Data) -> Iterator[Finding]:
    """Compute Kendall's tau of the released scores and all ratings."""
    scored, annotations = data.all_of(FLEUR_EXPERT)
    task = read_flickr8k_expert([annotations])
    captions, scores = (_values(scored, key) for key in ("caption", "our score"))
    values = np.repeat(_numbers(scores, scored), RATINGS)
    rated = task.columns["predictions"]
    if len(values) != len(rated) or captions != [" ".join(text.split()) for text in rated[::RATINGS]]:
        raise UsageError.about(
            str(scored),
            f"must have a score for each caption of `{annotations}`, in its order, got {len(scores)} for "
            f"{len(rated)} ratings",
        )
    figures = judge(task, {"fleur": values.tolist()}, resamples=0).evaluations["fleur"].figures
    yield from compare_values([row], {"fleur": {name: one.value for name, one in figures.items()}})


def _pascal(row: PublishedRow, data: Data) -> Iterator[Finding]:
    """Compute the share of pairs in which the caption preferred by annotators has the higher score. Ties are wrong."""
    paths = data.all_of(list(FLEUR_PASCAL.values()))
    found = {kind: _accuracy(path) for kind, path in zip(FLEUR_PASCAL, paths, strict=True)}
    yield from compare_values([row], {"fleur": {**found, "mean": math.fsum(found.values()) / len(found)}})


def _accuracy(path: Path) -> float:
    labels, scores = _values(path, "label"), _numbers(_values(path, "our score"), path)
    if len(scores) != 2 * len(labels) or not labels or not set(labels) <= {"0", "1"}:
        raise UsageError.about(
            str(path), f"must have a label, 0 or 1, for two scores, got {len(labels)} for {len(scores)}"
        )
    pairs, better = scores.reshape(-1, 2), np.array(labels, dtype=int)
    rows = np.arange(len(pairs))
    return 100 * float((pairs[rows, better] > pairs[rows, 1 - better]).mean())


def _values(path: Path, key: str) -> list[str]:
    return [value.strip() for name, value in _LINE.findall(read_text(path)) if name == key]


def _numbers(values: Sequence[str], path: Path) -> np.ndarray:
    try:
        found = np.array([float(value) for value in values])
    except ValueError as error:
        raise UsageError.about(str(path), f"must have numeric scores, got: {error}") from error
    if not np.isfinite(found).all():
        raise UsageError.about(str(path), "must have finite scores, got NaN or infinity")
    return found
