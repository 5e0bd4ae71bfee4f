"""Button that shows the selected metric, configuration and models, and the searchable list of all metrics."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import gradio as gr
from markupsafe import Markup

from vlgauge.core.catalog import metric_facts, metric_names, metric_title, metrics_by_group
from vlgauge.explain.pages import fragment
from vlgauge.families.base import Column
from vlgauge.families.base.columns import Captions, Images, References
from vlgauge.families.base.components import Components
from vlgauge.families.base.video_columns import OneImage, Videos
from vlgauge_workbench.inputs import is_needed
from vlgauge_workbench.profiles import PROFILES, models_in_words, needs_no_model
from vlgauge_workbench.scoring import config_of, metric_of, tokenizers_of

TEMPLATES = Path(__file__).parent / "templates"
# Icon of each column type. Other types have the icon of a text.
_SIGNS: dict[type[Column], str] = {
    Captions: "set",
    References: "references",
    Images: "image",
    OneImage: "image",
    Videos: "video",
    Components: "number",
}
# Words for the icons of inputs, names of tokenizers, and SVG paths of icons, 16 x 16.
_DATA = json.loads((TEMPLATES / "picker.json").read_text("utf-8"))
_ICONS = {
    name: Markup(f'<svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path d="{path}"/></svg>')
    for name, path in _DATA["icons"].items()
}


def part_of_page(template: str, **values: Any) -> str:
    """Render a template of the workbench."""
    return str(fragment(template, folder=TEMPLATES, icons=_ICONS, **values))


def html(value: str, name: str, **options: Any) -> Any:
    """Create a `gradio.HTML` whose script can trigger an event with the selected values."""
    listen = f"element.addEventListener('{name}', event => trigger('{name}', event.detail))" if name else None
    return gr.HTML(value, apply_default_css=False, js_on_load=listen, **options)


def file_field(label: str, types: Sequence[str] | None = None, *, several: bool = False, **options: Any) -> Any:
    """Create a field for one or several uploads, with these file endings if any are named."""
    count: Literal["single", "multiple"] = "multiple" if several else "single"
    endings = None if types is None else list(types)
    return gr.File(
        label=label, file_count=count, file_types=endings, height=140, elem_classes="vlgauge-files", **options
    )


def status_field(label: str, **options: Any) -> Any:
    """Create a text field that the user cannot edit. It is hidden while it is empty."""
    options |= {"placeholder": "none yet", "interactive": False, "elem_classes": "vlgauge-status"}
    return gr.Textbox("", label=label, **options)


def read_event(event: Any, name: str) -> Any:
    """Return a value that the page sent with an event. None if there is no such value."""
    try:
        return getattr(event, name, None)
    except TypeError:  # the page sent a number or nothing instead of a mapping
        return None


def top_bar() -> str:
    """Return the title bar, with name, purpose and the choice of light or dark mode. The tabs are in the same line."""
    return part_of_page("top_bar", n=len(metric_names()))


def picker(name: str, config: str, profile: str, tokenizer: str = "") -> str:
    """Return the button with the selection, and the choice of configurations, models and tokenizers of a metric."""
    own = config_of(name, config)
    offered = tokenizers_of(name, own)
    return part_of_page(
        "picker",
        metric=_option(name),
        configs=[(one, one) for one in metric_of(name, config=own).configs],
        config=own,
        profiles={} if needs_no_model(name) else {words.partition(":")[0]: one for words, one in PROFILES.items()},
        profile=profile,
        models=models_in_words(name, profile),
        tokenizers=[(one, f"{one}: {_DATA['tokenizers'][one]}") for one in offered],
        tokenizer=tokenizer or next(iter(offered), ""),
    )


@cache
def sheet() -> str:
    """Return the list of all metrics, which opens on top of the page."""
    groups = {group: [_option(name) for name in names] for group, names in metrics_by_group().items()}
    return part_of_page("sheet", groups=groups)


@cache
def _option(name: str) -> dict[str, Any]:
    columns = [column for column in metric_of(name).columns if is_needed(column)]
    found = ("style" if column.name == "styles" else _SIGNS.get(type(column), "text") for column in columns)
    signs = list(dict.fromkeys(found))
    return {
        "name": name,
        "title": metric_title(name),
        "question": metric_facts(name).measures,
        "signs": signs,
        "reads": " and ".join(_DATA["inputs"][sign] for sign in signs),
    }
