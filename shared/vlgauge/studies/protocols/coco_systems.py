"""Captioners on the images of COCO: the number of each metric per captioner (Sarto et al., 2023, Table 7).

Read are COCO's captions, ``{"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}``, and files of
results as its caption evaluation takes them, ``[{"image_id", "caption"}]``, one per captioner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vlgauge.corpus_values import corpus_counts, corpus_interval, corpus_value, counted_of
from vlgauge.distances.rouge_and_bleu import summed_bleu
from vlgauge.errors import UsageError
from vlgauge.files import FilePath, read_json
from vlgauge.statistics import RESAMPLES, Interval, summed_intervals, summed_value
from vlgauge.studies.protocols.evaluation import task_signature
from vlgauge.studies.protocols.files import Folder, coco_captions, columns_of, entry, tidy
from vlgauge.studies.protocols.scoring import checked_columns, families_in, spread
from vlgauge.weights.preflight import look_for_all

if TYPE_CHECKING:
    from vlgauge.base import Metric

NAME = "coco_systems"


@dataclass(frozen=True)
class CocoSystems:
    """Rows of every captioner.

    Attributes:
        columns: By captioner, as ``metric.compute(**columns)`` takes them; rows of one image have one place.
        rules: Fields of the signature.
    """

    columns: Mapping[str, Mapping[str, list[Any]]]
    rules: Mapping[str, Any]

    @property
    def signature(self) -> str:
        """What the numbers depend on besides the scores."""
        return task_signature(NAME, self.rules)


@dataclass(frozen=True)
class SystemValue:
    """A metric on the captions of one captioner, and how the scores were made.

    Attributes:
        value: The number of the corpus: the mean of the scores, or for a metric such as BLEU what the added counts
            give; NaN without a common image.
        low: Lower end of its interval; NaN without one.
        high: Upper end.
        n: Number of images that it is of: those for which every captioner has a score.
        undefined: Number of images for which this captioner has none.
        signature: How the scores were made.
    """

    value: float
    low: float
    high: float
    n: int
    undefined: int
    signature: str


def read_coco_systems(
    files: Sequence[FilePath], *, images: FilePath | None = None, references: int | None = None
) -> CocoSystems:
    """The captions of several captioners, called by the names of their files.

    Args:
        files: COCO's captions, and results.
        images: Folder of the images.
        references: Number of references per row, the first ones; None for all, 0 for none.

    Raises:
        ValueError: If a file has another layout, there is not one file of captions, or the captioners are not about the
            same images.
        OSError: If a file cannot be read.
    """
    contents = {Path(path): read_json(Path(path), f"`{path}`") for path in files}
    results = {path: content for path, content in contents.items() if isinstance(content, list)}
    captions = [(path, content) for path, content in contents.items() if isinstance(content, dict)]
    if len(captions) != 1 or not results:
        raise UsageError(
            "DATA must be COCO's file of captions and at least one file of results, a list of image_id and caption, "
            f"got {len(captions)} and {len(results)}"
        )
    ((path, content),) = captions
    names = [result.stem for result in results]
    if len(set(names)) < len(names):
        raise UsageError(f"DATA must have a file of another name for each captioner, got {', '.join(names)}")
    told = {result.stem: _captions(records, result) for result, records in results.items()}
    known = coco_captions(content, path)
    wanted = next(iter(told.values()))
    for name, own in told.items():
        if own.keys() != wanted.keys():
            other = next(image for image in (*wanted, *own) if (image in own) != (image in wanted))
            raise UsageError(f"DATA must have captions of the same images for {names[0]} and {name}, not so {other!r}")
    if missing := [image for image in wanted if image not in known]:
        raise UsageError(f"`{path}` must have captions of every image, none of {len(missing)} such as {missing[0]!r}")
    files_of = {
        entry(image, "id", (int, str), f"an image of `{path}`"): entry(image, "file_name", str, f"an image of `{path}`")
        for image in content.get("images", [])
    }
    folder = Folder(images, path)
    seen = {"images": [folder.image(files_of[image]) for image in wanted]} if wanted.keys() <= files_of.keys() else {}
    theirs = [known[image] for image in wanted]
    columns = {
        name: columns_of([own[image] for image in wanted], theirs, references, **seen) for name, own in told.items()
    }
    return CocoSystems(columns, {"references": "all" if references is None else references})


def _captions(records: Sequence[Any], path: Path) -> dict[Any, str]:
    found: dict[Any, str] = {}
    for number, record in enumerate(records):
        place = f"result {number} of `{path}`"
        image = entry(record, "image_id", (int, str), place)
        if image in found:
            raise UsageError(f"`{path}` must have one caption per image, got more of {image!r}")
        found[image] = tidy(entry(record, "caption", str, place))
    return found


def system_values(
    metrics: Sequence[Metric],
    systems: CocoSystems,
    *,
    missing: str = "error",
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, dict[str, SystemValue]]:
    """Return values by family of scores and by captioner; the images are looked at once.

    Captioners are compared on the same images: those for which all of them have a score.

    Args:
        metrics: Loaded metrics of this package.
        systems: The captions.
        missing: As in `metric_scores`.
        level: Coverage of the intervals.
        resamples: Number of bootstrap samples of images; 0 for no interval.
        seed: Of the samples.

    Raises:
        ValueError: As `metric_scores`.
        SourcesMissing: If weights are not there.
    """
    checked = [
        (metric, {name: checked_columns(metric, own, missing) for name, own in systems.columns.items()})
        for metric in metrics
    ]
    look_for_all(metrics)
    how: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    found: dict[str, dict[str, SystemValue]] = {}
    for metric, own in checked:
        results = {name: metric.compute(**columns) or {} for name, (columns, _) in own.items()}
        rows = {name: (of_result, len(systems.columns[name]["predictions"])) for name, (_, of_result) in own.items()}
        for family in families_in(next(iter(results.values()))):
            found |= _family_values(family, results, rows, how)
    return found


def _family_values(
    family: str,
    results: Mapping[str, Mapping[str, Any]],
    rows: Mapping[str, tuple[Sequence[int], int]],
    how: Mapping[str, Any],
) -> dict[str, dict[str, SystemValue]]:
    """Return the values of all captioners on the images for which each of them has a score.

    Args:
        family: Name of the score.
        results: By captioner what the metric returned.
        rows: By captioner the images of these scores, and how many images there are.
        how: Level, samples and seed of the intervals.

    Returns:
        By name, "bleu_1" and "bleu_4" for "bleu", and by captioner.
    """
    # All were made by one metric.
    signature = str(next(iter(results.values()))[f"{family}_signature"]) if results else ""
    counted = counted_of(family, signature)
    keys = [f"{family}_scores", *(f"{family}_{column}" for column in (() if counted is None else counted.columns))]
    of_rows = {name: {key: spread(result[key], *rows[name]) for key in keys} for name, result in results.items()}
    undefined = {name: np.isnan(own[keys[0]]) for name, own in of_rows.items()}
    common = np.flatnonzero(~np.any(list(undefined.values()), axis=0)).tolist()
    found: dict[str, dict[str, SystemValue]] = {}
    for name, result in results.items():
        kept = {key: [values[i] for i in common] for key, values in of_rows[name].items()}
        signature = str(result[f"{family}_signature"])
        lacking = int(np.count_nonzero(undefined[name]))
        for one, (value, interval) in _numbers(family, {**kept, f"{family}_signature": signature}, how).items():
            ends = (math.nan, math.nan) if interval is None else (interval.low, interval.high)
            found.setdefault(one, {})[name] = SystemValue(value, *ends, len(common), lacking, signature)
    return found


def _numbers(
    family: str, result: Mapping[str, Any], how: Mapping[str, Any]
) -> dict[str, tuple[float, Interval | None]]:
    """Return the number of a corpus and its interval, by name."""
    if family != "bleu":
        interval = corpus_interval(family, result, **how) if how["resamples"] else None
        return {family: (corpus_value(family, result), interval)}
    counts = corpus_counts(family, result)
    found = {}
    for order in (1, 4):
        statistic = partial(summed_bleu, order=order)
        interval = summed_intervals([counts], [(0,)], statistic, **how)[0] if how["resamples"] else None
        found[f"bleu_{order}"] = (summed_value(counts, statistic), interval)
    return found
