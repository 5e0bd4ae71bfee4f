"""Button that shows the selected metric, configuration and models, and the searchable list of all metrics."""

from functools import cache
from pathlib import Path
from typing import Any

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


def part_of_page(template: str, **values: Any) -> str:
    """Render a template of the workbench."""
    return str(fragment(template, folder=TEMPLATES, **values))


# Icon of each column type. Other types have the icon of a text.
_SIGNS: dict[type[Column], str] = {
    Captions: "set",
    References: "references",
    Images: "picture",
    OneImage: "picture",
    Videos: "clip",
    Components: "number",
}
_SAID = {
    "text": "a text",
    "set": "caption sets",
    "references": "references",
    "picture": "images",
    "clip": "videos",
    "number": "numbers",
    "style": "a style",
}
_TOKENS = {
    "ptb": "COCO evaluation",
    "treebank": "Penn Treebank",
    "13a": "mteval-v13a",
    "intl": "mteval-v14",
    "char": "characters",
    "zh": "Chinese",
    "ja": "Japanese",
    "th": "Thai",
    "ko": "Korean",
}
# SVG paths, 16 x 16.
_DRAWN = {
    "text": "M2.5 4h11M2.5 8h11M2.5 12h7",
    "picture": "M2.5 3h11v10h-11zM2.5 11l3.2-3.4 2.8 2.9 1.8-1.7 3.2 2.9M10.6 6h.1",
    "clip": "M2.5 3.5h11v9h-11zM6.6 6v4l3.2-2z",
    "references": "M3 4.5h5v4H4.5L3 10zM8.5 7h4.5v6l-1.5-1.5h-3z",
    "set": "M5 2.5h8.5v7H5zM2.5 6v7.5H11",
    "style": "M3 13l1-3.2 6.6-6.6 2.2 2.2L6.2 12zM9.3 4.5l2.2 2.2",
    "number": "M2.5 11a5.5 5.5 0 0 1 11 0M8 11l2.6-3.4",
    "copy": "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
    "link": "M6.8 9.2l2.4-2.4M7.2 4.8l1.6-1.6a2.8 2.8 0 0 1 4 4l-1.6 1.6M8.8 11.2l-1.6 1.6a2.8 2.8 0 0 1-4-4l1.6-1.6",
    "moon": "M13 9.6A5.4 5.4 0 0 1 6.4 3 5.4 5.4 0 1 0 13 9.6z",
    "down": "M4 6.5l4 4 4-4",
    "search": "M7 11.5a4.5 4.5 0 1 1 0-9 4.5 4.5 0 0 1 0 9zM10.3 10.3l3.2 3.2",
}
ICONS = {
    name: Markup(f'<svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path d="{path}"/></svg>')
    for name, path in _DRAWN.items()
}


def html(value: str, name: str, **options: Any) -> Any:
    """Create a `gradio.HTML` whose script can trigger an event with the selected values."""
    listen = f"element.addEventListener('{name}', event => trigger('{name}', event.detail))" if name else None
    return gr.HTML(value, apply_default_css=False, js_on_load=listen, **options)


def read_event(event: Any, name: str) -> Any:
    """Return a value that the page sent with an event. None if there is no such value."""
    try:
        return getattr(event, name, None)
    except TypeError:  # the page sent a number or nothing instead of a mapping
        return None


def top_bar() -> str:
    """Return the title bar, with name, purpose and the choice of light or dark mode. The tabs are in the same line."""
    return part_of_page("top_bar", icons=ICONS, n=len(metric_names()))


def picker(name: str, config: str, profile: str, tokenizer: str = "") -> str:
    """Return the button with the selection, and the choice of configurations, models and tokenizers of a metric."""
    own = config_of(name, config)
    offered = tokenizers_of(name, own)
    return part_of_page(
        "picker",
        icons=ICONS,
        metric=_option(name),
        configs=[(one, one) for one in metric_of(name, config=own).configs],
        config=own,
        profiles={} if needs_no_model(name) else {words.partition(":")[0]: one for words, one in PROFILES.items()},
        profile=profile,
        models=models_in_words(name, profile),
        tokenizers=[(one, f"{one}: {_TOKENS[one]}") for one in offered],
        tokenizer=tokenizer or next(iter(offered), ""),
    )


@cache
def sheet() -> str:
    """Return the list of all metrics, which opens on top of the page."""
    groups = {group: [_option(name) for name in names] for group, names in metrics_by_group().items()}
    return part_of_page("sheet", icons=ICONS, groups=groups)


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
        "reads": " and ".join(_SAID[sign] for sign in signs),
    }
