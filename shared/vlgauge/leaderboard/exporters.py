"""Records in the forms that the Hub and its cards take: records in, text out; nothing is sent from here.

The formats of the Hub have no direction and rank from high to low. Where lower is better, `eval_results` and
`eval_yaml` therefore leave a record out and say so, or negate it under the name ``<metric>_neg``.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vlgauge.leaderboard.records import Record
from vlgauge.leaderboard.runs import Run, numbers, row_keys
from vlgauge.leaderboard.table import ARROWS, Cell, Table, mean_text, render
from vlgauge.settings import one_of, warn

ORGANIZATION = "vlgauge"
LOWER_IS_BETTER = ("skip", "negate")
MARKERS = ("<!-- leaderboard:start -->", "<!-- leaderboard:end -->")
_STORIES = ("groovist", "rovist", "d_hm")


@dataclass(frozen=True)
class Export:
    """A file for a repository of the Hub.

    Attributes:
        kind: "model" or "dataset".
        repository: Its id.
        path: Of the file there.
        content: What is in it.
    """

    kind: str
    repository: str
    path: str
    content: str | bytes


def eval_results(records: Sequence[Record], *, lower_is_better: str = "skip") -> list[Export]:
    """`.eval_results/vlgauge-<data set>.yaml` in the repository of each model.

    Args:
        records: The records.
        lower_is_better: "skip" or "negate".

    Raises:
        ValueError: If a record is of the embedded profile, or the Hub has room for one of two: it keeps one number per
            model, data set and metric.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    _refuse_embedded(records, "eval-results")
    entries: dict[tuple[str, str], dict[tuple[str, str], EvalResultEntry]] = {}
    for record, task, value in _ranked_from_high(records, lower_is_better):
        source = _source(record)
        entry = EvalResultEntry(
            dataset_id=record.dataset.id,
            task_id=task,
            value=value,
            dataset_revision=record.dataset.revision,
            date=record.date,
            source_url=source.get("url"),
            source_name=source.get("name"),
            source_user=source.get("user"),
            source_org=source.get("org"),
            notes="; ".join(
                filter(None, [record.signature, "" if record.higher_is_better else "negated", record.notes])
            ),
        )
        own = entries.setdefault((record.model.id, _file_name(record.dataset.name)), {})
        _put_once(own, (record.dataset.id, task), entry, record)
    return [
        Export(
            "model", model, f".eval_results/vlgauge-{name}.yaml", _yaml(eval_result_entries_to_yaml([*own.values()]))
        )
        for (model, name), own in entries.items()
    ]


def model_index(records: Sequence[Record]) -> list[Export]:
    """The front matter ``model-index`` of the card of each model, with the numbers as they are.

    Raises:
        ValueError: If a record is of the embedded profile, or two of one model and data set have different sources,
            of which the Hub's library keeps the first.
    """
    from huggingface_hub import EvalResult, ModelCardData

    _refuse_embedded(records, "model-index")
    results: dict[str, list[EvalResult]] = {}
    first: dict[tuple[Any, ...], Record] = {}
    for record in records:
        on, source = record.dataset, _source(record)
        sibling = first.setdefault((record.model.id, on.id, on.config, on.split, on.revision), record)
        for what in ("source", "dataset"):
            if getattr(sibling, what) != getattr(record, what):
                raise ValueError(
                    f"`records` must have one {what} per model and data set for model-index, got two for "
                    f"{record.model.id} and {on.id}"
                )
        results.setdefault(record.model.id, []).append(
            EvalResult(
                task_type="image-to-text",
                task_name="Visual storytelling" if sibling.metric.startswith(_STORIES) else "Image captioning",
                dataset_type=on.id,
                dataset_name=on.name,
                dataset_config=on.config,
                dataset_split=on.split,
                dataset_revision=on.revision,
                metric_type=f"{ORGANIZATION}/{record.metric}",
                metric_value=record.value,
                metric_name=record.title,
                metric_args={"signature": record.signature},
                source_url=source.get("url"),
                source_name=source.get("name"),
            )
        )
    names = {record.model.id: record.model.name for record in reversed(records)}
    return [
        Export(
            "model",
            model,
            "README.md",
            f"---\n{_yaml(ModelCardData(model_name=names[model], eval_results=own).to_dict())}---\n",
        )
        for model, own in results.items()
    ]


