"""The tab that ranks the records of `results.jsonl`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from vlgauge.catalog import metric_title
from vlgauge.leaderboard import Record, read_records
from vlgauge.leaderboard.record_tables import tables
from vlgauge.workbench.errors import in_one_sentence
from vlgauge.workbench.pages import page_of_tables

EVERY = "(all)"
_PROFILES = {EVERY: EVERY, "Paper": "paper", "Embedded, with toys": "embedded"}


def add_tab(given: Sequence[Record]) -> None:
    """Add what the tab shows and does.

    Args:
        given: Records that are there from the start.
    """

    # These hold the records that were there from the start.
    @in_one_sentence
    def opened(paths: Sequence[str] | None) -> list[Any]:
        records = merged(given, paths)
        return [*filters(records), page_of(records)]

    @in_one_sentence
    def chosen(paths: Sequence[str] | None, *wanted: Any) -> str:
        return page_of(merged(given, paths), *wanted)

    gr.Markdown(
        "Records that `vlgauge score --record results.jsonl` keeps: a table per data set, arrows to the better side, "
        "intervals. Ranks are those of the values; whether two systems are told apart says the tab before this one.",
    )
    with gr.Row():
        files = gr.File(label="results.jsonl, one or several", file_count="multiple", file_types=[".jsonl"], height=140)
    with gr.Row():
        dataset, metrics, by, profile = filters(given)
        model = gr.Textbox(label="Model contains", max_length=200, min_width=160)
    page = gr.HTML(page_of(given), label="Leaderboard")
    wanted = [dataset, metrics, by, profile, model]
    files.change(opened, files, [*wanted[:4], page], api_visibility="private")
    for one in wanted:
        one.input(chosen, [files, *wanted], page, api_visibility="private", trigger_mode="always_last")


def merged(given: Sequence[Record], paths: Sequence[str] | None) -> list[Record]:
    """The records that were there and those of uploaded files, each once.

    Raises:
        ValueError: If a line is no record, or two files have different numbers for one result.
    """
    found = {record.key: record for record in given}
    for path in paths or ():
        for record in read_records(path):
            if found.setdefault(record.key, record).value != record.value:
                raise ValueError(
                    f"`results.jsonl` must have one value per metric, signature, model and data set, got two of "
                    f"{record.metric} for {record.model.id} on {record.dataset.id}; leave one file out"
                )
    return list(found.values())


def filters(records: Sequence[Record]) -> list[Any]:
    """What can be chosen of some records: data set, metrics, the one that ranks, profile."""
    datasets = sorted({record.dataset.id for record in records})
    metrics = [(metric_title(name), name) for name in dict.fromkeys(record.metric for record in records)]
    return [
        gr.Dropdown([EVERY, *datasets], value=EVERY, label="Data set", min_width=160),
        gr.Dropdown(metrics, value=[], multiselect=True, label="Metrics (all if none)", min_width=160),
        gr.Dropdown([("The first one", EVERY), *metrics], value=EVERY, label="Ranked by", min_width=160),
        gr.Dropdown(list(_PROFILES.items()), value=EVERY, label="Profile", min_width=160),
    ]


def page_of(
    records: Sequence[Record],
    dataset: str = EVERY,
    metrics: Sequence[str] = (),
    by: str = EVERY,
    profile: str = EVERY,
    model: str = "",
) -> str:
    """The tables of the records that are wanted."""
    if not records:
        return ""
    wanted = [
        record
        for record in records
        if dataset in (EVERY, record.dataset.id)
        and (not metrics or record.metric in metrics)
        and profile in (EVERY, record.profile)
        and model.lower() in f"{record.model.name} {record.model.id}".lower()
    ]
    if not wanted:
        return page_of_tables("")
    ranked = by if any(record.metric == by for record in wanted) else None
    return page_of_tables(tables(wanted, by=ranked, split_signatures=True, form="html"))
