"""Scores of a suite: selection of the metrics that can be computed, table of the results, and the distance d_HM."""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vlgauge.api.computing import Settings, compute_all, load_metric
from vlgauge.api.scored import SystemScores
from vlgauge.core.catalog import metric_names
from vlgauge.core.errors import UsageError, as_option, describe, is_of_user
from vlgauge.core.results import printable
from vlgauge.core.signatures import describe_demo_models, uses_demo_model
from vlgauge.core.suites import SUITES, Suite, TableColumn
from vlgauge.core.validation import nearest, suggest_word
from vlgauge.families.aggregation import parser_note
from vlgauge.leaderboard.table import Cell, Numbers, Table

if TYPE_CHECKING:
    from vlgauge.api.row_sources import Source
    from vlgauge.api.systems import GivenSystem
    from vlgauge.families.base import Metric

DISTANCE = "d_hm"
_COMPONENTS = ("groovist", "rovist_c", "rovist_nr")


def find_suite(names: str) -> Suite | None:
    """Return the suite that is named instead of metrics. None for names of metrics.

    Raises:
        UsageError: If a suite is named together with other names.
    """
    every = [name.strip() for name in names.split(",") if name.strip()]
    found = [name for name in every if name in SUITES]
    if found and len(every) > 1:
        its_metrics = ",".join(SUITES[found[0]].metrics)
        raise UsageError(
            f"the suite {found[0]} cannot be combined with metrics, got {names!r}; its metrics: {its_metrics}"
        )
    if len(every) == 1 and every[0] not in {*metric_names(), *SUITES} and (near := suggest_word(every[0], SUITES)):
        raise UsageError(f"no metric or suite has the name {every[0]!r}; {near} (suites: {', '.join(SUITES)})")
    return SUITES[found[0]] if found else None


def check_suite(metrics: Any, without: str | Sequence[str], settings: object) -> tuple[Suite | None, list[str]]:
    """Return the suite that `metrics` names, if any, and the metrics to leave out of it.

    Raises:
        UsageError: If `without` or `settings` is passed without a suite.
    """
    suite = find_suite(metrics) if isinstance(metrics, str) else None
    left_out = [without] if isinstance(without, str) else list(without)
    for name, given, hint in (("without", left_out, None), ("settings", settings, "pass theirs to `vlgauge.load`")):
        if suite is None and given:
            raise UsageError.about(name, f"requires a suite ({', '.join(SUITES)}), got metrics", hint)
    return suite, left_out


def choose_metrics(
    suite: Suite,
    titles: Collection[str],
    without: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Settings]:
    """Return the settings of the metrics of a suite that can score the rows.

    Args:
        suite: The suite.
        titles: Names of the columns of the rows. A metric whose required column is missing is left out.
        without: Metrics to leave out.
        settings: Settings of metrics, which override the settings of the suite.

    Raises:
        UsageError: If `without` names a metric that is not in the suite, or all of its metrics, or settings are for a
            metric that is not computed.
    """
    given = settings or {}
    if unknown := [name for name in without if name not in suite.metrics]:
        raise UsageError(
            f"{as_option('without')} must name metrics of the suite {suite.name}, got {unknown[0]!r}; "
            f"{nearest(unknown[0], suite.metrics)}"
        )
    chosen = [
        name
        for name in suite.metrics
        if name not in without and suite.needs.get(name, "predictions") in {*titles, "predictions"}
    ]
    if not {*chosen} - {DISTANCE}:  # computed from the other metrics
        raise UsageError(f"{as_option('without')} must not contain all metrics of the suite {suite.name}")
    there = [name for name in suite.metrics if name not in without]
    if strange := [name for name, own in given.items() if own and name not in there]:
        raise UsageError.about(
            "settings",
            f"must have metrics of the suite {suite.name} that are not left out as keys, got {strange[0]!r}",
            nearest(strange[0], there),
        )
    return {name: {**suite.settings.get(name, {}), **given.get(name, {})} for name in chosen}