def eval_yaml(
    records: Sequence[Record], *, description: str | None = None, lower_is_better: str = "skip"
) -> list[Export]:
    """`eval.yaml` in the repository of each data set: its tasks, one per metric, as the Hub keeps one number per task.

    Args:
        records: The records.
        description: Of the leaderboard; None for one of our own.
        lower_is_better: "skip" or "negate".

    Raises:
        ValueError: If a record is of the embedded profile.
    """
    _refuse_embedded(records, "eval-yaml")
    found: dict[str, dict[str, Any]] = {}
    for record, task, _ in _ranked_from_high(records, lower_is_better):
        on = record.dataset
        content = found.setdefault(
            on.id,
            {
                "name": on.name,
                "description": description or f"Generated text for {on.name}, by the metrics of vlgauge",
                "evaluation_framework": ORGANIZATION,
                "tasks": [],
            },
        )
        told = {"id": task, "config": on.config, "split": on.split}
        if told not in content["tasks"]:
            content["tasks"].append(told)
    return [Export("dataset", identity, "eval.yaml", _yaml(content)) for identity, content in found.items()]


def results_repository(
    records: Sequence[Record], repository: str, runs: Mapping[str, Run] | None = None, *, by: str | None = None
) -> list[Export]:
    """The files of a data set that holds results: the records, tables of them, and the scores of each example.

    Args:
        records: The records.
        repository: Id of the data set.
        runs: Scores by the id of the model, as `vlgauge score --output` writes them; those of a record are added to it
            where their signature is the same.
        by: Metric by which the tables are sorted.

    Raises:
        ValueError: If the scores of a model belong to no record, or two records would have the same file.
    """
    files: dict[str, Export] = {}
    used = set()
    for record in records:
        run = (runs or {}).get(record.model.id)
        if run is None or run.get(f"{record.metric}_signature") != record.signature:
            continue
        used.add(record.model.id)
        on = record.dataset
        folder = _file_name(f"{on.id}--{on.config}--{on.split}".replace("/", "--"))
        path = f"data/{record.metric}/{folder}/{_file_name(record.model.id.replace('/', '--'))}.parquet"
        _put_once(files, path, Export("dataset", repository, path, _parquet(run, record.metric)), record)
    if idle := [model for model in runs or {} if model not in used]:
        raise ValueError(f"`runs` must have scores of the records, got those of {idle[0]} with the signature of none")
    lines = "".join(record.line() for record in records)
    configs = [
        f"- config_name: {metric}\n  data_files: data/{metric}/*/*.parquet\n"
        for metric in dict.fromkeys(path.split("/")[1] for path in files)
    ]
    matter = "".join(
        ["---\npretty_name: Results\ntags:\n- leaderboard\n", *(["configs:\n", *configs] if configs else [])]
    )
    readme = f"{matter}---\n\n# Results\n\n{tables(records, by=by, split_signatures=True)}\n"
    return [
        Export("dataset", repository, "results.jsonl", lines),
        Export("dataset", repository, "README.md", readme),
        *files.values(),
    ]


