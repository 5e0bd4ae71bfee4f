"""The tab that scores a file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from vlgauge.base import Metric
from vlgauge.leaderboard.run_files import run_files
from vlgauge.media.tables import PICTURED, Rows, read_rows, take_column
from vlgauge.workbench.chosen import MODEL, Chosen
from vlgauge.workbench.errors import in_one_sentence
from vlgauge.workbench.inputs import located_cell, uploads_by_name
from vlgauge.workbench.pages import page_of_file, report_of
from vlgauge.workbench.scoring import Scored, metric_of, score_rows

# What a column is called in files, the likeliest first; compared without case.
_TITLES = {
    "predictions": ("predictions", "prediction", "story", "caption", "candidate", "generated", "output", "text"),
    "references": ("references", "reference", "refs", "ground_truth", "captions"),
    "styles": ("styles", "style"),
    "images": ("images", "image", "picture", "image_path", "file_name"),
    "videos": ("videos", "video", "clip"),
    "id": ("id", "story_id", "image_id", "row"),
}
NONE = "(none)"


def add_tab(chosen: Chosen) -> list[Any]:
    """Add what the tab shows and does.

    Returns:
        What changes with the metric, in the order of `updates`.
    """
    gr.Markdown("A table with one example a row: CSV, TSV, JSON, JSONL or Parquet. Pictures go beside it.")
    with gr.Row():
        table = gr.File(label="Table", file_types=[".csv", ".tsv", ".json", ".jsonl", ".parquet"], height=140)
        pictures = gr.File(label="Pictures and clips that it names", file_count="multiple", height=140)
    with gr.Row():
        choices = [gr.Dropdown([NONE], value=NONE, label=f"Column: {name}", min_width=160) for name in _TITLES]
    button = gr.Button("Score the file", variant="primary")
    files = gr.File(label="Scores and report", file_count="multiple", interactive=False, visible=False)
    shown = gr.HTML(label="Scores")
    for event in (table.upload, chosen.metric.change, chosen.config.change):
        event(guessed, [chosen.metric, chosen.config, table], choices, api_visibility="private")
    inputs = [*chosen.inputs, table, pictures, *choices]
    button.click(scored, inputs, [shown, files], api_visibility="private", **MODEL)
    return [shown, files]


def updates() -> list[Any]:
    """What the tab becomes for another metric."""
    return ["", gr.File(value=None, visible=False)]


@in_one_sentence
def guessed(metric: str, config: str | None, table: str | None) -> list[Any]:
    """The titles of the table as choices, the likeliest chosen for each column that the metric reads."""
    wanted = {column.name for column in metric_of(metric, config=config or "").columns} | {"id"}
    titles = list(read_rows(table)[0]) if table else []
    return [gr.Dropdown([NONE, *titles], value=guess(name, titles), visible=name in wanted) for name in _TITLES]


def guess(name: str, titles: Sequence[str]) -> str:
    """The likeliest title of a column."""
    lowered = {title.lower(): title for title in reversed(titles)}
    return next((lowered[one] for one in _TITLES[name] if one in lowered), NONE)


@in_one_sentence
def scored(
    metric: str,
    config: str | None,
    profile: str,
    table: str | None,
    pictures: Sequence[str] | None,
    *titles: str,
    progress: gr.Progress = gr.Progress(),  # noqa: B008  # gradio recognizes it by this
) -> tuple[str, Any]:
    """The explained scores of a file, and the files to keep."""
    if not table:
        raise ValueError("`Table` must be a file of examples, got none; upload one")
    progress((0, 3), desc="Reading")
    loaded = metric_of(metric, profile, config or "")
    rows = read_rows(table)
    chosen = {name: title for name, title in zip(_TITLES, titles, strict=True) if title and title != NONE}
    ids = take_column(rows, chosen["id"]) if "id" in chosen else list(range(len(rows)))
    columns = columns_of(loaded, rows, chosen, uploads_by_name(pictures or ()))
    progress((1, 3), desc=f"Scoring {len(rows):,} rows")
    found = score_rows(loaded, columns, ids)
    progress((2, 3), desc="Explaining")
    return page_of_file(found), gr.File(value=written(found), visible=True)


def columns_of(
    metric: Metric, rows: Rows, chosen: Mapping[str, str], uploads: Mapping[str, str | None]
) -> dict[str, list[Any] | None]:
    """The cells of the columns of a metric; a cell that cannot be had is the error that says why.

    Raises:
        ValueError: If a column that the metric needs is not chosen.
    """
    missing = [one.name for one in metric.columns if not one.optional and one.name not in chosen]
    if missing:
        raise ValueError(f"`{'` and `'.join(missing)}` must be columns of the file, none is chosen; choose them above")
    found: dict[str, list[Any] | None] = {}
    for column in metric.columns:
        title = chosen.get(column.name)
        if title is None:
            found[column.name] = None
            continue
        cells = [row.get(title) for row in rows]
        if column.name in PICTURED:
            cells = [_uploaded(cell, uploads, f"{column.name}[{i}]") for i, cell in enumerate(cells)]
        found[column.name] = cells
    return found


def _uploaded(cell: Any, uploads: Mapping[str, str | None], place: str) -> Any:
    try:
        return located_cell(cell, uploads, place)
    except ValueError as error:
        return error


def written(found: Scored) -> list[str]:
    """Files of the scores, as `vlgauge score --output` writes them, and of the report."""
    name = found.explanation.name
    record = {"ids": list(found.ids)} | {key: value for key, value in found.result.items() if key != f"{name}_details"}
    contents: dict[str, str | bytes] = {f"{name}.html": report_of(found.explanation)}
    for ending in (".json", ".csv"):
        contents |= {f"{name}{ending}{added}": text for added, text in run_files(record, ending).items()}
    if found.left_out:
        lines = [json.dumps({"id": one, "left_out": reason}, ensure_ascii=False) for one, reason in found.left_out]
        contents[f"{name}.left_out.jsonl"] = "".join(f"{line}\n" for line in lines)
    folder = Path(tempfile.mkdtemp(prefix="vlgauge-scores-"))
    paths = []
    for title, content in contents.items():
        path = folder / title
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        paths.append(str(path))
    return paths
