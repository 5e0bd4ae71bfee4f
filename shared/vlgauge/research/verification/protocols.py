"""Checks of the tables of PAC-S and of Table 1 of GROOViST, by the protocols of their datasets."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from vlgauge.research.protocols import PROTOCOLS
from vlgauge.research.protocols.corpora import read_corpus
from vlgauge.research.protocols.evaluation import Task, judge
from vlgauge.research.protocols.scoring import LENGTH, TaskScores, length_scores, metric_scores, read_released_scores
from vlgauge.research.studies.published import REFERENCE_FREE, PublishedRow, published_data
from vlgauge.research.verification.findings import (
    TEXT_METRICS,
    UNABLE,
    Data,
    Finding,
    Tools,
    Unchecked,
    attempt_check,
    compare_values,
    metric_of,
)

CORPORA = {"vatex_eval": "vatex_train_en_annotations.json", "activitynet_foil": "train.json"}
# Metrics whose regions were not published.
NEED_REGIONS = ("groovist", "rovist_vg")


def check_protocols(data: Data, tools: Tools) -> Iterator[Finding | Unchecked]:
    """Check every published row of the protocols."""
    for name in PROTOCOLS:
        wanted = tools.select_rows(name)
        regions = [row for row in wanted if row.metric in NEED_REGIONS]
        if regions:
            files = " ".join(published_data(name)["files"])
            how = f"vlgauge protocol {name} {files} --unanimous --metric METRIC, with your own regions"
            yield Unchecked(regions, "the regions of the images are not published", how)
        for rules, found in _by_rules([row for row in wanted if row not in regions]):
            try:
                task = _task(name, rules, data)
            except UNABLE as error:
                yield Unchecked(found, str(error), f"{published_data(name)['source']}; --data FOLDER")
                continue
            for (metric, settings), own in _by_metric(found).items():
                work = partial(_compare_values, own, metric, dict(settings), task, data, tools)
                yield from attempt_check(own, _how(metric, dict(settings), name), work)


def _by_metric(found: Sequence[PublishedRow]) -> dict[tuple[str, tuple[tuple[str, str], ...]], list[PublishedRow]]:
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[PublishedRow]] = {}
    for row in found:
        groups.setdefault((metric_of(row.metric or ""), tuple(row.settings.items())), []).append(row)
    return groups


def _how(metric: str, settings: Mapping[str, str], name: str) -> str:
    if "variant" in settings:
        return f"vlgauge prefetch {metric}; --images FOLDER"
    if "version" in settings:
        return f"vlgauge prefetch {metric}{settings['version']}; --images FOLDER"
    if settings:  # settings of the parser, a model with its own name in `vlgauge prefetch`
        return f"vlgauge prefetch {' '.join(settings.values())} {metric}"
    where = f"--videos FOLDER, --data FOLDER with {CORPORA[name]}" if name in CORPORA else "--images FOLDER"
    return "-" if metric in TEXT_METRICS else f"vlgauge prefetch {metric}; {where}"


def _by_rules(found: Sequence[PublishedRow]) -> list[tuple[dict[str, Any], list[PublishedRow]]]:
    """Group the rows that share one reading of the data.

    Rows of reference-free scores join any group with the same ratings and dependencies. If there is none, they start a
    group without references.
    """
    groups: list[tuple[dict[str, Any], list[PublishedRow]]] = []
    for row in sorted(found, key=lambda row: "references" not in row.rules):
        free = row.metric in REFERENCE_FREE
        for rules, own in groups:
            same = all(rules.get(name) == row.rules.get(name) for name in ("ratings", "dependencies"))
            if same and (free or rules.get("references") == row.rules.get("references")):
                own.append(row)
                break
        else:
            groups.append((dict(row.rules), [row]))
    return groups


def _task(name: str, rules: Mapping[str, Any], data: Data) -> Task:
    given: dict[str, Any] = {}
    if rules.get("references") != "all" and "references" in inspect.signature(PROTOCOLS[name]).parameters:
        # Rows of reference-free scores have no such rule.
        given["references"] = rules.get("references", 0)
    if rules.get("ratings") == "unanimous":
        given["unanimous"] = True
    if rules.get("dependencies") == "none":
        given["independent"] = True
    kind = "videos" if name in CORPORA else "images"
    if (folder := getattr(data, kind)) is not None:
        given[kind] = folder
    return PROTOCOLS[name](data.all_of(published_data(name)["files"]), **given)


def _compare_values(
    found: Sequence[PublishedRow], metric: str, settings: dict[str, Any], task: Task, data: Data, tools: Tools
) -> Iterator[Finding]:
    if any(row.backbone for row in found):
        settings["backbone"] = tools.backbone
    scores = read_released_scores(task)
    if not scores:
        scores = [length_scores(task.columns)] if metric == LENGTH else _scores(metric, settings, task, data, tools)
    values = {one.name: one.values for one in scores}
    judged = judge(task, values, resamples=0).evaluations
    yield from compare_values(
        found,
        {family: evaluation.own_values for family, evaluation in judged.items()},
        {family: evaluation.drawn for family, evaluation in judged.items()},
    )


def _scores(metric: str, settings: dict[str, Any], task: Task, data: Data, tools: Tools) -> list[TaskScores]:
    if metric not in TEXT_METRICS and task.name in CORPORA:
        (corpus,) = data.all_of([CORPORA[task.name]])
        settings |= {"config_name": "video", "idf": read_corpus(corpus)}
    return metric_scores([tools.load(metric, **settings)], task.columns)
