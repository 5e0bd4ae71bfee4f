"""Tab that scores a dataset of the Hub or an uploaded file."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import gradio as gr

from vlgauge.api.row_sources import Source, guess_titles
from vlgauge.api.row_sources.guessing import NAMES
from vlgauge.api.row_sources.hub import Pinned, configurations, pin_dataset, search, splits
from vlgauge.api.row_sources.tables import ARCHIVES
from vlgauge.core.errors import UsageError
from vlgauge.explain import Explanation
from vlgauge.inputs.tables.files import TABLE_ENDINGS, UNTRUSTED_ENDINGS
from vlgauge_workbench import runs
from vlgauge_workbench.downloads import check_model_id, write_downloads
from vlgauge_workbench.errors import hidden, in_words_of
from vlgauge_workbench.hosting import Hosting
from vlgauge_workbench.pages import page_of_file, page_without_rows
from vlgauge_workbench.picker import file_field, html, status_field
from vlgauge_workbench.presets import PRESETS, preset_split, preset_titles
from vlgauge_workbench.runs import Run
from vlgauge_workbench.scoring import config_of, metric_of, takes_questions
from vlgauge_workbench.selection import MODEL, NONE, Selection
from vlgauge_workbench.stopping import Cancelled, Work, end_if_stopped, stoppable

HUB: dict[str, Any] = {"concurrency_id": "hub", "concurrency_limit": 4}
PRIVATE: dict[str, Any] = {"api_visibility": "private"}
OF_HUB, OF_FILE = "Dataset of the Hub", "File"
N_PREVIEW = 5
FIRST_ROWS = 200  # default of the number of rows
_LONGEST_VALUE = 36
SHORTEST_SEARCH = 2
_TYPES = [*UNTRUSTED_ENDINGS, *ARCHIVES]
_LONGEST_CELL = 200
_KNOWN = "Type to search, or type OWNER/NAME; the suggestions were not tested"
_MOST_SESSIONS = 1000  # whose searches are kept
_DIGITS = 4  # the files have full precision
_KEPT_SECONDS = 3600.0
_LABELS = {"dataset": "Dataset", "rows": "Number of rows", "first_row": "From row", "revision": "Commit"}
# The form is as high as a screen, so scroll to the result below it.
_TO_SCORES = "() => document.getElementById('scores-of-data-set').scrollIntoView()"


def add_tab(chosen: Selection, hosting: Hosting) -> list[Any]:
    """Add the components and events of the tab.

    Returns:
        Components that change with the metric, in the order of `updates`.
    """
    tab = _Tab(chosen, hosting)
    tab.connect()
    return tab.changed


def updates() -> list[Any]:
    """Return the new values of the components of `add_tab` for another metric."""
    return [None, "", page_without_rows(), *_without_scores()[1:], gr.Button(visible=False)]


def _without_scores() -> list[Any]:
    return ["", gr.Dataframe(visible=False), gr.File(value=None, visible=False)]


class _Tab:
    def __init__(self, chosen: Selection, hosting: Hosting) -> None:
        self.chosen, self.hosting = chosen, hosting
        self._found: dict[str, list[str]] = {}  # by session
        self._lock = Lock()
        self.data_set = gr.State(None, time_to_live=_KEPT_SECONDS)
        self.source = gr.State(None, time_to_live=_KEPT_SECONDS)
        self.run = gr.State(None, time_to_live=_KEPT_SECONDS)
        with gr.Row(equal_height=False, elem_id="data-work"):
            with gr.Column(min_width=280, elem_id="data-form"):
                self._add_form()
            with gr.Column(min_width=300, scale=2, elem_id="data-result"):
                self._add_result()
        self.changed = [self.run, self.status, self.page, self.scores, self.files, self.again]

    def _add_form(self) -> None:
        self.chosen.add_picker()
        self.kind = gr.Radio([OF_HUB, OF_FILE], value=OF_HUB, label="Rows of", min_width=280)
        with gr.Column() as self.of_hub:
            self.repository = gr.Dropdown(
                list(PRESETS),
                value=None,
                elem_id="data-set",
                label="Dataset",
                info=_KNOWN,
                allow_custom_value=True,
                min_width=280,
            )
            with gr.Row():
                self.config = gr.Dropdown([], label="Subset", min_width=120)
                self.split = gr.Dropdown([], label="Split", min_width=120)
            self.commit = status_field("Commit")
            with gr.Accordion("Token for gated and private datasets", open=False):
                words = "Sent only to the Hub and never stored"
                self.token = gr.Textbox("", label="Your token", info=words, type="password", max_length=200)
                if os.environ.get("OAUTH_CLIENT_ID"):
                    gr.LoginButton(min_width=160)
        with gr.Column(visible=False) as self.of_file:
            self.table = file_field(f"Rows ({', '.join(one[1:] for one in _TYPES)})", _TYPES)
            label = "Images and videos referenced by the table, or a zip or tar archive of them"
            self.images = file_field(label, several=True)
        with gr.Row():
            self.columns = [_column(name, visible=False) for name in NAMES]
        label = "Questions about the captions (table in the layout of DSG)"
        self.questions = file_field(label, TABLE_ENDINGS, visible=False)
        with gr.Row():
            most = self.hosting.most_rows
            self.first = gr.Number(0, label="From row", precision=0, min_width=120)
            self.rows = gr.Number(most or FIRST_ROWS, label=self._rows_label(None), precision=0, min_width=120)
        self.model = gr.Textbox(
            "", label="Model (optional)", info="Hub id (OWNER/NAME) to include in the result record", max_length=200
        )
        with gr.Row():
            self.button = gr.Button("Score", variant="primary", elem_id="score-data-set", scale=2, min_width=120)
            self.stop = gr.Button("Stop", interactive=False, scale=1, min_width=80)
            self.again = gr.Button("Continue", visible=False, min_width=280)

    def _add_result(self) -> None:
        self.status = status_field("Rows read", lines=1, max_lines=4)
        unseen: dict[str, Any] = {"interactive": False, "visible": False}
        self.files = gr.File(label="Scores and report", file_count="multiple", elem_classes="kept-files", **unseen)
        self.page = html(page_without_rows(), "", label="Scores", elem_id="scores-of-data-set")
        unseen["wrap"] = True
        self.scores = gr.Dataframe(
            label="Every row", elem_classes="every-row", show_search="filter", max_height=400, **unseen
        )
        self.preview = gr.Dataframe(label="First rows", max_height=260, elem_classes="rows", **unseen)

    def connect(self) -> None:
        """Connect the events of the components."""
        outputs = [self.data_set, self.source, self.config, self.split, self.commit, *self.columns, self.preview]
        metric = [self.chosen.metric, self.chosen.config]
        titled = [*self.columns, self.preview, self.rows, self.questions]
        found = {"fn": self._guess_columns, "inputs": [*metric, self.source], "outputs": titled} | HUB | PRIVATE
        cleared = {"fn": _clear, "outputs": [*outputs, *self.changed]} | PRIVATE
        of_hub, of_split = [self.data_set, self.config], [self.data_set, self.config, self.split]
        self.kind.input(_kind_chosen, self.kind, [self.of_hub, self.of_file, self.model], **PRIVATE).then(**cleared)
        self.repository.key_up(
            self._search_datasets,
            None,
            self.repository,
            queue=False,
            show_progress="hidden",
            trigger_mode="multiple",  # with "always_last" gradio 6.31 sends the first text typed
            **PRIVATE,
        )
        listed = [self.repository, self.config, self.split]
        others = [
            one.input(_check_other_split, [*listed, self.source], None, show_progress="hidden", **PRIVATE)
            for one in listed
        ]
        opened = (
            others[0]
            .success(**cleared)
            .then(
                self._open, [self.repository, self.token], [self.data_set, self.config, self.commit], **HUB, **PRIVATE
            )
        )
        for event in (opened.success, others[1].success):
            chosen = event(_splits_of, of_hub, self.split, **HUB, **PRIVATE)
            chosen.success(_rows_of, of_split, self.source, **HUB, **PRIVATE).success(**found)
        others[2].success(_rows_of, of_split, self.source, **HUB, **PRIVATE).success(**found)
        for upload in (self.table.upload, self.images.change):
            upload(**cleared).then(self._read_upload, [self.table, self.images], self.source, **PRIVATE).success(
                **found
            )
        self.table.clear(**cleared)
        self.chosen.after.append(found)
        self._connect_run()

    def _connect_run(self) -> None:
        buttons = [self.button, self.stop, self.again]
        form = [self.first, self.rows, self.model, self.chosen.tokenizer, self.questions, *self.columns]
        inputs = [self.run, self.source, *self.chosen.inputs, *form]
        begun = self.button.click(self._begin, inputs, [self.run, *buttons], **PRIVATE)
        gone_on = self.again.click(_continue, self.run, buttons, **PRIVATE)
        # Clear the page, because old scores next to another run or an error would be taken for the new result.
        emptied, *_ = (
            event(_without_scores, None, [self.page, self.scores, self.files], show_progress="hidden", **PRIVATE)
            for event in (begun.success, begun.failure)
        )
        for event in (emptied, gone_on):
            reading = stoppable(_read, _reading)
            read = event.success(reading, self.run, [self.status, self.stop], show_progress="hidden", **HUB, **PRIVATE)
            outputs = [self.page, self.scores, self.files, self.status]
            quiet: dict[str, Any] = {"show_progress": "hidden"} | MODEL | PRIVATE
            scored = read.then(stoppable(_score, _scoring), [self.run, self.model], outputs, **quiet)
            # In gradio 6.31 `then` does not run after a failed event.
            for ended in (scored.then, scored.failure, read.failure):
                ended(_rest, self.run, [*buttons, self.status], **PRIVATE)
            scored.success(None, js=_TO_SCORES, **PRIVATE)
        # Do not use `cancels`: the page of gradio 6.31 shows "Error" for two or three of 10 runs cancelled this way.
        self.stop.click(_stop, self.run, self.stop, queue=False, show_progress="hidden", **PRIVATE)

    # -- Opened datasets
    def _search_datasets(self, typed: gr.KeyUpData, request: gr.Request) -> Any:
        value = getattr(typed, "input_value", None)
        words = value.strip()[:_LONGEST_CELL] if isinstance(value, str) else ""
        if len(words) < SHORTEST_SEARCH:
            return gr.skip()
        try:
            found = search(words, self.hosting.token)
        except (OSError, ValueError) as error:
            return gr.Dropdown(info=f"Search failed: {error}")
        # The list shows the new results first, filtered by the text that follows. It never gets shorter, because gradio
        # 6.31 raises an error on the page for that, and because a late response to a shorter text would remove newer
        # results.
        with self._lock:
            before = self._found.pop(request.session_hash or "", list(PRESETS))
            known = list(dict.fromkeys([*found, *before]))
            self._found[request.session_hash or ""] = known
            while len(self._found) > _MOST_SESSIONS:
                self._found.pop(next(iter(self._found)))
        return gr.Dropdown(choices=known, info="Choose one, or type OWNER/NAME")

    @in_words_of(_LABELS)
    def _open(self, name: str | None, token: str, signed_in: gr.OAuthToken | None = None) -> list[Any]:
        if not name:
            return [None, gr.Dropdown(choices=[], value=None), ""]
        own = token.strip() or (signed_in.token if signed_in else None) or self.hosting.token
        with hidden(own):
            data_set = pin_dataset(name.strip(), token=own)
            names = configurations(data_set)
        return [data_set, gr.Dropdown(choices=names, value=names[0]), data_set.revision]

    def _rows_label(self, n_rows: int | None) -> str:
        of = f"Number of rows, of {n_rows:,}" if n_rows is not None else "Number of rows"
        return f"{of}; at most {self.hosting.most_rows} here" if self.hosting.most_rows else f"{of}; empty for all"

    def _guess_columns(self, metric: str, config: str | None, source: Source | None) -> list[Any]:
        n_rows = None if source is None else source.n_rows
        questions = gr.File(visible=source is not None and takes_questions(metric))
        return [*guess_columns(metric, config, source), gr.Number(label=self._rows_label(n_rows)), questions]

    @in_words_of(_LABELS)
    def _read_upload(self, table: str | None, images: Sequence[str] | None) -> Any:
        if not table:
            return None
        return runs.open_upload(table, images or (), self.hosting)

    @in_words_of(_LABELS)
    def _begin(
        self,
        before: Run | None,
        source: Source | None,
        metric: str,
        config: str | None,
        profile: str,
        first: float | None,
        rows: float | None,
        model: str,
        tokenizer: str,
        questions: str | None,
        *titles: Any,
    ) -> list[Any]:
        if before is not None and before.is_busy:
            raise UsageError.about("Score", "must wait for the previous run; stop it first")
        if source is None:
            raise UsageError.about("Dataset", "must be opened, or a file uploaded, first")
        check_model_id(model.strip(), source.origin)
        named = {name: _titles(cell) for name, cell in zip(NAMES, titles, strict=True)}
        chosen = (metric, config_of(metric, config), profile)
        if chosen[1] == "image" and not named["images"] and "video" in source.kinds.values():
            raise UsageError.about("Configuration", "must be video for rows with videos, got image", "choose it above")
        n_rows = None if rows is None else int(rows)
        # The list of another metric may have left a table.
        table = questions if takes_questions(metric) else None
        run = runs.begin_run(source, chosen, named, int(first or 0), n_rows, self.hosting, tokenizer, table)
        run.is_busy = True
        return [run, *_buttons(busy=True)]


def _column(name: str, *, visible: bool, **options: Any) -> Any:
    several = name == "references"
    label = f"Column: {name}"
    return gr.Dropdown(label=label, multiselect=several, visible=visible, min_width=280, **options)


def _titles(cell: Any) -> list[str]:
    return list(cell) if isinstance(cell, list) else [cell] if cell and cell != NONE else []


def _buttons(*, busy: bool, run: Run | None = None) -> list[Any]:
    more = not busy and run is not None and not run.is_done
    label = f"Continue from row {run.reader.next_row:,}" if run is not None and more else "Continue"
    return [gr.Button(interactive=not busy), gr.Button(interactive=busy), gr.Button(label, visible=more)]


def _clear() -> list[Any]:
    empty = gr.Dropdown(choices=[], value=None)
    columns = [_column(name, visible=False, choices=[], value=None) for name in NAMES]
    return [None, None, empty, empty, "", *columns, gr.Dataframe(value=None, visible=False), *updates()]


def _kind_chosen(kind: str) -> list[Any]:
    # Records name a dataset of the Hub, so files have no record.
    is_hub = kind == OF_HUB
    return [gr.Column(visible=is_hub), gr.Column(visible=not is_hub), gr.Textbox("", visible=is_hub)]


def _check_other_split(name: str | None, config: str | None, split: str | None, source: Source | None) -> None:
    """End the event of an unchanged list, for which Gradio 6.31 triggers the same event as for a choice.

    Raises:
        gr.Error: If these rows are open already. The page does not show the error.
    """
    known = source.origin if source is not None else None
    if known is not None and (known.id, known.config, known.split) == ((name or "").strip(), config, split):
        raise gr.Error("these rows are open already", visible=False, print_exception=False)


@in_words_of(_LABELS)
def _splits_of(data_set: Pinned | None, config: str | None) -> Any:
    if data_set is None or not config:
        return gr.Dropdown(choices=[], value=None)
    names = splits(data_set, config)
    return gr.Dropdown(choices=names, value=preset_split(data_set.id, names))


@in_words_of(_LABELS)
def _rows_of(data_set: Pinned | None, config: str | None, split: str | None) -> Any:
    return runs.HubRows(data_set, config, split) if data_set is not None and split else None


@in_words_of(_LABELS)
def guess_columns(metric: str, config: str | None, source: Source | None) -> list[Any]:
    """Return updates of the first rows and of the column lists, with likely names selected for the metric.

    Returns:
        Updates of the column lists, in the order of `NAMES`, and of the page with the first rows.
    """
    if source is None:
        return [*(gr.skip() for _ in NAMES), gr.skip()]
    columns = metric_of(metric, config=config_of(metric, config)).columns
    likely = guess_titles(columns, source.kinds) | preset_titles(source.origin.id, columns, source.kinds)
    likely["groups"] = []  # selected by the user if rows belong together
    first = _first_rows(source)
    titles = [(_with_value(title, first), title) for title in source.kinds]
    found = []
    for name in NAMES:
        own = likely.get(name, [])
        several = name == "references"
        value: Any = own if several else own[0] if own else NONE
        choices: Any = titles if several else [(NONE, NONE), *titles]
        found.append(_column(name, visible=name in likely, choices=choices, value=value))
    known = list(first[0]) if first else []
    rows = [[_shorten(cell) for cell in row.values()] for row in first]
    return [*found, gr.Dataframe(value=rows, headers=known or ["no texts"], datatype="str", visible=bool(rows))]


def _first_rows(source: Source) -> list[dict[str, Any]]:
    titles = [title for title, kind in source.kinds.items() if kind in ("text", "texts")]
    rows = source.rows(titles, 0, N_PREVIEW) if titles else ()
    return [{title: row[title] for title in titles} for row in rows]


def _with_value(title: str, first: Sequence[Mapping[str, Any]]) -> str:
    """Return a column name with the first value of the column, which helps to recognize it."""
    value = next((text for row in first if (text := _shorten(row.get(title)))), "")
    value = " ".join(value.split())
    cut = value if len(value) <= _LONGEST_VALUE else f"{value[: _LONGEST_VALUE - 1]}…"
    return f"{title}: {cut}" if cut else title


def _shorten(cell: Any) -> str:
    text = "" if cell is None else " | ".join(map(str, cell)) if isinstance(cell, list) else str(cell)
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…"


# -- A run ------------------------------------------------------------------------------------------------------------
@in_words_of(_LABELS)
def _continue(run: Run | None) -> list[Any]:
    if run is None or run.is_busy or run.is_done:
        raise UsageError.about(
            "Continue", "requires a run that ended before all rows were read", "score the dataset again"
        )
    run.is_busy = True
    return _buttons(busy=True)


def _reading(work: Work, run: Run | None) -> list[Any]:
    """Return the outputs of the tab while rows are read."""
    return [gr.skip() if run is None else run.status, gr.skip()]


def _read(run: Run | None) -> list[Any]:
    if run is None:  # another metric was selected in the meantime
        return [gr.skip(), gr.skip()]
    for _ in run.read():
        end_if_stopped()
    return [f"{run.status} Scoring them…", gr.Button(interactive=True)]  # the button now stops scoring


def _stop(run: Run | None) -> Any:
    if run is not None:
        run.stop()
    return gr.Button(interactive=False)


def _scoring(work: Work, *args: Any) -> list[Any]:
    """Return the outputs of the tab while rows are scored."""
    done = f"Scoring, step {work.done:,} of {work.total:,}" if work.total else "Scoring"
    return [gr.skip(), gr.skip(), gr.skip(), f"{done}…"]


@in_words_of(_LABELS)
def _score(run: Run | None, model: str) -> list[Any]:
    """Return the page, table and files of the rows that were read, or skip if another metric was selected."""
    if run is None:
        return [gr.skip(), gr.skip(), gr.skip(), gr.skip()]
    try:
        found = run.scored()
        end_if_stopped()
        origin = run.reader.source.origin
        files, unrecorded = write_downloads(found, origin, model.strip(), run.extent)
        end_if_stopped()
        page = page_of_file(replace(found, notes=[*found.notes, *unrecorded]), origin, run.extent)
        end_if_stopped()
    except Cancelled:
        run.trouble = "Stopped during scoring, so there are no scores"
        return [gr.skip(), gr.skip(), gr.skip(), run.status]
    finally:
        run.work = None
        if run.is_done:  # otherwise the run can be continued
            run.clear()
    label = "Scores, report and record" if model.strip() and not unrecorded else "Scores and report"
    return [page, _every_row(run, found.explanation), gr.File(value=files, visible=True, label=label), run.status]


def _every_row(run: Run, explanation: Explanation) -> Any:
    """Return the table of all scores, worst first and undefined scores last."""
    reader, scores = run.reader, explanation.scores
    order = [*explanation.worst_first, *(row for row in range(len(scores)) if explanation.is_undefined(row))]
    texts = [name for name, cells in reader.columns.items() if cells is not None and name not in ("images", "videos")]
    numbered = all(isinstance(one, int) for one in reader.ids)
    rows = [
        [reader.ids[row] if numbered else str(reader.ids[row]), None if math.isnan(score) else round(score, _DIGITS)]
        + [_shorten((reader.columns[name] or ())[row]) for name in texts]
        for row, score in ((row, scores[row]) for row in order)
    ]
    headers = ["row", run.metric, *texts]
    kinds = ["number" if numbered else "str", "number", *("str" for _ in texts)]
    return gr.Dataframe(value=rows, headers=headers, datatype=kinds, visible=True)


def _rest(run: Run | None) -> list[Any]:
    if run is not None:
        run.is_busy = False
    return [*_buttons(busy=False, run=run), gr.skip() if run is None else run.status]