# -- Cards of data sets -----------------------------------------------------------------------------------------------
def dataset_card(
    records: Sequence[Record], card: str, *, by: str | None = None, split_signatures: bool = False
) -> list[Export]:
    """The card of a data set with the tables of its results between the two markers; every other letter stays.

    Args:
        records: The records, all of one data set.
        card: Text of the card.
        by: Metric by which the tables are sorted; the first one if None.
        split_signatures: Whether results of one metric with different signatures get a column each.

    Raises:
        ValueError: If a marker is missing, comes twice or they are swapped, the records are of several data sets, or of
            several signatures of one metric.
    """
    identities = list(dict.fromkeys(record.dataset.id for record in records))
    if len(identities) != 1:
        raise ValueError(
            f"`records` must be of one data set, got {', '.join(identities) or 'none'}; choose with --dataset"
        )
    start, end = MARKERS
    if card.count(start) != 1 or card.count(end) != 1 or card.index(start) > card.index(end):
        raise ValueError(
            f"`card` must have the line {start} and, below it, the line {end}, each once, got {card.count(start)} and "
            f"{card.count(end)} of them" + (", swapped" if card.count(start) == card.count(end) == 1 else "")
        )
    before, after = card[: card.index(start) + len(start)], card[card.index(end) :]
    text = tables(records, by=by, split_signatures=split_signatures)
    return [Export("dataset", identities[0], "README.md", f"{before}\n{text}\n{after}")]


def tables(
    records: Sequence[Record], *, by: str | None = None, split_signatures: bool = False, form: str = "markdown"
) -> str:
    """A table per data set, configuration, split and revision, those of the embedded profile by themselves.

    Args:
        records: The records.
        by: Metric by which the tables are sorted; the first one if None, or where a table lacks it.
        split_signatures: Whether results of one metric with different signatures get a column each.
        form: As in `vlgauge.leaderboard.table.render`.

    Raises:
        ValueError: If no record is of the metric, or results of different signatures would be in one column.
    """
    if by is not None and by not in {record.metric for record in records}:
        raise ValueError(f"`by` must be a metric of the records, got {by!r}")
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in sorted(records, key=lambda record: record.profile == "embedded"):
        on = record.dataset
        groups.setdefault((record.profile, on.id, on.config, on.split, on.revision), []).append(record)
    return "\n\n".join(
        render(records_table(own, by=by, split_signatures=split_signatures), form) for own in groups.values()
    )


def records_table(records: Sequence[Record], *, by: str | None = None, split_signatures: bool = False) -> Table:
    """The table of one data set: a row per model, a column per metric, the best of each bold, ties share a rank.

    Args:
        records: Of one data set, configuration, split, revision and profile.
        by: Metric by which it is sorted.
        split_signatures: Whether results of one metric with different signatures get a column each.
    """
    columns: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        columns.setdefault(record.metric, {}).setdefault(record.signature, []).append(record)
    for metric, signatures in columns.items():
        if len(signatures) > 1 and not split_signatures:
            raise ValueError(
                f"`records` must have one signature per metric in a table, got {len(signatures)} of {metric}: "
                f"{', '.join(signatures)}; give each a column with --split-signatures"
            )
    parted = [(signature, own) for signatures in columns.values() for signature, own in signatures.items()]
    chosen = by if by in columns else next(iter(columns))
    (sorting, *_) = columns[chosen].values()
    cells = [{_row(record): record for record in own} for _, own in parted]
    rows = _ranked(records, {_row(record): record for record in sorting})
    header, notes = ["#", "model"], []
    for number, (signature, own) in enumerate(parted, 1):
        mark = f" ({number})" if split_signatures and len(columns[own[0].metric]) > 1 else ""
        header.append(f"{own[0].title} {ARROWS[own[0].higher_is_better]}{mark}")
        notes.append(f"{mark.strip()} {signature}".strip())
    names = _names(records)
    lines = [
        [
            Cell(rank, right=True),
            Cell(names[row]),
            *(_value_cell(own, row) for own in cells),
            Cell(_count(row, cells), right=True),
        ]
        for row, rank in rows.items()
    ]
    on = records[0].dataset
    revision = f" at {on.revision[:8]}" if on.revision else ""
    profile = ", with toy weights of the embedded profile" if records[0].profile == "embedded" else ""
    caption = f"{on.name}, {on.config}, {on.split}{revision}{profile}"
    dates = sorted({record.date for record in records})
    told = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    intervals = sorted({f"{100 * record.ci.level:g} %" for record in records if record.ci})
    what = f"Means with {' or '.join(intervals)} intervals, " if intervals else "Means, "
    return Table([*header, "n"], lines, caption, [f"{what}{told}.", *notes])


