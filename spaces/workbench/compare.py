"""Tab that compares two or more systems by one or more metrics."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr

from vlgauge.api.row_sources import KINDS, RowReader, guess_titles
from vlgauge.api.row_sources.guessing import NAMES
from vlgauge.api.row_sources.source import Kind, kinds_of_rows
from vlgauge.api.row_sources.tables import uploaded_rows
from vlgauge.core.catalog import metric_names, metric_title
from vlgauge.core.errors import UsageError
from vlgauge.core.results import SIDECAR
from vlgauge.core.validation import check_choice
from vlgauge.families.base import Metric
from vlgauge.inputs.tables.files import TABLE_ENDINGS, Rows, read_rows, take_column
from vlgauge.leaderboard import read_run
from vlgauge.leaderboard.runs import scores_in
from vlgauge_workbench import bundled_systems as systems
from vlgauge_workbench.compare_snippets import Asked
from vlgauge_workbench.compared_systems import Compared, SystemRows, compare_systems
from vlgauge_workbench.errors import in_one_sentence
from vlgauge_workbench.hosting import Hosting
from vlgauge_workbench.inputs import is_needed
from vlgauge_workbench.pages import page_of_compared
from vlgauge_workbench.picker import file_field, html, read_event
from vlgauge_workbench.profiles import PROFILES, needs_no_model
from vlgauge_workbench.scoring import first_config, metric_of
from vlgauge_workbench.selection import MODEL, NONE, QUICK
from vlgauge_workbench.stopping import stoppable

MOST_SYSTEMS = MOST_METRICS = 8
# If rows are limited: limit of the scores to compute, over all systems and metrics, as a multiple of the rows of a run.
MOST_RUNS = 8
MOST_SCORES = 40_000  # scores in total, over all systems and metrics
# Columns shared by all systems, on which they are joined.
_FIRST = "predictions"
_LOOKED_AT = 20  # rows used to determine the type of a column
_SHARED = ("references", "styles", "images", "videos", "id")
_KEPT_SECONDS = 3600.0


@dataclass(frozen=True)
class Shown:
    """Comparison on the page, of which other parts can be shown."""

    compared: Compared
    asked: Asked


@dataclass(frozen=True)
class Tab:
    """Components of the tab that other modules use."""

    addressed: list[Any]
    on_open: dict[str, Any]


def add_tab(hosting: Hosting) -> Tab:
    """Add the components and events of the tab."""
    titles = [(metric_title(name), name) for name in metric_names()]
    with gr.Column(elem_id="versus"):
        with gr.Row(equal_height=False):
            bundled = gr.CheckboxGroup(
                list(systems.NAMES),
                value=list(systems.FIRST),
                label="Example systems (five captions for each of ten scenes)",
                min_width=300,
                elem_id="bundled-systems",
            )
            metrics = gr.Dropdown(titles, value=list(systems.METRICS), multiselect=True, label="Metrics", min_width=280)
            models = gr.Radio(
                [(words.partition(":")[0], one) for words, one in PROFILES.items()],
                value="embedded",
                label="Models",
                min_width=180,
            )
        with gr.Accordion("Compare your own systems: one file per system, or one column per system", open=False):
            with gr.Row():
                endings = ", ".join(one[1:] for one in TABLE_ENDINGS)
                files = file_field(f"Predictions, or saved scores ({endings})", TABLE_ENDINGS, several=True)
                label = "Images and videos referenced by the files, or a zip or tar archive of them"
                images = file_field(label, several=True)
            with gr.Row():
                predictions = _column("predictions", [], [])
                shared = [_column(name, [], NONE) for name in _SHARED]
            button = gr.Button("Compare", variant="primary", elem_id="compare-systems")
    page = html("", "set", elem_id="compared", label="Comparison")
    # Index of the pair of systems, and the metric whose rows are shown.
    part, result = gr.State((0, "")), gr.State(None, time_to_live=_KEPT_SECONDS)

    @in_one_sentence
    def bundled_shown(names: Sequence[str], wanted: Sequence[str], profile: str, own_part: Any) -> list[Any]:
        return _with_page(_compare_bundled(names, wanted, profile), own_part)

    @in_one_sentence
    def own_shown(wanted: Sequence[str], profile: str, *given: Any) -> list[Any]:
        return _with_page(compare_uploaded(wanted, profile, *given, most_rows=hosting.most_rows), (0, ""))

    def opened(before: Shown | None, *words: Any) -> list[Any]:
        return [gr.skip(), gr.skip(), gr.skip()] if before is not None else bundled_shown(*words)

    outputs = [page, result, part]
    chosen = [bundled, metrics, models, part]
    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "minimal", "show_progress_on": page}
    options |= MODEL
    outside = [metrics, models, files, images, predictions, *shared]
    columns = [metrics, predictions, *shared]
    files.change(guess_columns, [files, metrics], columns, api_visibility="private")
    answers = [button.click(stoppable(own_shown), outside, outputs, **options)]
    # Bundled systems are compared immediately.
    latest = {"outputs": outputs, "trigger_mode": "always_last"} | options
    answers.append(bundled.input(stoppable(bundled_shown), chosen, **latest))
    answers += [one.input(stoppable(_unless(bundled_shown)), [files, *chosen], **latest) for one in (metrics, models)]
    for answer in answers:
        # Clear the page, because an old result next to an error would be taken for the new result.
        answer.failure(_empty, None, outputs, **QUICK)
    page.set(_part_chosen, [result, part], [page, part], **QUICK)
    on_open = {"fn": stoppable(opened), "inputs": [result, *chosen], "outputs": outputs} | options | MODEL
    return Tab([bundled, metrics, models, part], on_open)


def open_address(asked: Mapping[str, str]) -> list[Any]:
    """Return updates for the bundled systems in the query of the URL, or skip if the query names another tab.

    Returns:
        Systems, metrics, profile, and the pair and rows to show.
    """
    if asked.get("view") != "compare":
        return [gr.skip()] * 4
    names = [one for one in asked.get("systems", "").split(",") if one in systems.NAMES]
    metrics = [one for one in asked.get("metrics", "").split(",") if one in metric_names()]
    profile = asked["profile"] if asked.get("profile") in PROFILES.values() else "embedded"
    pair = int(asked["pair"]) if asked.get("pair", "").isdecimal() and len(asked["pair"]) < 4 else 0
    part = (pair, asked.get("rows", ""))
    return [names or list(systems.FIRST), metrics or list(systems.METRICS), profile, part]


def warm_up() -> None:
    """Compute the first comparison of the tab, so that it is cached."""
    _compare_bundled(systems.FIRST, systems.METRICS, "embedded")


def _empty() -> list[Any]:
    return ["", None, (0, "")]


def _unless(function: Any) -> Any:
    """Wrap a function so that it is skipped if files were uploaded, which the button compares."""

    def shown(files: Sequence[str] | None, *words: Any) -> Any:
        return [gr.skip(), gr.skip(), gr.skip()] if files else function(*words)

    return shown


def _compare_bundled(names: Sequence[str], wanted: Sequence[str], profile: str) -> Shown:
    chosen = tuple(one for one in systems.NAMES if one in names)
    if len(chosen) < 2:
        raise UsageError.about("Systems", f"must be at least two, got {len(chosen)}; select another one")
    _check(wanted, profile)
    if unfit := [name for name in wanted if not _fits_bundled(name)]:
        raise UsageError.about(
            "Metrics",
            f"must require only caption sets or stories for these systems, but {metric_title(unfit[0])} has other "
            "inputs",
            "remove it, or upload your own systems",
        )
    metrics = tuple(wanted)
    if metrics == systems.METRICS and chosen == systems.FIRST:
        metrics = systems.first_metrics(profile)
    found = systems.compare_bundled(chosen, metrics, profile)
    if lacking := [metric_title(name) for name in wanted if name not in metrics]:
        note = f"{' and '.join(lacking)} are not available here: packages or models are missing"
        found = replace(found, notes=[*found.notes, note])
    read = {column.name for name in metrics for column in metric_of(name).columns}
    titles = {
        name: title for name, title in (("references", systems.REFERENCES), ("id", "id")) if name in {*read, "id"}
    }
    files = dict.fromkeys(chosen, str(systems.TABLE))
    return Shown(found, Asked(metrics, profile, files=files, predictions=chosen, titles=titles, is_bundled=True))


def _check(wanted: Sequence[str], profile: str) -> None:
    check_choice("profile", profile, tuple(PROFILES.values()))
    if not 1 <= len(wanted) <= MOST_METRICS:
        raise UsageError.about("Metrics", f"must be 1 to {MOST_METRICS} here, got {len(wanted)}")


def _fits_bundled(name: str) -> bool:
    """Return whether a metric requires only caption sets and references, or can use a caption set as a story."""
    needed = [column for column in metric_of(name).columns if is_needed(column)]
    there = {"predictions", "references"}
    return all(column.name in there and "texts" in KINDS[type(column)] for column in needed)


def _with_page(result: Shown, part: Any) -> list[Any]:
    part = _within(result, part)
    return [page_of_compared(result.compared, result.asked, *part), result, part]


def _within(result: Shown, part: Any) -> tuple[int, str]:
    """Return the requested pair and metric, or defaults if they do not exist."""
    metrics = [one.metric for one in result.compared.comparison.metrics]
    pair, rows_by = part if isinstance(part, (list, tuple)) and len(part) == 2 else (0, "")
    is_number = isinstance(pair, int) and 0 <= pair < len(result.compared.pairs)
    return pair if is_number else 0, rows_by if rows_by in metrics else metrics[0]


def _part_chosen(result: Shown | None, part: Any, event: gr.EventData) -> list[Any]:
    """Show another pair of the same systems, or rows by another metric."""
    if result is None:
        return [gr.skip(), gr.skip()]
    pair, rows_by = read_event(event, "pair"), read_event(event, "rows")
    number = int(pair) if isinstance(pair, str) and pair.isdecimal() and len(pair) < 4 else part[0]
    page, _, part = _with_page(result, (number, rows_by if isinstance(rows_by, str) else part[1]))
    return [page, part]


# -- Systems of a user -------------------------------------------------------------------------------------------------
def _column(name: str, titles: Sequence[str], value: Any, *, visible: bool = False) -> Any:
    several = name == _FIRST
    label = "Columns: predictions" if several else f"Column: {name}"
    choices = list(titles) if several else [NONE, *titles]
    return gr.Dropdown(choices, value=value, label=label, multiselect=several, visible=visible, min_width=160)


@dataclass(frozen=True)
class _Guess:
    """Guessed content of files.

    Attributes:
        kinds: Kind of each table column, by column name.
        kept: Metrics whose scores are in all score files. None if there are no score files.
        predictions: Likely names of the prediction columns.
    """

    kinds: Mapping[str, Kind]
    kept: set[str] | None
    predictions: Sequence[str]

    def titles(self, name: str) -> dict[str, str]:
        """Return the likely column names of the shared columns of a metric."""
        free = {title: kind for title, kind in self.kinds.items() if title not in self.predictions}
        columns = [column for column in metric_of(name).columns if column.name != "predictions"]
        return {key: own[0] for key, own in guess_titles(columns, free).items() if own}

    def can_score(self, name: str) -> bool:
        """Return whether a metric can score the tables and is in all score files."""
        if self.kept is not None and name not in self.kept:
            return False
        if not self.kinds:
            return True
        needed = [column for column in metric_of(name).columns if is_needed(column)]
        own = {"predictions", *self.titles(name)}
        said = next((column for column in needed if column.name == "predictions"), None)
        fits = said is None or all(self.kinds[title] in KINDS[type(said)] for title in self.predictions)
        return bool(self.predictions) and fits and all(column.name in own for column in needed)


@in_one_sentence
def guess_columns(files: Sequence[str] | None, wanted: Sequence[str]) -> list[Any]:
    """Return updates with the metrics that can score the files, and their column names with likely ones selected.

    Returns:
        Updates of the list of metrics, of the columns of predictions, and of the shared columns.
    """
    if not files:
        return [gr.skip(), *(_column(name, [], [] if name == "predictions" else NONE) for name in (_FIRST, *_SHARED))]
    try:
        contents = list(_contents(files).values())
    except (UsageError, OSError):
        contents = []  # `Compare` reports the reason
    found = _guess_of(contents)
    metrics = [name for name in wanted if found.can_score(name)]
    if not metrics and contents:
        others = sorted(metric_names(), key=lambda name: not needs_no_model(name))
        metrics = [name for name in others if found.can_score(name)][:1]
    titles = {key: title for name in reversed(metrics) for key, title in found.titles(name).items()}
    read = {column.name for name in metrics for column in metric_of(name).columns} | {"id"}
    every, is_table = list(found.kinds), bool(found.kinds)
    columns = [_column(_FIRST, every, list(found.predictions), visible=is_table)]
    columns += [_column(name, every, titles.get(name, NONE), visible=is_table and name in read) for name in _SHARED]
    return [gr.update(value=metrics), *columns]


def _guess_of(contents: Sequence[Rows | Mapping[str, Any]]) -> _Guess:
    tables = [content for content in contents if isinstance(content, list)]
    kinds = kinds_of_rows(row for rows in tables for row in rows[:_LOOKED_AT])
    runs = [content for content in contents if not isinstance(content, list)]
    own = list(dict.fromkeys(title for rows in tables for title in _predictions(rows, kinds, alone=len(contents) == 1)))
    return _Guess(kinds, set.intersection(*map(set, map(_metrics_in, runs))) if runs else None, own)


def _predictions(rows: Rows, kinds: Mapping[str, Kind], *, alone: bool) -> list[str]:
    """Return likely names of prediction columns in a table: one name, or several if the table is the only file."""
    others = {title.lower() for name in _SHARED for title in NAMES[name]} - {"captions"}
    texts = [title for title in rows[0] if kinds.get(title) in ("text", "texts") and title.lower() not in others]
    likely = [title for name in NAMES[_FIRST] for title in texts if title.lower() == name]
    if not alone:
        return (likely or texts)[:1]
    if len(likely) > 1:
        return likely[:2]
    first = (likely or texts)[:1]
    return [title for title in texts if first and kinds[title] == kinds[first[0]]]


def _contents(files: Sequence[str]) -> dict[str, Rows | dict[str, Any]]:
    """Return the table rows or the stored scores of each file, by file name."""
    names: dict[str, str] = {}
    for path in files:
        if Path(path).name in names:
            raise UsageError.about(
                "Files", f"must have distinct names, got two called {Path(path).name!r}", "rename one"
            )
        names[Path(path).name] = path
    sidecars = {f"{name}{SIDECAR}" for name in names}
    found: dict[str, Rows | dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="vlgauge-systems-") as folder:
        # Gradio puts each upload in a separate folder. A table of scores must be next to the JSON file that belongs to
        # it.
        for name, path in names.items():
            shutil.copyfile(path, Path(folder, name))
        for name in names:
            if name not in sidecars:
                path = str(Path(folder, name))
                run = read_run(path, [])
                found[name] = read_rows(path) if run is None else run
    return found


def compare_uploaded(
    wanted: Sequence[str],
    profile: str,
    files: Sequence[str] | None,
    images: Sequence[str] | None,
    predictions: Sequence[str],
    *titles: str,
    most_rows: int | None = None,
) -> Shown:
    """Compare uploaded systems.

    Raises:
        UsageError: If there are no files, or they cannot be compared.
    """
    if not files:
        raise UsageError.about(
            "Files", "must be your systems, got none; upload one file per system, or one file with all"
        )
    _check(wanted, profile)
    shared = {name: title for name, title in zip(_SHARED, titles, strict=True) if title and title != NONE}
    contents = _contents(files)
    _check_kept(contents, wanted)
    configs = {name: _config_for(name, shared) for name in wanted}
    metrics = [metric_of(name, profile, config) for name, config in configs.items()]
    given, places = _read_systems(metrics, contents, predictions, shared, images or ())
    if not 2 <= len(given) <= MOST_SYSTEMS:
        raise UsageError.about(
            "Files",
            f"must contain 2 to {MOST_SYSTEMS} systems here, got {len(given)}",
            "add or remove files or columns of predictions",
        )
    if most_rows is not None:
        _check_limits(given, len(wanted), most_rows)
    found = compare_systems(metrics, given)
    return Shown(found, _create_request(found, wanted, profile, configs, given, places, shared))


def _create_request(
    found: Compared,
    wanted: Sequence[str],
    profile: str,
    configs: Mapping[str, str],
    given: Mapping[str, SystemRows],
    places: Mapping[str, tuple[str, str]],
    shared: Mapping[str, str],
) -> Asked:
    """Return the comparison as arguments of a call."""
    read = {column.name for name in wanted for column in metric_of(name, config=configs[name]).columns} | {"id"}
    is_scored = any(isinstance(one, RowReader) for one in given.values())
    asked = Asked(
        wanted,
        profile,
        config=next(filter(None, configs.values()), ""),
        files={name: file for name, (file, _) in places.items()},
        predictions=[title for _, title in places.values() if title],
        titles={name: title for name, title in shared.items() if name in read},
        is_scored=is_scored,
    )
    if found.left_out:
        return asked.without("Rows were skipped, which a call does not support: remove them from the files first")
    if len(set(filter(None, configs.values()))) > 1:
        return asked.without("One call cannot use metrics with different configurations")
    names = [Path(file).stem for file, _ in places.values()]
    if not asked.is_wide and names != list(places):
        return asked.without("One call cannot use a file of several systems together with other files")
    return asked


def _config_for(name: str, shared: Mapping[str, str]) -> str:
    """Return the first configuration whose required columns all exist, or the default one if there is none."""
    first = first_config(name)
    for config in (first, *metric_of(name, config=first).configs):
        columns = metric_of(name, config=config).columns if config else ()
        if columns and all(column.name in ("predictions", *shared) for column in columns if is_needed(column)):
            return config
    return first


def _check_kept(contents: Mapping[str, Any], wanted: Sequence[str]) -> None:
    """Check that the score files contain all requested metrics."""
    for file, content in contents.items():
        there = wanted if isinstance(content, list) else _metrics_in(content)
        if lacking := [name for name in wanted if name not in there]:
            raise UsageError.about(
                "Files",
                f"must have scores of {lacking[0]}, {file} has those of {', '.join(there) or 'none'}",
                "choose other metrics",
            )


def _metrics_in(run: Mapping[str, Any]) -> list[str]:
    """Return the metrics whose scores a file has."""
    return [name for name in scores_in(run) if f"{name}_scores" in run]


def _check_limits(given: Mapping[str, SystemRows], n_metrics: int, most_rows: int) -> None:
    """Check the number of rows and scores on a public page."""
    to_score = [one.source.n_rows or 0 for one in given.values() if isinstance(one, RowReader)]
    n_stored = sum(len(one["ids"]) for one in given.values() if not isinstance(one, RowReader))
    n_scores, n_in_total = n_metrics * sum(to_score), n_metrics * (sum(to_score) + n_stored)
    elsewhere = "score them on your own machine"
    for number, most, what, remedy in (
        (max(to_score, default=0), most_rows, "rows to score", elsewhere),
        (n_scores, MOST_RUNS * most_rows, "scores to compute over all systems", f"use fewer metrics, or {elsewhere}"),
        (n_in_total, MOST_SCORES, "scores", "compare them on your own machine"),
    ):
        if number > most:
            raise UsageError.about("Files", f"must have at most {most:,} {what} here, got {number:,}", remedy)


def _read_systems(
    metrics: Sequence[Metric],
    contents: Mapping[str, Rows | dict[str, Any]],
    predictions: Sequence[str],
    shared: Mapping[str, str],
    uploads: Sequence[str],
) -> tuple[dict[str, SystemRows], dict[str, tuple[str, str]]]:
    found: dict[str, SystemRows] = {}
    places: dict[str, tuple[str, str]] = {}
    stems = [Path(name).stem for name in contents]
    columns = [column for metric in metrics for column in metric.columns]
    read = {column.name for column in columns} | {"id"}
    for file, content in contents.items():
        stem = Path(file).stem if len(set(stems)) == len(stems) else file
        if not isinstance(content, list):
            found[stem], places[stem] = content, (file, "")
            continue
        own = [title for title in predictions if title in content[0]]
        if not own:
            raise UsageError.about("Columns: predictions", f"must be a column of {file}", "select one")
        if "id" in shared:
            take_column(content, shared["id"])  # every row must have one
        titles = {name: [title] for name, title in shared.items() if name in read}
        source = uploaded_rows(content, file, uploads)
        for title in own:
            name = stem if len(own) == 1 else title if len(contents) == 1 else f"{stem}, {title}"
            found[name] = RowReader(source, columns, {**titles, _FIRST: [title]})
            places[name] = (file, title)
    return found, places
