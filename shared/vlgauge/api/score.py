"""Function `vlgauge.score`, which scores the rows of any table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from vlgauge.api.columns import read_columns, row_groups, row_ids
from vlgauge.api.computing import load_metrics
from vlgauge.api.score_suite import (
    DISTANCE,
    add_distance,
    check_suite,
    choose_metrics,
    columns_of_source,
    describe_failure,
)
from vlgauge.api.scored import SelectedRows, score_columns
from vlgauge.api.scores import Scores
from vlgauge.api.tables import OTHER_SOURCES, TABLES, GivenTable, check_free_titles, check_rows_file, read_given_rows
from vlgauge.core.catalog import metric_folder
from vlgauge.core.columns import COLUMNS
from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.files import first_repeated
from vlgauge.core.results import row_keys
from vlgauge.core.validation import check_int, short_repr, warn, with_argument_hints
from vlgauge.families.base import Metric
from vlgauge.inputs.limits import RowLimits
from vlgauge.inputs.tables.caption_files import join_references, references_by_id, rows_of_object
from vlgauge.inputs.tables.files import Rows, make_paths_absolute, read_rows, rows_called, take_columns
from vlgauge.leaderboard.joined_runs import labels_in_order
from vlgauge.leaderboard.runs import RowGroups

Titles = str | Sequence[str] | None


ROWS = f"`rows` is {TABLES}"
METRICS = '`metrics` are names such as "cider,rouge_l"; see `vlgauge list`'
_SYSTEMS = ("system", "baseline", "family", "level", "resamples")
_OF_SYSTEMS = "it is an argument of vlgauge.compare, which compares systems"


@with_argument_hints("vlgauge.score", {"rows": ROWS, "metrics": METRICS} | dict.fromkeys(_SYSTEMS, _OF_SYSTEMS))
def score(
    rows: Any,
    metrics: str | Metric | Sequence[str | Metric],
    *,
    predictions: Titles = None,
    references: Titles = None,
    images: Titles = None,
    videos: Titles = None,
    styles: Titles = None,
    id: str | None = None,
    groups: str | Mapping[str, object] | None = None,
    config: str | None = None,
    profile: str | None = None,
    skip: int = 0,
    limit: int | None = None,
    split: str | None = None,
    revision: str | None = None,
    captions_per_row: int | None = None,
    seed: int = 0,
    annotations: Any = None,
    without: str | Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    details: bool = False,
    progress: bool | None = None,
) -> Scores:
    """Score the rows of a table with one metric, several metrics or a suite.

    `Metric.compute` and `vlgauge score` return bitwise identical values.

    Args:
        rows: A pandas frame, a polars frame, an Arrow table or another object with the Arrow C interface, a
            `datasets.Dataset`, a list of dicts, or anything that `vlgauge score` accepts as FILE: the path of a table,
            a folder, or ``"hub:OWNER/NAME"``.
        metrics: Names separated by commas, such as ``"cider,clip_s"``, loaded metrics with their settings, a list of
            both, or the name of a suite: ``"coco"``, ``"stories"`` or ``"sets"``.
        predictions: Name of the column with the predictions. None for "predictions".
        references: Name of the column with the references. None for "references". Several columns, as a list or
            separated by commas, are joined row by row.
        images: Name of the column with the images. None for "images".
        videos: Name of the column with the videos. None for "videos".
        styles: Name of the column with the styles. None for "styles".
        id: Name of the column or index with the row IDs. None for "id" if it exists, otherwise the index of a pandas
            frame, or the row numbers.
        groups: Name of a column, or labels by row ID. Intervals resample rows with equal labels, such as captions of
            one image, together. Without groups, rows count as independent, and intervals of rows that share an image
            are too narrow.
        config: Configuration, for metrics that have several.
        profile: Profile of the metrics that are passed by name.
        skip: Number of rows to skip.
        limit: Maximum number of rows. None for all.
        split: Split of a Hub dataset.
        revision: Commit, branch or tag of a Hub dataset.
        captions_per_row: Number of captions to score per row, for metrics of caption sets. None for all.
        seed: Seed of the sampling of these captions.
        annotations: Captions by image, joined to the rows by their column `id` or `image_id`: the path of COCO
            annotations or of a table, or a dictionary in the format of pycocoevalcap.
        without: Metrics of a suite to leave out.
        settings: Settings of metrics of a suite, such as ``{"meteor": {"paraphrases": None}}``. Pass settings of other
            metrics to `vlgauge.load`.
        details: Whether to compute explanations of the scores together with the scores. Otherwise, `Scores.explain` and
            `Scores.report` score the rows again when they are called.
        progress: Whether to show progress bars. None for long computations in a terminal or a notebook.

    Returns:
        The scores.

    Raises:
        ValueError: If a column is missing or occurs twice, a metric cannot score a row, or a metric is unknown or
            occurs twice.
        TypeError: If `rows` is not a table.
    """
    titles = join_titles(predictions, references, images, videos, styles)
    check_int("skip", skip, 0)
    if limit is not None:
        check_int("limit", limit, 1)
    suite, left_out = check_suite(metrics, without, settings)

    def load(there: Iterable[str]) -> list[Metric]:
        if suite is None:
            return prepare_metrics(metrics, config=config, profile=profile, progress=progress)
        own = choose_metrics(suite, {*there, *(name for name, title in titles.items() if title)}, left_out, settings)
        own.pop(DISTANCE, None)
        return load_metrics(own, config=config, profile=profile, progress=progress)

    by_title = groups if isinstance(groups, str) else None
    with rows_called("`rows`"):
        if isinstance(rows, (str, PathLike)) and _is_source(fspath(rows)):
            if annotations is not None:
                raise UsageError.about(
                    "annotations", "requires a table of rows, got a folder, an archive or a Hub dataset"
                )
            of_source: dict[str, Any] = {"split": split, "revision": revision, "skip": skip, "limit": limit}
            own_titles = titles | {"id": id, "groups": by_title}
            given, selected, loaded = _of_source(fspath(rows), load, own_titles, progress=progress, **of_source)
        else:
            for name, value in {"split": split, "revision": revision}.items():
                if value is not None:
                    raise UsageError.about(name, "requires a dataset of the Hub as `rows`")
            check_rows_file(rows)
            if suite is None:
                loaded = load(())  # report unknown names before the rows are read
            wanted = [*(titles[name] or name for name in COLUMNS), id or "id", "image_id", *filter(None, [by_title])]
            given = read_given_rows(rows, wanted, skip=skip, limit=limit, others=OTHER_SOURCES)
            if annotations is not None:
                captions = references_by_id(read_annotations(annotations), "`annotations`")
                given = replace(given, rows=join_references(given.rows, captions, "`annotations`"))
            if suite is not None:
                loaded = load(given.rows[0])
            selected = _read_given(given, loaded, titles, id, by_title)
        if isinstance(groups, Mapping):
            labels = labels_in_order(groups, row_keys(selected.ids))
            selected = replace(selected, groups=RowGroups("groups", labels))
        check_free_titles(given.titles, [metric.name for metric in loaded])
        how: dict[str, Any] = {"details": details, "captions_per_row": captions_per_row, "seed": seed}
        how["describe_failure"] = None if suite is None else describe_failure
        scored = score_columns(loaded, selected, **how)
        human = titles["references"] or "references"
        if suite is not None and DISTANCE in suite.metrics and DISTANCE not in left_out and human in given.rows[0]:
            scored = add_distance(scored, loaded, take_columns(given.rows, human))
    return Scores(scored, loaded, given.frame, suite)


def join_titles(*titles: Titles) -> dict[str, str | None]:
    """Return column titles by column name. Several titles are joined with commas, as on the command line.

    Returns:
        Title by column name. None for a column that was not named.

    Raises:
        TypeError: If a title is not a string.
    """
    for name, one in zip(COLUMNS, titles, strict=True):
        every = [one] if one is None or isinstance(one, str) or not isinstance(one, Iterable) else [*one]
        if strange := [each for each in every if not isinstance(each, str) and one is not None]:
            raise UsageTypeError.about(
                name,
                f"must be a column name or a list of column names, got {short_repr(strange[0])}",
                "rename the columns to strings",
            )
    named = zip(COLUMNS, titles, strict=True)
    return {name: one if one is None or isinstance(one, str) else ",".join(one) for name, one in named}


def get_ids(given: GivenTable, id: str | None) -> list[Any]:
    """Return the IDs of the rows, from a column or otherwise from the IDs of the table.

    Raises:
        MissingColumnError: If a row lacks the named column.
    """
    is_named = id is not None or given.ids is None or "id" in given.titles
    return row_ids(given.rows, id) if is_named else list(given.ids or [])


def _read_given(
    given: GivenTable, metrics: Sequence[Metric], titles: Mapping[str, str | None], id: str | None, groups: str | None
) -> SelectedRows:
    ids = get_ids(given, id)
    columns = read_columns(given.rows, metrics, titles)
    if given.file is not None:
        columns = make_paths_absolute(columns, given.file)
    return SelectedRows(ids, columns, given.rows, groups=row_groups(given.rows, ids, groups))


def split_metrics(metrics: str | Metric | Sequence[str | Metric]) -> list[str | Metric]:
    """Return names, which may be separated by commas, and loaded metrics as a list."""
    every = [metrics] if isinstance(metrics, (str, Metric)) else list(metrics)
    parts = [name for one in every for name in (one.split(",") if isinstance(one, str) else [one])]
    return [one.strip() if isinstance(one, str) else one for one in parts if not isinstance(one, str) or one.strip()]


def prepare_metrics(
    metrics: str | Metric | Sequence[str | Metric],
    *,
    config: str | None = None,
    profile: str | None = None,
    progress: bool | None = None,
) -> list[Metric]:
    """Return the metrics, and load metrics that are passed by name.

    Raises:
        ValueError: If no metric is passed, a metric is unknown or occurs twice, or a setting applies to none of them.
    """
    given = split_metrics(metrics)
    if not given:
        raise UsageError.about("metrics", f"must name at least one metric, got {metrics!r}")
    if strange := [one for one in given if not isinstance(one, (str, Metric))]:
        raise UsageTypeError.about(
            "metrics", f"must be names or metrics that `vlgauge.load` returned, got {type(strange[0]).__name__}"
        )
    names = [one if isinstance(one, str) else one.name for one in given]
    if twice := first_repeated(names):
        raise UsageError.about("metrics", f"must name each metric once, got {twice!r} more than once")
    by_name: dict[str, dict[str, Any]] = {one: {} for one in given if isinstance(one, str)}
    for name in by_name:
        metric_folder(name, "metrics")
    for name, value in {"profile": profile, "config": config}.items():
        if value is not None and not by_name:
            raise UsageError.about(name, f"cannot be combined with loaded metrics, which have their own, got {value!r}")
    loaded = load_metrics(by_name, config=config, profile=profile, progress=progress) if by_name else []
    known = {metric.name: metric for metric in loaded}
    return [known[one] if isinstance(one, str) else one for one in given]


def _is_source(file: str) -> bool:
    is_tar = file.lower().endswith(".tar") and Path(file).exists()
    return file.startswith("hub:") or is_tar or Path(file).is_dir()


def read_annotations(annotations: Any) -> Rows:
    """Return the rows of annotations that are passed as a path or a dictionary.

    Raises:
        ValueError: If the annotations are neither an existing file nor in the format of COCO or a dictionary of
            captions.
        TypeError: If they are neither a path nor a dictionary.
    """
    if not isinstance(annotations, (str, PathLike, Mapping)):
        got = type(annotations).__name__
        raise UsageTypeError.about("annotations", f"must be the path of a file or a dictionary, got {got}")
    if not isinstance(annotations, Mapping):
        check_rows_file(annotations, "annotations")
        return read_rows(fspath(annotations))
    rows = rows_of_object(annotations)
    if rows is None:
        raise UsageError.about(
            "annotations", "must be COCO annotations or a dictionary of lists of captions, got another dictionary"
        )
    return rows


def _of_source(
    file: str,
    load: Callable[[Iterable[str]], list[Metric]],
    titles: Mapping[str, str | None],
    *,
    split: str | None,
    revision: str | None,
    progress: bool | None,
    **how: Any,
) -> tuple[GivenTable, SelectedRows, list[Metric]]:
    from vlgauge.api import sources  # only needed for datasets, archives and folders

    how["limits"] = RowLimits()
    source = sources.source_of(file, revision=revision, split=split, **how)
    metrics = load(columns_of_source(source))
    reader = sources.rows_of(source, metrics, titles, progress=progress, **how)

    def frame() -> Any:
        import pandas as pd

        return pd.DataFrame({"id": reader.ids} | {k: v for k, v in reader.columns.items() if v is not None})

    if reader.left_out:
        warn(f"{sources.describe_skipped(reader)}; {'; '.join(sources.reasons(reader.left_out))}")
    own = ["id", *(name for name, cells in reader.columns.items() if cells is not None)]
    return GivenTable([{}], own, frame), sources.select_rows(reader), metrics
