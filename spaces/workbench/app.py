"""Page with all tabs, and the server of the page."""

import json
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import Any

import gradio as gr
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from vlgauge.core.catalog import metric_names
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_choice
from vlgauge.explain.examples import IMAGES
from vlgauge_workbench import about, compare, data_set, leaderboard, score_tab
from vlgauge_workbench.bundled_scores import list_bundled
from vlgauge_workbench.data_set_call import score_dataset_of
from vlgauge_workbench.errors import in_one_sentence
from vlgauge_workbench.hosting import hosting_of
from vlgauge_workbench.inputs import examples_for
from vlgauge_workbench.picker import TEMPLATES, html, part_of_page, picker, read_event, sheet, top_bar
from vlgauge_workbench.profiles import PROFILES
from vlgauge_workbench.scoring import config_of, first_config, metric_of, normalize_tokenizer, score, tokenizers_of
from vlgauge_workbench.selection import MODEL, QUICK, Selection
from vlgauge_workbench.snippets import LONGEST_LINK
from vlgauge_workbench.stopping import stoppable

LOOPBACK = "127.0.0.1"
FIRST = "groovist"  # default
N_PICKERS = 2
MOST_WAITING = 200  # events of all users
EVENTS_AT_ONCE = 4  # of a function without a model
_MOST_BYTES = "200mb"  # size of an uploaded file
_SAME_SITE = (None, "none", "same-origin")


def app(metric: str | None = None, *, results: Sequence[str] = (), is_space: bool | None = None) -> gr.Blocks:
    """Build the workbench.

    Args:
        metric: Name of the metric that is selected first. `?metric=` in the URL selects another one.
        results: Record files that the leaderboard shows from the start.
        is_space: Whether the page is public, with the limits of `vlgauge_workbench.hosting` and without the token of
            this machine. If None, the environment decides.

    Raises:
        ValueError: If the metric does not exist, or a file has invalid content.
        OSError: If a file cannot be read.
    """
    hosting = hosting_of(is_space)
    first = check_choice("metric", metric or FIRST, metric_names())
    config = first_config(first)
    loaded = metric_of(first, config=config)
    options: dict[str, Any] = {"delete_cache": (3600, 3600), "analytics_enabled": False}
    with gr.Blocks(title="vlgauge: metrics with explanations", **options) as page:
        html(top_bar(), "", elem_id="bar")
        # Hidden components with the selection. Dropdowns and radio buttons of Gradio accept only the values that they
        # offer.
        names = gr.Dropdown(metric_names(), value=first, label="Metric", visible=False)
        configured = gr.Textbox(config, visible=False)
        profile = gr.Radio(list(PROFILES.items()), value="embedded", label="Models", visible=False)
        tokenizer = gr.Textbox("", visible=False)
        form, look = gr.State((first, config)), picker(first, config, "embedded")
        chosen = Selection(names, configured, profile, tokenizer, form, look)
        listed = html(sheet(), "picked", elem_id="sheet")
        with gr.Tabs(overflow_behavior="wrap", elem_id="views"):
            with gr.Tab("Score", id="score"):
                fields = [*score_tab.add_tab(chosen, loaded)]
            with gr.Tab("Dataset", id="data"):
                fields += data_set.add_tab(chosen, hosting)
            with gr.Tab("Compare", id="compare") as versus:
                comparing = compare.add_tab(hosting)
            with gr.Tab("Leaderboard", id="leaderboard") as board:
                ranking = leaderboard.add_tab(leaderboard.merge_records((), results), hosting)
            with gr.Tab("About", id="about"):
                tab = about.add_tab()
        changed = [*chosen.inputs, chosen.form, *chosen.pickers, *fields, chosen.tokenizer]

        def addressed(name: str, config: str, profile: str, request: gr.Request) -> list[Any]:
            updates = _open_address(name, config, profile, request)
            first = updates if isinstance(updates, list) else [gr.skip()] * len(changed)
            return [*first, *compare.open_address(request.query_params)]

        opened = page.load(addressed, chosen.inputs, [*changed, *comparing.addressed], **QUICK)
        opened.then(None, js="() => vg.opened()", **QUICK)
        versus.select(**comparing.on_open)
        board.select(**ranking)
        # Run this in a separate event, because the search for files of published models may import torch.
        quiet = {"show_progress": "hidden", "api_visibility": "private"}
        telling: dict[str, Any] = {"fn": _update_about, "inputs": chosen.form, "outputs": tab} | quiet
        opened.success(**telling)
        taken = [listed.picked(_pick_metric, [*chosen.inputs, chosen.form], changed, **QUICK)]
        settings = [*chosen.inputs, chosen.tokenizer]
        taken += [one_picker.set(_set_values, settings, changed, **QUICK) for one_picker in chosen.pickers]
        for event in taken:
            for step in (telling, *chosen.after):
                event.success(**step)
        gr.api(stoppable(in_one_sentence(score), _nothing), api_name="score", **MODEL)
        gr.api(stoppable(in_one_sentence(score_dataset_of(hosting)), _nothing), api_name="score_dataset", **MODEL)
    page.queue(max_size=MOST_WAITING, default_concurrency_limit=EVENTS_AT_ONCE, api_open=False)
    return page