def choose_compared(
    suite: Suite,
    systems: Mapping[str, GivenSystem],
    without: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Settings]:
    """Return the settings of the metrics of a suite by which all systems can be compared.

    Args:
        suite: The suite.
        systems: Rows or scores of each system. A metric that is missing in the scores of a system is left out.
        without: Metrics to leave out.
        settings: As for `choose_metrics`.

    Raises:
        UsageError: If no metric of the suite is left.
    """
    titles = set.intersection(
        *(set(suite.needs.values() if one.run is not None else one.rows[0]) for one in systems.values())
    )
    chosen = choose_metrics(suite, titles, [*without, *({DISTANCE} & {*suite.metrics})], settings)
    runs = [one.run for one in systems.values() if one.run is not None]
    there = {name: own for name, own in chosen.items() if all(f"{name}_scores" in run for run in runs)}
    if not there:
        raise UsageError(
            f"the files must have scores of the suite {suite.name} ({', '.join(chosen)}), got scores of none"
        )
    return there


def suite_table(suite: Suite, scored: SystemScores, numbers: Numbers) -> Table:
    """Return the table of a suite: a row of values, NaN for a metric that failed.

    Args:
        suite: The suite.
        scored: Results by metric, and reasons of the failures.
        numbers: Number format.
    """
    columns = [column for column in suite.columns if _is_there(column, scored)]
    header, cells, notes = [], [], list(numbers.notes)
    for column in columns:
        result = scored.results.get(column.metric, {})
        signature = str(result.get(f"{column.metric}_signature", ""))
        note = [*parser_note(column.metric, signature), *(["demo"] if uses_demo_model(signature) else [])]
        header.append(column.title + (f" ({', '.join(note)})" if note else ""))
        value = result.get(column.key, math.nan)
        cells.append(Cell(numbers.text(value) if math.isfinite(value) else "NaN", right=True))
    notes += [f"{name} failed: {printable(why)}" for name, why in scored.failed.items()]
    signatures = {name: str(result[f"{name}_signature"]) for name, result in scored.results.items()}
    notes += [f"{note}." for note in describe_demo_models(signatures)]
    return Table(header, [cells], notes=notes)


def describe_failure(error: Exception) -> str:
    """Return why a metric of a suite failed. Print the traceback of a bug to standard error."""
    if is_of_user(error):
        return describe(error)
    traceback.print_exception(error, file=sys.stderr)
    return f"{type(error).__name__}: {error}"


def columns_of_source(source: Source) -> set[str]:
    """Return the columns of a folder, an archive or a Hub dataset that metrics of suites require."""
    return {"images"} if "image" in source.kinds.values() else set()


def add_distance(scored: SystemScores, metrics: Sequence[Metric], human_stories: list[Any]) -> SystemScores:
    """Add d_HM to the scores of stories, computed from the same scores of human stories.

    Args:
        scored: Scores of the generated stories, with the scores of `groovist` and `rovist`.
        metrics: Metrics that computed them.
        human_stories: Human stories of the same rows.

    Returns:
        The scores with d_HM, or with the reason if it fails, or if `groovist` or `rovist` is missing.
    """
    needed = [one for one in metrics if one.name in ("groovist", "rovist") and one.name in scored.results]
    if len(needed) < 2:
        failed = {**scored.failed, DISTANCE: "requires the scores of groovist and rovist"}
        return replace(scored, failed=failed)
    try:
        human_results = compute_all(needed, {**scored.columns, "predictions": human_stories})
        sides = [_components(results) for results in (scored.results, human_results)]
        result = load_metric(DISTANCE).compute(predictions=sides[0], references=sides[1]) or {}
    except Exception as error:  # keep the scores that were computed before
        return replace(scored, failed={**scored.failed, DISTANCE: describe_failure(error)})
    return replace(scored, results={**scored.results, DISTANCE: result})


def _components(results: Mapping[str, Mapping[str, Any]]) -> list[dict[str, float]]:
    columns = [results["groovist" if name == "groovist" else "rovist"][f"{name}_scores"] for name in _COMPONENTS]
    return [dict(zip(_COMPONENTS, scores, strict=True)) for scores in zip(*columns, strict=True)]


def _is_there(column: TableColumn, scored: SystemScores) -> bool:
    return column.metric in scored.failed or column.key in scored.results.get(column.metric, {})
