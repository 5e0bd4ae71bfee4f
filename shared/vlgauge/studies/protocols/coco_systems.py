"""Captioners on the images of COCO: the mean of each metric per captioner (Sarto et al., 2023, Table 7).

Read are COCO's captions, ``{"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}``, and files of
results as its caption evaluation takes them, ``[{"image_id", "caption"}]``, one per captioner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.files import FilePath, read_json
from vlgauge.results import mean_of_defined
from vlgauge.statistics import RESAMPLES, bootstrap_intervals
from vlgauge.studies.protocols.evaluation import task_signature
from vlgauge.studies.protocols.files import Folder, coco_captions, columns_of, entry, tidy
from vlgauge.studies.protocols.scoring import checked_columns, spread
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

    The interval is NaN without one, as of BLEU, which is no mean; undefined are captions without a score.
    """

    value: float
    low: float
    high: float
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
        raise ValueError(
            "DATA must be COCO's file of captions and at least one file of results, a list of image_id and caption, "
            f"got {len(captions)} and {len(results)}"
        )
    ((path, content),) = captions
    names = [result.stem for result in results]
    if len(set(names)) < len(names):
        raise ValueError(f"DATA must have a file of another name for each captioner, got {', '.join(names)}")
    told = {result.stem: _captions(records, result) for result, records in results.items()}
    known = coco_captions(content, path)
    wanted = next(iter(told.values()))
    for name, own in told.items():
        if own.keys() != wanted.keys():
            other = next(image for image in (*wanted, *own) if (image in own) != (image in wanted))
            raise ValueError(f"DATA must have captions of the same images for {names[0]} and {name}, not so {other!r}")
    if missing := [image for image in wanted if image not in known]:
        raise ValueError(f"`{path}` must have captions of every image, none of {len(missing)} such as {missing[0]!r}")
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
            raise ValueError(f"`{path}` must have one caption per image, got more of {image!r}")
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
    """Values by family of scores and by captioner; the images are looked at once.

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
        (name, metric, *checked_columns(metric, own, missing))
        for name, own in systems.columns.items()
        for metric in metrics
    ]
    look_for_all(metrics)
    found: dict[str, dict[str, SystemValue]] = {}
    for name, metric, own, rows in checked:
        result = metric.compute(**own) or {}
        n = len(systems.columns[name]["predictions"])
        for key in [key for key in result if key.endswith("_scores")]:
            family = key.removesuffix("_scores")
            scores = spread(result[key], rows, n)
            undefined, signature = sum(map(math.isnan, scores)), result[f"{family}_signature"]
            ends = (math.nan, math.nan)
            if metric.name != "bleu" and resamples:
                interval = bootstrap_intervals([scores], level=level, resamples=resamples, seed=seed)[0]
                ends = (interval.low, interval.high) if interval else ends
            # BLEU of all captions is not the mean of theirs.
            orders = ("bleu_1", "bleu_4") if metric.name == "bleu" else ()
            values = {order: result[order] for order in orders} or {family: mean_of_defined(scores)}
            for one, value in values.items():
                found.setdefault(one, {})[name] = SystemValue(value, *ends, undefined, signature)
    return found