def _warm_up() -> None:
    with suppress(UsageError):
        compare.warm_up()
        leaderboard.page_of_systems()
    for name in metric_names():
        with suppress(UsageError):  # a missing extra is reported when the metric is selected
            for config in metric_of(name).configs or ("",):
                list_bundled(name, "embedded", config)


def launch(page: gr.Blocks, *, port: int | None = None, warmed: bool = False, **options: Any) -> Any:
    """Serve the workbench, only on this machine unless a Space serves it.

    Args:
        page: The workbench.
        port: Port of the server. A free one if None.
        warmed: Whether to score the examples of all metrics in the background, so that users do not wait for them.
        **options: Options of `gradio.Blocks.launch`.

    Returns:
        The result of `gradio.Blocks.launch`.

    Raises:
        OSError: If the port is in use.
    """
    common: dict[str, Any] = {"head": part_of_page("head"), "theme": _theme(), "ssr_mode": False, "run_history": False}
    common["footer_links"] = []
    common |= {"allowed_paths": [str(IMAGES)], "max_file_size": _MOST_BYTES, "enable_monitoring": False}
    before = [Middleware(_SameSite)]
    if options.get("server_name") == LOOPBACK:
        # Reject requests of pages from other sites whose domain was rebound to this machine after they were opened.
        before.insert(0, Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"]))
    common["app_kwargs"] = {"middleware": before}
    if warmed:
        Thread(target=_warm_up, daemon=True).start()
    return page.launch(server_port=port, share=False, **common | options)


class _SameSite:
    """Middleware that rejects POST requests from pages of other sites, which could fill the disk of a user."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it with status 403. Programs do not send the header that is checked."""
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        if is_post and Headers(scope=scope).get("sec-fetch-site") not in _SAME_SITE:
            await PlainTextResponse("Requests from pages of other sites are not allowed.", 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _nothing(*given: object) -> None:
    """Return None as the interim output of API calls."""


def _theme() -> Any:
    """Return the theme. Its colors are defined in page.css, for the light and the dark mode."""
    given = json.loads((TEMPLATES / "theme.json").read_text("utf-8"))
    colors = given["colors"]
    dark = {f"{key}_dark": value for key, value in colors.items()}
    return gr.themes.Base(font=given["font"], font_mono=given["font_mono"]).set(**colors, **dark, **given["sizes"])


def _open_address(name: str, config: str, profile: str, request: gr.Request) -> Any:
    """Return the updates for the query of the URL, or skip if the page shows the requested metric already.

    Texts of the query are put into their fields. The page then scores them as if the user had clicked the button.
    """
    asked = request.query_params
    metric = asked.get("metric")
    if metric not in metric_names():
        return gr.skip()
    own = config_of(metric, asked.get("config"))
    models = asked.get("profile") if asked.get("profile") in PROFILES.values() else profile
    loaded = metric_of(metric, config=own)
    roles = [one.shows for one in examples_for(loaded)]
    number = roles.index(asked["example"]) if asked.get("example") in roles else score_tab.first_example(loaded)
    texts = {column.name: asked[column.name][:LONGEST_LINK] for column in loaded.columns if column.name in asked}
    tokenizer = asked.get("tokenizer", "")
    tokenizer = tokenizer if tokenizer in tokenizers_of(metric, own)[1:] else ""
    is_there = (metric, own, models, number) == (name, config, profile, score_tab.first_example(loaded))
    if is_there and not texts and not tokenizer:
        return gr.skip()
    texts = {key: text for key, text in texts.items() if key in score_tab.TEXTS}
    return _page_of(metric, own, models, number, texts, tokenizer)


def _update_about(form: tuple[str, str], request: gr.Request) -> list[Any]:
    """Return the updates of the last tab."""
    return about.updates(metric_of(form[0], config=form[1]), request)


@in_one_sentence
def _pick_metric(name: str, config: str, profile: str, form: tuple[str, str], event: gr.EventData) -> Any:
    """Return the updates of the page for a selected metric, or skip if the page shows it already."""
    wanted = check_choice("metric", read_event(event, "metric"), metric_names())
    return gr.skip() if form[0] == wanted == name else _page_of(wanted, first_config(wanted), profile)


@in_one_sentence
def _set_values(name: str, config: str, profile: str, tokenizer: str, event: gr.EventData) -> list[Any]:
    wanted, models, tokens = (read_event(event, key) for key in ("config", "profile", "tokenizer"))
    own = config_of(name, check_choice("config", wanted, metric_of(name).configs) if wanted is not None else config)
    models = check_choice("profile", models if models is not None else profile, tuple(PROFILES.values()))
    tokenizer = normalize_tokenizer(name, own, tokens if tokens is not None else tokenizer)
    return _page_of(name, own, models, tokenizer=tokenizer)


def _page_of(
    name: str,
    config: str,
    profile: str,
    number: int | None = None,
    texts: dict[str, str] | None = None,
    tokenizer: str = "",
) -> list[Any]:
    loaded = metric_of(name, config=config)
    look = picker(name, config, profile, tokenizer)
    first = [name, config, profile, (name, config), *[look] * N_PICKERS]
    number = score_tab.first_example(loaded) if number is None else number
    scored = score_tab.updates(loaded, profile, number, texts, tokenizer)
    return [*first, *scored, *data_set.updates(), tokenizer]
