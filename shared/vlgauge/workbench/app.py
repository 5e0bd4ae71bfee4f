"""The page with its tabs, and the server that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from vlgauge.base import Metric
from vlgauge.catalog import metric_facts, metric_names, metric_title
from vlgauge.explain.examples import PICTURES
from vlgauge.explain.pages import signs
from vlgauge.settings import one_of
from vlgauge.workbench import about, compare, data_set, leaderboard, one
from vlgauge.workbench.checked_page import CheckedPage
from vlgauge.workbench.chosen import MODEL, Chosen
from vlgauge.workbench.data_set_call import score_dataset_of
from vlgauge.workbench.doors import Doors
from vlgauge.workbench.errors import in_one_sentence
from vlgauge.workbench.hosting import hosting_of
from vlgauge.workbench.profiles import PROFILES, profile_note
from vlgauge.workbench.scoring import config_of, first_config, metric_of, score
from vlgauge.workbench.stopping import USED, stoppable
from vlgauge.workbench.visitors import MOST_WAITING_OF_ALL, take_turns

LOOPBACK = "127.0.0.1"

# Gradio's own greys for notes, for fields and for what can be ticked are too faint.
LEGIBLE = {
    "body_text_color_subdued": "*neutral_600",
    "body_text_color_subdued_dark": "*neutral_300",
    "block_info_text_color": "*neutral_600",
    "block_info_text_color_dark": "*neutral_300",
    "block_label_text_color": "*neutral_700",
    "block_title_text_color": "*neutral_700",
    "checkbox_border_color": "*neutral_500",
    "checkbox_border_color_dark": "*neutral_400",
    "link_text_color_dark": "*secondary_300",
    "input_border_color": "*neutral_500",
    "input_border_color_dark": "*neutral_500",
    "input_placeholder_color": "*neutral_500",
    "input_placeholder_color_dark": "*neutral_400",
}

# In gradio 6.31 Escape closes a list and leaves what was typed, until the list is left. That of data sets takes it.
ESCAPE = """<script>addEventListener("keydown", told => {
  const list = told.key === "Escape" && told.target.closest?.("[role=combobox]");
  if (list && !list.closest("#data-set")) list.blur();
})</script>"""

STYLE = Path(__file__).parent / "templates" / "workbench.css"


def app(metric: str | None = None, *, results: Sequence[str] = (), is_space: bool | None = None) -> CheckedPage:
    """The workbench.

    Args:
        metric: The metric that is chosen first; `?metric=` in the address chooses another.
        results: Files of records that the leaderboard shows from the start.
        is_space: Whether it is for anybody, with the limits of `vlgauge.workbench.hosting`, and without a token of
            its own; by the environment if None.

    Raises:
        ValueError: If there is no such metric, or a file holds something else.
        OSError: If a file cannot be read.
    """
    hosting = hosting_of(is_space)
    first = one_of("metric", metric or "rovist_nr", metric_names())
    loaded = metric_of(first, config=first_config(first))
    options: dict[str, Any] = {"delete_cache": (3600, 3600), "analytics_enabled": False}
    with CheckedPage(hosting, title="vlgauge workbench", **options) as page:
        gr.Markdown("# vlgauge workbench\nScore captions and visual stories, and see why.")
        with gr.Row():
            titles = [(metric_title(name), name) for name in metric_names()]
            names = gr.Dropdown(titles, value=first, label="Metric", min_width=280)
            offered = gr.Radio(label="Configuration", min_width=280, **_configurations(loaded, first_config(first)))
            config = gr.Textbox(first_config(first), visible=False)
            profile = gr.Radio(list(PROFILES.items()), value="embedded", label="Profile", min_width=280)
        question = gr.Markdown(_question(first, first_config(first)))
        note = gr.Markdown(profile_note(first, "embedded"))
        chosen = Chosen(names, config, profile, gr.State((first, first_config(first))))
        with gr.Tabs(overflow_behavior="wrap"):
            with gr.Tab("Try one"):
                fields = one.add_tab(chosen, loaded)
            with gr.Tab("Score a data set"):
                fields += data_set.add_tab(chosen, hosting)
            with gr.Tab("Compare two runs"):
                fields += compare.add_tab(chosen, hosting)
            with gr.Tab("Leaderboard"):
                leaderboard.add_tab(leaderboard.merged((), results), hosting)
            with gr.Tab("About"):
                told = about.add_tab()
        changed = [offered, config, chosen.form, question, note, *fields]
        page.load(_opened, [names, profile], [names, *changed], api_visibility="private")
        # Apart, as it may import torch to look for the files of published models.
        for ready in (page.load, chosen.form.change):
            ready(_told, chosen.form, told, show_progress="hidden", api_visibility="private")
        names.input(_chosen, [names, profile, chosen.form], changed, api_visibility="private")
        offered.input(_metric_updates, [names, offered, profile], changed, api_visibility="private")
        profile.input(_note, [names, profile], note, api_visibility="private")
        gr.api(stoppable(in_one_sentence(score)), api_name="score", **MODEL)
        gr.api(stoppable(in_one_sentence(score_dataset_of(hosting))), api_name="score_dataset", **MODEL)
    page.queue(max_size=MOST_WAITING_OF_ALL, api_open=False)
    take_turns(page, USED)
    return page


def launch(page: CheckedPage, *, port: int | None = None, **options: Any) -> Any:
    """Serve the workbench, on this machine alone unless a Space serves it.

    Args:
        page: The workbench.
        port: Where; a free one if None.
        **options: Of `gradio.Blocks.launch`.
    """
    # Orange counts against and blue for: the buttons are neither.
    theme = gr.themes.Default(primary_hue="slate", neutral_hue="slate", font=["system-ui", "sans-serif"]).set(**LEGIBLE)
    common: dict[str, Any] = {
        "css_paths": STYLE,
        "head": ESCAPE,
        "theme": theme,
        "ssr_mode": False,
        "run_history": False,
    }
    common |= {"allowed_paths": [str(PICTURES)], "max_file_size": "200mb"}
    before = [Middleware(Doors, page=page, hosting=page.hosting)]
    if options.get("server_name") == LOOPBACK:
        # A page from elsewhere whose name was bound to this machine after it had been opened is not served.
        before.insert(0, Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"]))
    common["app_kwargs"] = {"middleware": before}
    return page.launch(server_port=port, share=False, **common | options)


def _opened(name: str, profile: str, request: gr.Request) -> Any:
    """The page with the metric that the address names; it has the first one already."""
    asked = request.query_params.get("metric")
    if asked not in metric_names() or asked == name:
        return gr.skip()
    return [asked, *_metric_updates(asked, first_config(asked), profile)]


def _told(form: tuple[str, str], request: gr.Request) -> list[Any]:
    """What the last tab says of what the page has changed to."""
    return about.updates(metric_of(form[0], config=form[1]), request)


@in_one_sentence
def _note(name: str, profile: str) -> str:
    """What a visitor should know of the metric under the profile that was chosen."""
    return profile_note(one_of("metric", name, metric_names()), one_of("profile", profile, tuple(PROFILES.values())))


@in_one_sentence
def _chosen(name: str, profile: str, form: tuple[str, str]) -> Any:
    """What the page becomes when a metric was chosen; nothing where the list was left as it was, which is told too."""
    return gr.skip() if form[0] == name else _metric_updates(name, first_config(name), profile)


@in_one_sentence
def _metric_updates(name: str, config: str | None, profile: str) -> list[Any]:
    """What the page becomes for a metric."""
    own = config_of(name, config)
    loaded = metric_of(name, config=own)
    shown = [
        gr.Radio(**_configurations(loaded, own)),
        own,
        (name, own),
        _question(name, own),
        profile_note(name, profile),
    ]
    return [*shown, *one.updates(loaded), *data_set.updates(), *compare.updates()]


def _configurations(loaded: Metric, config: str) -> dict[str, Any]:
    """How the choice of a configuration looks for a metric."""
    choices = list(loaded.configs)
    return {"choices": choices, "value": config or None, "visible": len(choices) > 1}


def _question(name: str, config: str | None) -> str:
    facts = metric_facts(name)
    better = "higher is better ↑" if facts.higher_is_better else "lower is better ↓"
    return f"**{facts.measures}** Range: {signs(facts.range_of(f'{config}s'))}; {better}."
