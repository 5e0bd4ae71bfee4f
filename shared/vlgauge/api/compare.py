"""Function `vlgauge.compare`, which compares the rows or scores of several systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from vlgauge.api.comparison import Comparison
from vlgauge.api.computing import load_metrics
from vlgauge.api.score import METRICS, Titles, get_ids, join_titles, prepare_metrics, read_annotations, split_metrics
from vlgauge.api.score_suite import check_suite, choose_compared
from vlgauge.api.scores import Scores
from vlgauge.api.systems import (
    GivenSystem,
    labels_of_systems,
    long_systems,
    runs_of,
    score_systems,
    wide_systems,
)
from vlgauge.api.tables import check_rows_file, read_given_rows
from vlgauge.core.catalog import metric_of_score
from vlgauge.core.columns import COLUMNS
from vlgauge.core.errors import UsageError
from vlgauge.core.files import first_repeated
from vlgauge.core.validation import with_argument_hints
from vlgauge.families.base import Metric
from vlgauge.inputs.tables.caption_files import join_references, references_by_id
from vlgauge.inputs.tables.files import rows_called
from vlgauge.leaderboard import comparison as statistics
from vlgauge.leaderboard import read_run
from vlgauge.leaderboard.joined_runs import join_rows

_OF_ONE = "it is an argument of vlgauge.score, whose result can be passed for a system"


@with_argument_hints(
    "vlgauge.compare",
    {"rows": "`rows` are a table, or tables by name of the system", "metrics": METRICS}
    | dict.fromkeys(("skip", "limit", "split", "revision", "captions_per_row", "details"), _OF_ONE),
)
def compare(
    rows: Any,
    metrics: str | Metric | Sequence[str | Metric],
    *,
    predictions: Titles = None,
    references: Titles = None,
    images: Titles = None,
    videos: Titles = None,
    styles: Titles = None,
    id: str | None = None,
    system: str | None = None,
    groups: str | Mapping[str, object] | None = None,
    baseline: str | None = None,
    family: str = "all",
    level: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
    config: str | None = None,
    profile: str | None = None,
    annotations: Any = None,
    without: str | Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Compare systems on the same rows by one or more metrics.

    See `vlgauge.leaderboard.compare` for the intervals and tests.

    Args:
        rows: Rows of each system by system name, in any format that `vlgauge.score` accepts, or its scores: the result
            of `vlgauge.score`, or the path of a file of scores. Alternatively a single table for all systems: wide,
            with a column of predictions for each system (``predictions=["ours", "base"]``), or long, with one row per
            system and example (``system="model"``).
        metrics: As for `vlgauge.score`, including a suite, or names of other scores, such as "ref_clip_s" or "chair_s".
        predictions: Name of the column with the predictions. For a wide table, one name per system.
        references: Name of the column with the references, as for `vlgauge.score`.
        images: Name of the column with the images.
        videos: Name of the column with the videos.
        styles: Name of the column with the styles.
        id: Name of the column with the row IDs, by which rows of the systems are joined. None for "id" if it exists,
            otherwise the index of a pandas frame, or the row numbers. Required for a long table.
        system: Name of the column with the system names, for a long table.
        groups: Name of a column, or labels by row ID. Rows with equal labels, such as captions of one image, are
            resampled together.
        baseline: Name of the system to compare all others with. None for all pairs.
        family: Tests that Holm's correction covers: "all" for the pairs of all metrics, or "metric" for the pairs of
            each metric.
        level: Confidence level of the intervals. Tests use one minus this level.
        resamples: Number of samples of intervals and tests. None for the required number.
        seed: Seed of both, and of the sampled captions if caption sets have unequal sizes.
        config: Configuration, for metrics that have several.
        profile: Profile of the metrics that are passed by name.
        annotations: As for `vlgauge.score`.
        without: Metrics of a suite to leave out.
        settings: Settings of metrics of a suite, such as ``{"meteor": {"paraphrases": None}}``. Pass settings of other
            metrics to `vlgauge.load`.
        progress: Whether to show progress bars.

    Returns:
        The comparison.

    Raises:
        ValueError: If there are fewer than two systems, a system occurs twice, rows or references differ, a column is
            missing, or a score is unknown.
        TypeError: If rows are not a table.
    """
    suite, left_out = check_suite(metrics, without, settings)
    with rows_called("`rows`"):
        names, loaded_of = ([], []) if suite is not None else _name_metrics(metrics)
        titles = join_titles(predictions, references, images, videos, styles)
        several = [one.strip() for one in predictions.split(",")] if isinstance(predictions, str) else predictions or []
        is_wide = not isinstance(rows, Mapping) and system is None and len(several) > 1
        titles |= {"predictions": None} if is_wide else {}
        grouped = groups if isinstance(groups, str) else None
        wanted = [*(titles[name] or name for name in COLUMNS), id or "id", "image_id", system, grouped]
        systems = _systems(rows, names, wanted, id, several if is_wide else None, system)
        if annotations is not None:
            systems = _join_annotations(systems, annotations)
        if len(systems) < 2:
            raise UsageError.about("rows", f"must contain at least two systems, got {', '.join(systems) or 'none'}")
        chosen: dict[str, dict[str, Any]] = {}
        if suite is not None:
            chosen = choose_compared(suite, systems, left_out, settings)
            names = list(chosen)
        join_rows({name: {"ids": one.ids} for name, one in systems.items()})  # fail before anything is scored
        loaded: list[Metric] = []
        if any(one.run is None for one in systems.values()):
            how: dict[str, Any] = {"config": config, "profile": profile, "progress": progress}
            loaded = load_metrics(chosen, **how) if suite is not None else prepare_metrics(loaded_of, **how)
        scored = score_systems(systems, loaded, titles, seed=seed, grouped=groups is not None)
        runs = runs_of(systems, scored, names)
        tests: dict[str, Any] = {"family": family, "level": level, "resamples": resamples, "seed": seed}
        found = statistics.compare(runs, names, baseline=baseline, groups=_labels(systems, groups), **tests)

    def explained() -> Any:
        if len(scored) < len(systems):
            given_ones = ", ".join(name for name in systems if name not in scored)
            raise UsageError.about("report", f"must have the rows of every system, got scores only for {given_ones}")
        return score_systems(systems, loaded, titles, details=True, seed=seed, grouped=True)

    return Comparison(found, scored, explained, runs)


