"""The tab that compares two runs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from vlgauge.base import Metric
from vlgauge.leaderboard import read_run
from vlgauge.media.tables import Rows, read_rows, take_column
from vlgauge.results import SIDECAR
from vlgauge.workbench.chosen import MODEL, Chosen
from vlgauge.workbench.errors import USER_ERRORS, in_one_sentence
from vlgauge.workbench.hosting import Hosting
from vlgauge.workbench.inputs import uploads_by_name
from vlgauge.workbench.pages import page_of_two
from vlgauge.workbench.scoring import config_of, metric_of
from vlgauge.workbench.stopping import stoppable
from vlgauge.workbench.table import NONE, columns_of, guess
from vlgauge.workbench.two_runs import Given, compare_two

_TYPES = [".csv", ".tsv", ".json", ".jsonl", ".parquet"]
MOST_SCORES = 20_000  # that were kept, where rows are bounded
# What both runs have in common, and where they are joined.
_SHARED = ("references", "styles", "images", "videos", "id")


def add_tab(chosen: Chosen, hosting: Hosting) -> list[Any]:
    """Add what the tab shows and does.

    Args:
        chosen: What a visitor chose for all tabs.
        hosting: How much visitors may ask for.

    Returns:
        What changes with the metric, in the order of `updates`.
    """
    gr.Markdown(
        "Two files of predictions, two columns of one file, or two files of scores that were kept: CSV, TSV, JSON, "
        "JSON lines or Parquet. Rows are joined by id. The JSON beside a table of scores goes with it."
    )
    with gr.Row():
        files = [
            gr.File(label=label, file_count="multiple", file_types=_TYPES, height=140, elem_classes="vlgauge-files")
            for label in ("Run A", "Run B; none for another column of A")
        ]
        pictures = gr.File(
            label="Pictures and clips that they name", file_count="multiple", height=140, elem_classes="vlgauge-files"
        )
    with gr.Row():
        labels = ("A: predictions", "B: predictions", *(f"Column: {name}" for name in _SHARED))
        choices = [gr.Dropdown([NONE], value=NONE, label=label, min_width=160, visible=False) for label in labels]
    button = gr.Button("Compare", variant="primary")
    shown = gr.HTML(label="Comparison")
    for event in (*(one.change for one in files), chosen.form.change):
        event(guessed, [chosen.metric, chosen.config, *files], choices, api_visibility="private")
    inputs = [*chosen.inputs, *files, pictures, *choices]

    @in_one_sentence
    def bounded(*words: Any) -> str:
        return compared(*words, most_rows=hosting.most_rows)

    # An old result beside another profile or a refusal would be read as the answer to it.
    answered = button.click(stoppable(bounded), inputs, shown, api_visibility="private", **MODEL)
    for event in (answered.failure, chosen.profile.input):
        event(lambda: "", None, shown, show_progress="hidden", api_visibility="private")
    return [shown]


def updates() -> list[Any]:
    """What the tab becomes for another metric."""
    return [""]


@in_one_sentence
def guessed(metric: str, config: str | None, first: Sequence[str] | None, second: Sequence[str] | None) -> list[Any]:
    """The titles of the files as choices, the likeliest chosen; none of a file of scores."""
    wanted = {column.name for column in metric_of(metric, config=config_of(metric, config)).columns} | {"id"}
    titles, others = _titles(metric, first), _titles(metric, second)
    own = guess("predictions", titles)
    others = others if second else titles
    other = guess("predictions", others if second else [title for title in titles if title != own])
    found = [_choice(titles, own, bool(titles)), _choice(others, other, bool(others))]
    shared = list(dict.fromkeys([*titles, *others]))
    return found + [_choice(shared, guess(name, shared), name in wanted and bool(shared)) for name in _SHARED]


def _choice(titles: Sequence[str], value: str, visible: bool) -> Any:
    return gr.Dropdown([NONE, *titles], value=value, visible=visible)


def _titles(metric: str, files: Sequence[str] | None) -> list[str]:
    if not files:
        return []
    try:
        content = _content(metric, files)
    except USER_ERRORS:
        return []  # `Compare` says why, once
    return list(content[0]) if isinstance(content, list) else []


def _content(metric: str, files: Sequence[str]) -> Rows | dict[str, Any]:
    """The rows of a table, or the scores in a file that was kept.

    Raises:
        ValueError: If the files are not one, or a table of scores and the JSON beside it.
    """
    names = {Path(path).name: path for path in files}
    beside = {f"{name}{SIDECAR}" for name in names}
    tables = [name for name in names if name not in beside]
    if len(tables) != 1 or len(files) > 2:
        raise ValueError(
            f"`Run` must be one file, or a table of scores and the {SIDECAR} beside it, got {len(files)} files"
        )
    with tempfile.TemporaryDirectory(prefix="vlgauge-run-") as folder:
        # Uploads lie in folders of their own; side by side, one finds the other.
        for name, path in names.items():
            shutil.copyfile(path, Path(folder, name))
        path = str(Path(folder, tables[0]))
        run = read_run(path, [metric])
        return read_rows(path) if run is None else run


def compared(
    metric: str,
    config: str | None,
    profile: str,
    first: Sequence[str] | None,
    second: Sequence[str] | None,
    pictures: Sequence[str] | None,
    own: str,
    other: str,
    *titles: str,
    most_rows: int | None = None,
) -> str:
    """The explained comparison of what was chosen.

    Raises:
        ValueError: If it cannot be compared, or there are more rows to score than one may ask for.
    """
    if not first:
        raise ValueError("`Run A` must be a file of predictions or scores, got none; upload one")
    config = config_of(metric, config)
    loaded = metric_of(metric, config=config)
    uploads = uploads_by_name(pictures or ())
    shared = {name: title for name, title in zip(_SHARED, titles, strict=True) if title and title != NONE}
    content = _content(metric, first)
    runs = [_given(loaded, _name("A", first, own), content, own, shared, uploads)]
    if second:
        content = _content(metric, second)
    elif own == other or isinstance(content, dict):
        raise ValueError("`Run B` must be a file, or another column of predictions of run A, got none")
    runs.append(_given(loaded, _name("B", second or first, other), content, other, shared, uploads))
    scored = max((len(run.ids) for run in runs if run.run is None), default=0)
    if most_rows is not None and scored > most_rows:
        raise ValueError(
            f"`Run` must have at most {most_rows} rows to score here, got {scored:,}; score them on your own machine"
        )
    if most_rows is not None and (most := max(len(run.ids) for run in runs)) > MOST_SCORES:
        raise ValueError(
            f"`Run` must have at most {MOST_SCORES:,} scores here, got {most:,}; compare them on your own machine"
        )
    return page_of_two(compare_two(metric, profile, config, runs[0], runs[1]))


def _name(letter: str, files: Sequence[str], column: str) -> str:
    stem = min((Path(path).name for path in files), key=len)
    return f"{letter}: {Path(stem).stem}" + ("" if column in ("", NONE) or column is None else f", {column}")


def _given(
    metric: Metric,
    name: str,
    content: Rows | dict[str, Any],
    predictions: str,
    shared: Mapping[str, str],
    uploads: Mapping[str, str | None],
) -> Given:
    """A run as it is compared."""
    if isinstance(content, dict):
        return Given(name, content["ids"], run=content)
    ids = take_column(content, shared["id"]) if "id" in shared else list(range(len(content)))
    chosen = {key: title for key, title in shared.items() if key != "id"}
    if predictions and predictions != NONE:
        chosen["predictions"] = predictions
    return Given(name, ids, columns=columns_of(metric, content, chosen, uploads))