def _row(record: Record) -> tuple[str, str | None]:
    return record.model.id, record.model.revision


def _names(records: Sequence[Record]) -> dict[tuple[str, str | None], str]:
    """Names of the models, as far as needed to tell them apart."""
    names = {_row(record): record.model.name for record in records}
    for tell in (lambda row: row[0], lambda row: f"{row[0]} {(row[1] or 'of no revision')[:14]}"):
        taken = list(names.values())
        names = {row: tell(row) if taken.count(name) > 1 else name for row, name in names.items()}
    return names


def _ranked(
    records: Sequence[Record], sorting: Mapping[tuple[str, str | None], Record]
) -> dict[tuple[str, str | None], str]:
    """Ranks of the rows, the best first; those without a value come last and have none."""
    higher = next(iter(sorting.values())).higher_is_better
    values = sorted((record.value for record in sorting.values()), reverse=higher)
    ordered = sorted(sorting, key=lambda row: values.index(sorting[row].value))
    ranks = {row: str(values.index(sorting[row].value) + 1) for row in ordered}
    return ranks | {_row(record): "-" for record in records if _row(record) not in ranks}


def _value_cell(own: Mapping[tuple[str, str | None], Record], row: tuple[str, str | None]) -> Cell:
    if row not in own:
        return Cell("-", right=True)
    record = own[row]
    values = [other.value for other in own.values()]
    best = record.value == (max(values) if record.higher_is_better else min(values))
    low, high = (record.ci.low, record.ci.high) if record.ci else (None, None)
    return Cell(mean_text(record.value, low, high, digits=3), best, right=True)


def _count(row: tuple[str, str | None], cells: Sequence[Mapping[tuple[str, str | None], Record]]) -> str:
    """Number of examples of a model; both ends where its metrics differ in it."""
    counts = sorted({own[row].n for own in cells if row in own})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


# -- What several formats need ----------------------------------------------------------------------------------------
def _refuse_embedded(records: Iterable[Record], form: str) -> None:
    for record in records:
        if record.profile == "embedded":
            raise ValueError(
                f"`records` must be of the paper profile for {form}, got {record.metric} of {record.model.id} with toy "
                "weights of the embedded one; leave those out with --profile paper"
            )


def _ranked_from_high(records: Sequence[Record], lower_is_better: str) -> list[tuple[Record, str, float]]:
    """Records with the name of their task and a value of which more is better."""
    one_of("lower_is_better", lower_is_better, LOWER_IS_BETTER)
    found = []
    for record in records:
        if record.higher_is_better:
            found.append((record, record.metric, record.value))
        elif lower_is_better == "negate":
            found.append((record, f"{record.metric}_neg", 0.0 - record.value))  # no -0.0
    left_out = [f"{record.metric} of {record.model.id}" for record in records if not record.higher_is_better]
    if left_out and lower_is_better == "skip":
        warn(
            f"left out, because the Hub ranks from high to low and lower is better here: {', '.join(left_out)}; negate "
            "them with --lower-is-better=negate"
        )
    return found


def _source(record: Record) -> dict[str, Any]:
    return {} if record.source is None else asdict(record.source)


def _put_once(files: dict[Any, Any], key: Any, value: Any, record: Record) -> None:
    if key in files:
        raise ValueError(
            f"`records` must have one result per model, data set and metric here, got two for {record.model.id}, "
            f"{record.dataset.id} and {record.metric}; leave one out"
        )
    files[key] = value


def _file_name(text: str) -> str:
    """A name as a file may have it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-") or "unnamed"


def _yaml(content: Any) -> str:
    import yaml

    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000))


def _parquet(run: Run, metric: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = row_keys(run["ids"])
    scores = numbers(f"{metric}_scores", run[f"{metric}_scores"], keys)
    table = pa.table({"id": pa.array(keys, pa.string()), "score": pa.array(scores, pa.float64(), from_pandas=True)})
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()