def _join_annotations(systems: Mapping[str, GivenSystem], annotations: Any) -> dict[str, GivenSystem]:
    """Return the systems with references joined to their rows. Systems with scores only are unchanged."""
    if all(one.run is not None for one in systems.values()):
        raise UsageError.about("annotations", "requires rows, got scores only")
    captions = references_by_id(read_annotations(annotations), "`annotations`")
    return {
        name: one if one.run is not None else replace(one, rows=join_references(one.rows, captions, "`annotations`"))
        for name, one in systems.items()
    }


def _name_metrics(metrics: str | Metric | Sequence[str | Metric]) -> tuple[list[str], list[str | Metric]]:
    every = split_metrics(metrics)
    parts = [one for one in every if isinstance(one, str)]
    loaded = [one for one in every if not isinstance(one, str)]
    names = [*parts, *(getattr(one, "name", "") for one in loaded)]
    if twice := first_repeated(names):
        raise UsageError.about("metrics", f"must name each score once, got {twice!r} more than once")
    there = {getattr(one, "name", "") for one in loaded}
    owners = dict.fromkeys(owner for name in parts if (owner := metric_of_score(name)) not in there)
    return names, [*owners, *loaded]


def _systems(
    rows: Any,
    names: Sequence[str],
    wanted: Sequence[str | None],
    id: str | None,
    wide: Sequence[str] | None,
    system: str | None,
) -> dict[str, GivenSystem]:
    """Return the systems of a dictionary of tables, of a wide table with a column per system, or of a long table."""
    if isinstance(rows, Mapping):
        if system is not None:
            raise UsageError.about("system", "cannot be combined with `rows` by system")
        return {str(name): _system(str(name), one, names, wanted, id) for name, one in rows.items()}
    if wide is not None:
        check_rows_file(rows)
        given = read_given_rows(rows, [*wanted, *wide])
        return wide_systems(given.rows, get_ids(given, id), wide, given.file)
    if system is None:
        raise UsageError.about(
            "rows",
            'must contain several systems: a dict of tables by name, or one table with predictions=["ours", "base"], '
            'or with system="model"',
        )
    check_rows_file(rows)
    given = read_given_rows(rows, wanted)
    if id is None and "id" not in given.titles:
        raise UsageError.about("id", 'must name the rows of a table with the column `system`, such as id="image_id"')
    return long_systems(given.rows, get_ids(given, id), system, given.file)


def _system(name: str, rows: Any, metrics: Sequence[str], wanted: Sequence[str | None], id: str | None) -> GivenSystem:
    if isinstance(rows, Scores):
        rows = rows.run()
    elif isinstance(rows, (str, PathLike)):
        check_rows_file(rows)
        rows = read_run(fspath(rows), metrics) or rows
    if isinstance(rows, Mapping) and isinstance(rows.get("ids"), list):
        return GivenSystem(rows["ids"], rows)
    try:
        given = read_given_rows(rows, wanted)
        return GivenSystem(get_ids(given, id), rows=given.rows, file=given.file)
    except UsageError as error:
        raise error.with_message(f"{name}: {error}") from None


def _labels(
    systems: Mapping[str, GivenSystem], groups: str | Mapping[str, object] | None
) -> Mapping[str, object] | None:
    if not isinstance(groups, str):
        return groups
    if found := labels_of_systems(systems, groups, "`groups`"):
        return found
    raise UsageError.about("groups", "must be labels by ID if all systems have scores only, got a column name")
