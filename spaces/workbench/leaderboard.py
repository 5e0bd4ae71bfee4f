"""Tab that ranks the records of `results.jsonl`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr

from vlgauge.core.catalog import metric_title
from vlgauge.core.errors import UsageError
from vlgauge.core.signatures import uses_demo_model
from vlgauge.leaderboard import Record, read_records
from vlgauge.leaderboard.record_groups import RecordGroups, column_of, table_of
from vlgauge.leaderboard.record_tables import tables
from vlgauge.leaderboard.table import Cell, render, systems_table, title
from vlgauge_workbench import bundled_systems as systems
from vlgauge_workbench.data_set import HUB, PRIVATE
from vlgauge_workbench.errors import hidden, in_one_sentence, in_words_of
from vlgauge_workbench.hosting import Hosting
from vlgauge_workbench.pages import page_of_tables
from vlgauge_workbench.picker import file_field, html, status_field
from vlgauge_workbench.results_data_set import MOST_BYTES, MOST_RECORDS, Results, fetch_results
from vlgauge_workbench.selection import MODEL
from vlgauge_workbench.stopping import stoppable

EVERY = "(all)"
# Limit for uploads. A table has a cell for each pair of model and column, even if few of them have a value.
MOST_CELLS = 100_000
_KEPT_SECONDS = 3600.0
_PROFILES = {EVERY: EVERY, "Paper": "paper", "Embedded (demo models)": "embedded"}


def add_tab(given: Sequence[Record], hosting: Hosting) -> dict[str, Any]:
    """Add the components and events of the tab.

    Returns:
        Keyword arguments of the event that opens the tab.
    """

    # These functions close over the records that the tab starts with.
    @in_one_sentence
    def opened(paths: Sequence[str] | None, fetched: Results) -> list[Any]:
        records = merge_records(given, paths, fetched.records)
        return [*filters(records), page_of(records, fetched.groups)]

    def emptied(paths: Sequence[str] | None) -> list[Any]:
        return [Results(), "", *opened(paths, Results())]

    @in_one_sentence
    def chosen(paths: Sequence[str] | None, fetched: Results, *wanted: Any) -> str:
        return page_of(merge_records(given, paths, fetched.records), fetched.groups, *wanted)

    @in_one_sentence
    def first_shown(paths: Sequence[str] | None, fetched: Results) -> Any:
        return gr.skip() if given or paths or fetched.records else page_of(())

    with gr.Accordion(
        "Your own results: a file of records, or a dataset of the Hub", open=False, elem_id="own-results"
    ):
        gr.Markdown(
            "Shows records of `vlgauge score --record results.jsonl`, one table per dataset. Ranks use only the "
            "values, so close values may differ by chance. Without row scores, models with undefined rows have no "
            "rank. If a dataset of the Hub contains row scores (see `vlgauge export results-repository`), values "
            "cover the common rows of all models, and models without significant differences share a rank group.",
        )
        files = file_field("one or more results.jsonl files", [".jsonl"], several=True)
        with gr.Row():
            info = "OWNER/NAME of a dataset with a results.jsonl"
            repository = gr.Textbox("", label="Results on the Hub", info=info, max_length=200, min_width=280)
            info = "Only for gated and private datasets; sent only to the Hub and never stored"
            token = gr.Textbox("", label="Token", info=info, type="password", max_length=200, min_width=280)
            commit = status_field("Commit", min_width=160)
            read = gr.Button("Read", elem_id="read-results", min_width=120)
    fetched = gr.State(Results(), time_to_live=_KEPT_SECONDS)
    with gr.Row():
        wanted = filters(given)
    page = html(page_of(given) if given else "", "", elem_id="leaders", label="Leaderboard")
    filled = [*wanted, page]
    of_hub: dict[str, Any] = {"fn": _fetcher(hosting), "inputs": [repository, token], "outputs": [fetched, commit]}
    # Clear the page first, so that tables of the previous dataset do not remain below a rejected name.
    of_name = read.click(emptied, files, [fetched, commit, *filled], **PRIVATE).success(**of_hub, **HUB, **PRIVATE)
    for event in (files.change, of_name.success):
        event(opened, [files, fetched], filled, **PRIVATE)
    # Use `change` for the text field, because `input` events do not contain pasted text yet.
    for changed in (*(one.input for one in wanted[:4]), wanted[4].change):
        changed(chosen, [files, fetched, *wanted], page, trigger_mode="always_last", **PRIVATE)
    on_open = {"fn": stoppable(first_shown), "inputs": [files, fetched], "outputs": page, "show_progress_on": page}
    return on_open | MODEL | PRIVATE


def _fetcher(hosting: Hosting) -> Callable[..., Any]:
    @in_words_of({"dataset": "Results on the Hub"})
    def fetched(name: str, token: str, signed_in: gr.OAuthToken | None = None) -> tuple[Results, str]:
        if not name.strip():
            raise UsageError.about("Results on the Hub", "is required: OWNER/NAME of a dataset")
        own = token.strip() or (signed_in.token if signed_in else None) or hosting.token
        with hidden(own):
            return fetch_results(name.strip(), own)

    return fetched


def merge_records(given: Sequence[Record], paths: Sequence[str] | None, fetched: Sequence[Record] = ()) -> list[Record]:
    """Return the initial records, the records of uploaded files and the records of a dataset, without duplicates.

    Raises:
        ValueError: If there are too many records, a line is not a valid record, or files have different values for one
            result.
    """
    found = {record.key: record for record in given}
    _check_limits(paths or ())
    for records in (*map(read_records, paths or ()), fetched):
        for record in records:
            if found.setdefault(record.key, record).value != record.value:
                raise UsageError.about(
                    "results.jsonl",
                    f"must have one value per metric, signature, model and dataset, got two of {record.metric} for "
                    f"{record.model.id} on {record.dataset.id}",
                    "remove one",
                )
    return list(found.values())


def _check_limits(paths: Sequence[str]) -> None:
    """Check the size of the files before they are parsed."""
    n_bytes = sum(Path(path).stat().st_size for path in paths)
    if n_bytes > MOST_BYTES:
        most, size = MOST_BYTES / 1e6, n_bytes / 1e6
        raise UsageError.about("results.jsonl", f"must have at most {most:g} MB in all files, got {size:.1f} MB")
    n_lines = sum(Path(path).read_bytes().count(b"\n") for path in paths)
    if n_lines > MOST_RECORDS:
        message = f"must have at most {MOST_RECORDS:,} records in all files, got {n_lines:,}"
        raise UsageError.about("results.jsonl", message)


def _n_cells(records: Sequence[Record]) -> int:
    """Return the number of cells in the tables of the records, the sum of rows times columns."""
    rows: dict[tuple[Any, ...], set[Any]] = {}
    columns: dict[tuple[Any, ...], set[Any]] = {}
    for record in records:
        table = table_of(record)
        rows.setdefault(table, set()).add((record.model.id, record.model.revision))
        columns.setdefault(table, set()).add(column_of(record))
    return sum(len(own) * len(columns[table]) for table, own in rows.items())


def filters(records: Sequence[Record]) -> list[Any]:
    """Return the Gradio components of the filters: dataset, metrics, ranking metric, profile, part of the name."""
    datasets = sorted({record.dataset.id for record in records})
    metrics = [(metric_title(name), name) for name in dict.fromkeys(record.metric for record in records)]
    common: dict[str, Any] = {"min_width": 160, "visible": bool(records)}
    ranking = [("The first one", EVERY), *metrics]
    return [
        gr.Dropdown([EVERY, *datasets], value=EVERY, label="Dataset", **common),
        gr.Dropdown(metrics, value=[], multiselect=True, label="Metrics (all if none)", **common),
        gr.Dropdown(ranking, value=EVERY, label="Ranked by", **common),
        gr.Dropdown(list(_PROFILES.items()), value=EVERY, label="Profile", **common),
        gr.Textbox("", label="Model contains", max_length=200, **common),
    ]


@cache
def page_of_systems() -> str:
    """Return the page with the table of the bundled systems."""
    found = systems.compare_bundled(systems.NAMES, systems.first_metrics(), "embedded").comparison
    made, titles = systems_table(found), {title(one): title(one, spoken=True) for one in found.metrics}
    header = [titles.get(one, one) for one in made.header]
    table = replace(made, header=header, caption="Six example systems (five captions for each of ten scenes)")
    # The page recomputes the ranks when the table is sorted.
    placed = replace(table, header=["#", *table.header], rows=[[Cell(""), *row] for row in table.rows])
    copied = {"Markdown": render(table, "markdown"), "LaTeX": render(table, "latex")}
    return page_of_tables(
        render(placed, "html"), copied=copied, is_demo=any(uses_demo_model(m.signature) for m in found.metrics)
    )


def page_of(
    records: Sequence[Record],
    groups: RecordGroups | None = None,
    dataset: str = EVERY,
    metrics: Sequence[str] = (),
    by: str = EVERY,
    profile: str = EVERY,
    model: str = "",
) -> str:
    """Return the page with the tables of the selected records."""
    if not records:
        return page_of_systems()
    wanted = [
        record
        for record in records
        if dataset in (EVERY, record.dataset.id)
        and (not metrics or record.metric in metrics)
        and profile in (EVERY, record.profile)
        and model.lower() in f"{record.model.name} {record.model.id}".lower()
    ]
    if not wanted:
        return page_of_tables("", "No record matches the selection.")
    if (n_cells := _n_cells(wanted)) > MOST_CELLS:
        sentence = (
            f"The tables have {n_cells:,} cells, at most {MOST_CELLS:,} can be shown: select a dataset or metrics."
        )
        return page_of_tables("", sentence)
    ranked = by if any(record.metric == by for record in wanted) else None
    forms = {
        form: tables(wanted, by=ranked, split_signatures=True, form=form, groups=groups)
        for form in ("html", "markdown", "latex")
    }
    return page_of_tables(forms["html"], copied={"Markdown": forms["markdown"], "LaTeX": forms["latex"]})
