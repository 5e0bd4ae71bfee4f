"""Tab that scores a single example."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import gradio as gr

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_choice
from vlgauge.families.base import Metric
from vlgauge.families.base.columns import Text
from vlgauge_workbench import result
from vlgauge_workbench.bundled_scores import list_bundled
from vlgauge_workbench.errors import in_one_sentence, in_words_of
from vlgauge_workbench.inputs import FILES, cell_of, examples_for, field_of, is_needed, short_label, text_of
from vlgauge_workbench.picker import html, read_event
from vlgauge_workbench.profiles import PROFILES, models_in_words
from vlgauge_workbench.scoring import config_of, metric_of, normalize_tokenizer, same_file, score_example
from vlgauge_workbench.selection import MODEL, QUICK, Selection
from vlgauge_workbench.stopping import stoppable
from vlgauge_workbench.uploads import check_uploads

TEXTS = ("predictions", "references", "styles")
# Columns of all metrics, with the label of a field while the current metric does not use it.
COLUMNS = {"predictions": "Text", "references": "References", "styles": "Style", "images": "Images", "videos": "Video"}
# On a phone, the result is below the form.
_TO_RESULT = "() => innerWidth < 768 && document.getElementById('result').scrollIntoView()"


def add_tab(chosen: Selection, loaded: Metric) -> list[Any]:
    """Add the components and events of the tab.

    Returns:
        Components that change with the metric, in the order of `updates`.
    """
    name, config = loaded.name, loaded.config_name if loaded.configs else ""
    number_first = first_example(loaded)
    with gr.Row(equal_height=False, elem_id="work"):
        with gr.Column(min_width=280, elem_id="form"):
            chosen.add_picker()
            deck = html(result.deck(name, "embedded", config, number_first), "chosen", elem_id="deck")
            look = _look(loaded, _fill(name, config, number_first))
            predictions, references, styles = (gr.Textbox(max_lines=6, **look[column]) for column in TEXTS)
            images = gr.Gallery(
                type="filepath",
                columns=5,
                object_fit="cover",
                allow_preview=False,
                interactive=True,
                elem_id="images",
                **look["images"],
            )
            videos = gr.Video(sources=["upload"], height=140, elem_id="clip", **look["videos"])
            button = gr.Button("Score", variant="primary", elem_id="go")
        with gr.Column(min_width=300, scale=2, elem_id="result"):
            page = html(show_first(name, "embedded", config, number_first), "", elem_id="shown", label="Result")
    number = gr.State(number_first)
    fields = [predictions, references, styles, images, videos]
    tab = [deck, *fields, page, number]
    deck.chosen(_example_chosen, [*chosen.inputs, chosen.tokenizer], tab, **QUICK)
    answered = button.click(
        stoppable(score_fields),
        [*chosen.inputs, *fields, number, chosen.tokenizer],
        [page, deck],
        show_progress="minimal",
        show_progress_on=page,
        api_visibility="private",
        **MODEL,
    )
    answered.success(None, js=_TO_RESULT, **QUICK)
    # Clear the page, because an old result next to an error would be taken for the new result.
    answered.failure(lambda: "", None, page, **QUICK)
    return tab


def updates(
    loaded: Metric, profile: str, number: int, texts: dict[str, str] | None = None, tokenizer: str = ""
) -> list[Any]:
    """Return the new values of the components for an example of a metric.

    Returns:
        Bundled examples, the text fields in the order of `TEXTS`, images, video, page, and number of the example.
    """
    name, config = loaded.name, loaded.config_name if loaded.configs else ""
    cells = _fill(name, config, number) | (texts or {})
    look = _look(loaded, cells)
    fields = [gr.Textbox(**look[column]) for column in TEXTS]
    page = "" if texts else show_first(name, profile, config, number, tokenizer)
    deck = result.deck(name, profile, config, None if texts else number, tokenizer)
    return [deck, *fields, gr.Gallery(**look["images"]), gr.Video(**look["videos"]), page, number]


def first_example(loaded: Metric) -> int:
    """Return the index of the first example of a metric.

    It is the nearly correct one, if there is one, because it shows best which errors the metric finds.
    """
    roles = [one.shows for one in examples_for(loaded)]
    return roles.index("subtle") if "subtle" in roles else 0


def _look(loaded: Metric, cells: dict[str, Any]) -> dict[str, dict[str, Any]]:
    columns = {column.name: column for column in loaded.columns}
    found: dict[str, dict[str, Any]] = {}
    for name, label in COLUMNS.items():
        column = columns.get(name)
        empty = None if name in FILES else ""
        found[name] = {"value": cells.get(name, empty), "visible": column is not None, "label": label}
        if column is None:
            found[name]["value"] = empty
            continue
        field = field_of(column)
        found[name]["label"] = field.label
        if name in TEXTS:
            lines = 1 if name == "styles" and isinstance(column, Text) else min(field.lines, 4)
            found[name] |= {"placeholder": field.info or None, "lines": lines}
    return found


def _fill(metric: str, config: str, number: int) -> dict[str, Any]:
    cells = examples_for(metric_of(metric, config=config))[number].cells
    images = cells.get("images", [])
    texts: dict[str, Any] = {name: text_of(cells.get(name)) for name in TEXTS}
    return texts | {"images": [images] if isinstance(images, str) else images, "videos": cells.get("videos")}


def show_first(name: str, profile: str, config: str, number: int, tokenizer: str = "") -> str:
    """Return the page of a bundled example, which is scored once."""
    return _show(name, profile, config, number, models_in_words(name, profile), tokenizer)


@cache
def _show(name: str, profile: str, config: str, number: int, missing: str, tokenizer: str) -> str:
    one = list_bundled(name, profile, config, tokenizer)[number]
    if one.scored is None:
        return result.page_without_score(one.example, missing)
    return result.page_of_one(one.scored, profile, config, one.example.cells, number, tokenizer=tokenizer)


@in_one_sentence
def fill(metric: str, config: str | None, profile: str, number: Any, tokenizer: str = "") -> list[Any]:
    """Return the updates of the tab for a bundled example and its result.

    Returns:
        See `updates`.

    Raises:
        UsageError: If the profile, the number or the tokenizer is not valid.
    """
    check_choice("profile", profile, tuple(PROFILES.values()))
    config = config_of(metric, config)
    loaded = metric_of(metric, config=config)
    n = len(examples_for(loaded))
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < n:
        raise UsageError.about("number", f"must be the number of an example, 0 to {n - 1}")
    return updates(loaded, profile, number, tokenizer=normalize_tokenizer(metric, config, tokenizer))


def _example_chosen(metric: str, config: str | None, profile: str, tokenizer: str, event: gr.EventData) -> list[Any]:
    return fill(metric, config, profile, read_event(event, "number"), tokenizer)


@in_one_sentence
def score_fields(
    metric: str,
    config: str | None,
    profile: str,
    predictions: str,
    references: str,
    styles: str,
    images: Sequence[tuple[str, str | None]] | None,
    videos: str | None,
    number: int = 0,
    tokenizer: str = "",
) -> list[str]:
    """Score the content of the fields.

    Returns:
        The page with the explained score, and the bundled examples, among which the input is selected if it is one of
        them.

    Raises:
        UsageError: If an input is not valid for the metric.
    """
    check_choice("profile", profile, tuple(PROFILES.values()))
    given = {"predictions": predictions, "references": references, "styles": styles}
    config = config_of(metric, config)
    tokenizer = normalize_tokenizer(metric, config, tokenizer)
    columns = metric_of(metric, config=config).columns
    with in_words_of({column.name: short_label(column) for column in columns}):
        check_uploads([*(path for path, _ in images or ()), *filter(None, [videos])])
        cells: dict[str, Any] = {}
        for column in columns:
            if column.name in given:
                cells[column.name] = cell_of(column, given[column.name] or "")
            elif column.name == "images":
                cells["images"] = [path for path, _ in images or ()] or None
            else:
                cells["videos"] = videos
        if missing := [short_label(column) for column in columns if is_needed(column) and cells[column.name] is None]:
            verb = "is" if len(missing) == 1 else "are"
            raise UsageError(f"`{'` and `'.join(missing)}` {verb} required")
        examples = [one.example for one in list_bundled(metric, profile, config, tokenizer)]
        kept = next((place for place, one in enumerate(examples) if _is_same(cells, one.cells)), None)
        others = [one for one in examples if one is not examples[kept or 0]] if kept is not None else examples
        title = "example" if kept is None else examples[kept].id
        found = score_example(metric, profile, config, cells, title, tokenizer=tokenizer, tested=True, bundled=others)
    # Replace copies of bundled files with the bundled files, because a link cannot contain uploaded files.
    for one in examples:
        cells |= {
            name: one.cells[name] for name in FILES if cells.get(name) and same_file(cells[name], one.cells.get(name))
        }
    base = kept if kept is not None else min(number, len(examples) - 1)
    page = result.page_of_one(found, profile, config, cells, kept, base, tokenizer)
    return [page, result.deck(metric, profile, config, kept, tokenizer)]


def _is_same(cells: dict[str, Any], example: Any) -> bool:
    return all(
        same_file(cell, example.get(name)) if name in FILES and cell else text_of(cell) == text_of(example.get(name))
        for name, cell in cells.items()
    )
