"""The page with its tabs, and the server that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from vlgauge.base import Metric
from vlgauge.catalog import metric_facts, metric_names, metric_title
from vlgauge.explain.pages import signs
from vlgauge.settings import one_of
from vlgauge.workbench import about, compare, data_set, leaderboard, one
from vlgauge.workbench.chosen import MODEL, Chosen
from vlgauge.workbench.data_set_call import score_dataset_of
from vlgauge.workbench.errors import in_one_sentence
from vlgauge.workbench.hosting import hosting_of
from vlgauge.workbench.inputs import EXAMPLES
from vlgauge.workbench.profiles import PROFILES, profile_note
from vlgauge.workbench.scoring import config_of, first_config, metric_of, score
from vlgauge.workbench.sent_files import RefuseForgedFiles

LOOPBACK = "127.0.0.1"

# Gradio's own greys for notes and for what can be ticked are too faint.
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
    "input_placeholder_color": "*neutral_500",
    "input_placeholder_color_dark": "*neutral_400",
}

CSS = """
.vlgauge-page { width: 100%; border: 0; display: block; background: transparent; color-scheme: light dark; }
button[role=tab][aria-selected=true] { color: var(--body-text-color) !important; font-weight: 600; }
.kept-files .filename { flex-wrap: wrap; }
.kept-files .filename .stem { white-space: normal !important; overflow-wrap: anywhere; }
.kept-files .download { min-width: 6rem !important; }
/* Every picture whole, as many rows as there are; its label beside the buttons. */
.vlgauge-pictures:has(.grid-wrap) { height: auto !important; }
.vlgauge-pictures .grid-wrap { height: auto !important; max-height: 480px; padding: 38px 8px 8px !important; }
.vlgauge-pictures .grid-container {
  padding: 0 !important; grid-template: none !important; grid-template-columns: repeat(3, minmax(0, 1fr)) !important;
  grid-auto-rows: auto !important;
}
.vlgauge-pictures .grid-container:has(> :only-child) { grid-template-columns: minmax(0, 240px) !important; }
/* The tag of an upload lies where its icon would be. */
.vlgauge-files .icon-wrap { display: none; }
.vlgauge-files .upload-container { padding-top: 24px; }
.vlgauge-told :is(input, textarea) {
  border: 0 !important; background: transparent !important; padding: 0 !important; box-shadow: none !important;
}
/* A long text is wrapped, so that the next column is seen; widths are measured at a row of its own. */
.every-row .sizing-body .cell-wrap { max-width: max(120px, calc(var(--df-max-col-width) - 200px)); }
.every-row .sizing-body tr:has(td:nth-child(4)) .cell-wrap {
  max-width: max(120px, calc(var(--df-max-col-width) / 2 - 100px));
}
.rows .sizing-body tr:has(td:nth-child(2)) .cell-wrap { max-width: max(120px, calc(var(--df-max-col-width) * .6)); }
/* The words of a choice end before its arrow. */
.secondary-wrap input { padding-right: 26px !important; text-overflow: ellipsis; }
.every-row th span, .rows th span { white-space: nowrap; overflow-wrap: normal; word-break: normal; }
label:has(> input[type=radio]:focus-visible) { outline: 2px solid var(--link-text-color); outline-offset: 2px; }
.gradio-container { max-width: 1600px !important; }
"""


def app(metric: str | None = None, *, results: Sequence[str] = (), is_space: bool | None = None) -> gr.Blocks:
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
    with gr.Blocks(title="vlgauge workbench", delete_cache=(3600, 3600), analytics_enabled=False) as page:
        gr.Markdown("# vlgauge workbench\nScore captions and visual stories, and see why.")
        with gr.Row():
            titles = [(metric_title(name), name) for name in metric_names()]
            names = gr.Dropdown(titles, value=first, label="Metric", min_width=280)
            offered = gr.Radio([], label="Configuration", visible=False, min_width=280)
            config = gr.Textbox(first_config(first), visible=False)
            profile = gr.Radio(list(PROFILES.items()), value="embedded", label="Profile", min_width=280)
        question, note = gr.Markdown(), gr.Markdown()
        chosen = Chosen(names, config, profile, gr.State(None))
        with gr.Tab("Try one"):
            fields = one.add_tab(chosen)
        with gr.Tab("Score a data set"):
            fields += data_set.add_tab(chosen, hosting)
        with gr.Tab("Compare two runs"):
            fields += compare.add_tab(chosen, hosting)
        with gr.Tab("Leaderboard"):
            leaderboard.add_tab(leaderboard.merged((), results), hosting)
        with gr.Tab("About"):
            fields += about.add_tab()
        changed = [offered, config, chosen.form, question, note, *fields]
        page.load(_opened, [names, profile], [names, *changed], api_visibility="private")
        names.input(_chosen, [names, profile], changed, api_visibility="private")
        offered.input(_metric_updates, [names, offered, profile], changed, api_visibility="private")
        profile.input(profile_note, [names, profile], note, api_visibility="private")
        gr.api(in_one_sentence(score), api_name="score", **MODEL)
        gr.api(in_one_sentence(score_dataset_of(hosting)), api_name="score_dataset", **MODEL)
    page.queue(max_size=20)
    return page


def launch(page: gr.Blocks, *, port: int | None = None, **options: Any) -> Any:
    """Serve the workbench, on this machine alone unless a Space serves it.

    Args:
        page: The workbench.
        port: Where; a free one if None.
        **options: Of `gradio.Blocks.launch`.
    """
    # Orange counts against and blue for: the buttons are neither.
    theme = gr.themes.Default(primary_hue="slate", neutral_hue="slate", font=["system-ui", "sans-serif"]).set(**LEGIBLE)
    common: dict[str, Any] = {"css": CSS, "theme": theme, "ssr_mode": False, "run_history": False}
    common |= {"allowed_paths": [str(EXAMPLES)], "max_file_size": "200mb"}
    before = [Middleware(RefuseForgedFiles, page=page)]
    if options.get("server_name") == LOOPBACK:
        # A page from elsewhere whose name was bound to this machine after it had been opened is not served.
        before.insert(0, Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"]))
    common["app_kwargs"] = {"middleware": before}
    return page.launch(server_port=port, share=False, **common | options)


def _opened(name: str, profile: str, request: gr.Request) -> list[Any]:
    """The page with the metric that the address names, or the first one."""
    asked = request.query_params.get("metric")
    shown = asked if asked in metric_names() else name
    return [shown, *_chosen(shown, profile, request)]


def _chosen(name: str, profile: str, request: gr.Request) -> list[Any]:
    """What the page becomes when a metric was chosen."""
    return _metric_updates(name, first_config(name), profile, request)


def _metric_updates(name: str, config: str | None, profile: str, request: gr.Request) -> list[Any]:
    """What the page becomes for a metric."""
    own = config_of(name, config)
    loaded = metric_of(name, config=own)
    shown = [_config_update(loaded, own), own, (name, own), _question(name, own), profile_note(name, profile)]
    return [*shown, *one.updates(loaded), *data_set.updates(), *compare.updates(), *about.updates(loaded, request)]


def _config_update(loaded: Metric, config: str | None) -> Any:
    choices = list(loaded.configs)
    return gr.Radio(choices=choices, value=config or None, visible=len(choices) > 1)


def _question(name: str, config: str | None) -> str:
    facts = metric_facts(name)
    better = "higher is better ↑" if facts.higher_is_better else "lower is better ↓"
    return f"**{facts.measures}** Range: {signs(facts.range_of(f'{config}s'))}; {better}."
