"""The tab that scores one example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from vlgauge.base import Metric
from vlgauge.base.columns import Text
from vlgauge.settings import one_of
from vlgauge.workbench.bundled_scores import bundled_scores, place_of, show_among
from vlgauge.workbench.chosen import MODEL, Chosen
from vlgauge.workbench.errors import in_one_sentence, in_words_of
from vlgauge.workbench.inputs import FILES, cell_of, examples_for, field_of, is_needed, short_label, text_of
from vlgauge.workbench.pages import page_of_one
from vlgauge.workbench.profiles import PROFILES
from vlgauge.workbench.scoring import config_of, metric_of, score_example
from vlgauge.workbench.stopping import stoppable

TEXTS = ("predictions", "references", "styles")
# Columns of all metrics, and what a field is called while its metric does not read it.
COLUMNS = {"predictions": "Text", "references": "References", "styles": "Style", "images": "Pictures", "videos": "Clip"}


def add_tab(chosen: Chosen, loaded: Metric) -> list[Any]:
    """Add what the tab shows and does.

    Args:
        chosen: What a visitor chose for all tabs.
        loaded: The metric that is chosen first.

    Returns:
        What changes with the metric, in the order of `updates`.
    """
    gr.Markdown("Write or upload an example, or take one of ours; the first score of a metric loads its models.")
    with gr.Row(equal_height=False):
        with gr.Column(min_width=280):
            examples = gr.Dataset(label="Examples", components=["textbox"], samples=_labels(loaded), type="index")
            look = _look(loaded)
            predictions, references, styles = (gr.Textbox(**look[name]) for name in TEXTS)
            images = gr.Gallery(
                type="filepath",
                columns=3,
                height=260,
                object_fit="contain",
                interactive=True,
                elem_classes="vlgauge-pictures",
                **look["images"],
            )
            videos = gr.Video(sources=["upload"], height=220, **look["videos"])
            button = gr.Button("Score", variant="primary")
        with gr.Column(min_width=280, scale=2):
            shown = gr.HTML(label="Result")
    fields = [predictions, references, styles, images, videos]
    # An old result beside a new example, profile or refusal would be read as the answer to it.
    chosen.profile.input(_emptied, None, shown, show_progress="hidden", api_visibility="private")
    examples.click(filled, [chosen.metric, chosen.config, examples], [*fields, shown], api_visibility="private")
    answered = button.click(stoppable(scored), [*chosen.inputs, *fields], shown, api_visibility="private", **MODEL)
    answered.failure(_emptied, None, shown, show_progress="hidden", api_visibility="private")
    return [examples, *fields, shown]


def updates(loaded: Metric) -> list[Any]:
    """What the fields of the tab become for a metric."""
    look = _look(loaded)
    texts = [gr.Textbox(**look[name]) for name in TEXTS]
    return [gr.Dataset(samples=_labels(loaded)), *texts, gr.Gallery(**look["images"]), gr.Video(**look["videos"]), ""]


def _labels(loaded: Metric) -> list[list[str]]:
    """What the bundled examples of a metric are called, each as a row."""
    return [[example.title] for example in examples_for(loaded)]


def _look(loaded: Metric) -> dict[str, dict[str, Any]]:
    """How the fields look for a metric, all empty, by name of the column."""
    columns = {column.name: column for column in loaded.columns}
    found: dict[str, dict[str, Any]] = {}
    for name, label in COLUMNS.items():
        column = columns.get(name)
        found[name] = {"value": None if name in FILES else "", "visible": column is not None, "label": label}
        if column is None:
            continue
        field = field_of(column)
        found[name]["label"] = field.label
        if name in TEXTS:
            lines = 1 if name == "styles" and isinstance(column, Text) else field.lines
            found[name] |= {"info": field.info or None, "lines": lines}
    return found


def _emptied() -> str:
    return ""


@in_one_sentence
def filled(metric: str, config: str | None, number: int) -> list[Any]:
    """The fields with a bundled example, and no result."""
    cells = examples_for(metric_of(metric, config=config_of(metric, config)))[number].cells
    texts = [text_of(cells.get(name)) for name in TEXTS]
    images = cells.get("images", [])
    return [*texts, [images] if isinstance(images, str) else images, cells.get("videos"), ""]


@in_one_sentence
def scored(
    metric: str,
    config: str | None,
    profile: str,
    predictions: str,
    references: str,
    styles: str,
    images: Sequence[tuple[str, str | None]] | None,
    videos: str | None,
) -> str:
    """The explained score of what stands in the fields.

    Raises:
        gr.Error: If something is not what the metric reads.
    """
    one_of("profile", profile, tuple(PROFILES.values()))
    given = {"predictions": predictions, "references": references, "styles": styles}
    config = config_of(metric, config)
    columns = metric_of(metric, config=config).columns
    with in_words_of({column.name: short_label(column) for column in columns}):
        cells: dict[str, Any] = {}
        for column in columns:
            if column.name in given:
                cells[column.name] = cell_of(column, given[column.name] or "")
            elif column.name == "images":
                cells["images"] = [path for path, _ in images or ()] or None
            else:
                cells["videos"] = videos
        if missing := [column.name for column in columns if is_needed(column) and cells[column.name] is None]:
            raise ValueError(f"`{'` and `'.join(missing)}` must be given, got nothing")
        found = score_example(metric, profile, config, cells, "example", tested=True)
    examples = bundled_scores(metric, profile, config)
    show_among(found.explanation, examples)
    return page_of_one(found, place_of(found.explanation, examples))
