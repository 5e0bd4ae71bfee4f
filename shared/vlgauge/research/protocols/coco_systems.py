"""Captioners on the images of COCO: corpus-level value of each metric per captioner (Sarto et al., 2023, Table 7).

The reader uses COCO's captions, ``{"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}``, and
result files of the COCO caption evaluation, ``[{"image_id", "caption"}]``, one per captioner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vlgauge.checkpoints.preflight import look_for_all
from vlgauge.core.errors import UsageError
from vlgauge.core.files import FilePath, read_json
from vlgauge.families.aggregation import COUNTED, corpus_counts, corpus_interval, corpus_value
from vlgauge.leaderboard.recorded_scores import score_keys
from vlgauge.research.protocols.evaluation import task_signature
from vlgauge.research.protocols.files import Folder, coco_captions, columns_of, entry, tidy
from vlgauge.research.protocols.scoring import check_columns, families_in, spread
from vlgauge.stats import RESAMPLES, Interval, count_statistic

if TYPE_CHECKING:
    from vlgauge.families.base import Metric

NAME = "coco_systems"


@dataclass(frozen=True)
class CocoSystems:
    """Rows of every captioner.

    Attributes:
        columns: Arguments of ``metric.compute(**columns)`` by captioner. Rows of one image have the same index.
        rules: Fields of the signature.
    """

    columns: Mapping[str, Mapping[str, list[Any]]]
    rules: Mapping[str, Any]

    @property
    def signature(self) -> str:
        """Everything that the values depend on, except for the scores."""
        return task_signature(NAME, self.rules)


@dataclass(frozen=True)
class SystemValue:
    """Corpus-level value of a metric on the captions of one captioner, and the signature of the scores.

    Attributes:
        value: Mean of the scores, or the value of the summed counts for metrics such as BLEU. NaN without a common
            image.
        low: Low end of its interval. NaN without an interval.
        high: High end of its interval.
        n: Number of images for which every captioner has a score.
        undefined: Number of images for which this captioner has no score.
        signature: Signature of the scores.
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
    """Read the captions of several captioners, named by their files.

    Args:
        files: COCO's captions, and result files.
        images: Folder of the images.
        references: Number of references per row, from the first one. None for all, 0 for none.

    Raises:
        ValueError: If a file has another layout, there is not exactly one file of captions, or the captioners do not
            cover the same images.
        OSError: If a file cannot be read.
    """
    contents = {Path(path): read_json(Path(path), f"`{path}`") for path in files}
    results = {path: content for path, content in contents.items() if isinstance(content, list)}
    captions = [(path, content) for path, content in contents.items() if isinstance(content, dict)]
    if len(captions) != 1 or not results:
        raise UsageError(
            "DATA must be the COCO file of captions and at least one file of results, a list of image_id and caption, "
            f"got {len(captions)} and {len(results)}"
        )
    ((path, content),) = captions
    names = [result.stem for result in results]
    if len(set(names)) < len(names):
        raise UsageError(f"DATA must have distinct file names for the captioners, got {', '.join(names)}")
    described = {result.stem: _captions(records, result) for result, records in results.items()}
    known = coco_captions(content, path)
    wanted = next(iter(described.values()))
    for name, own in described.items():
        if own.keys() != wanted.keys():
            other = next(image for image in (*wanted, *own) if (image in own) != (image in wanted))
            raise UsageError(
                f"DATA must have captions of the same images for {names[0]} and {name}, which differ in {other!r}"
            )
    if missing := [image for image in wanted if image not in known]:
        raise UsageError.about(
            str(path), f"must have captions of every image, lacks {len(missing)} such as {missing[0]!r}"
        )
    files_of = {
        entry(image, "id", (int, str), f"an image of `{path}`"): entry(image, "file_name", str, f"an image of `{path}`")
        for image in content.get("images", [])
    }
    folder = Folder(images, path)
    seen = {"images": [folder.image(files_of[image]) for image in wanted]} if wanted.keys() <= files_of.keys() else {}
    theirs = [known[image] for image in wanted]
    columns = {
        name: columns_of([own[image] for image in wanted], theirs, references, **seen)
        for name, own in described.items()
    }
    return CocoSystems(columns, {"references": "all" if references is None else references})


def _captions(records: Sequence[Any], path: Path) -> dict[Any, str]:
    found: dict[Any, str] = {}
    for number, record in enumerate(records):
        place = f"result {number} of `{path}`"
        image = entry(record, "image_id", (int, str), place)
        if image in found:
            raise UsageError.about(str(path), f"must have one caption per image, got several of {image!r}")
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
    """Compute the corpus-level values by family of scores and captioner.

    Captioners are compared on the images for which all of them have a score.

    Args:
        metrics: Loaded metrics of this package.
        systems: Captions of the captioners.
        missing: Treatment of missing images. See `metric_scores`.
        level: Coverage of the intervals.
        resamples: Number of bootstrap samples of images. 0 for no interval.
        seed: Seed of the samples.

    Raises:
        ValueError: If `metric_scores` would raise it.
        SourcesMissingError: If weights are missing.
    """
    checked = [
        (metric, {name: check_columns(metric, own, missing) for name, own in systems.columns.items()})
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
    """Compute the values of all captioners on the images for which each of them has a score.

    Args:
        family: Name of the score.
        results: Result dictionary of each captioner.
        rows: Indices of the scored images, and the number of images, by captioner.
        how: Level, number of samples and seed of the intervals.

    Returns:
        Values by name ("bleu_1" and "bleu_4" for "bleu") and by captioner.
    """
    # All results were computed by the same metric.
    signature = str(next(iter(results.values()))[f"{family}_signature"]) if results else ""
    keys = list(score_keys(family, signature).values())
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
    """Compute the corpus-level values of a family and their intervals, by name."""
    if family == "bleu":
        counts = corpus_counts(family, result)
        values = {name: count_statistic(counts, COUNTED[family].others[name]) for name in ("bleu_1", "bleu_4")}
    else:
        values = {family: corpus_value(family, result)}
    known = {**result, **values}
    return {
        name: (value, corpus_interval(name, known, **how) if how["resamples"] else None)
        for name, value in values.items()
    }
