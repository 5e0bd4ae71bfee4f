"""Conversion of records to the formats of the Hub and its cards, without network access.

The formats of the Hub have no direction and rank from high to low. If lower is better, `eval_results` and `eval_yaml`
therefore either leave a record out with a warning, or negate it under the name ``<metric>_neg``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vlgauge.core.errors import UsageError
from vlgauge.core.optional_dependencies import check_version
from vlgauge.core.validation import check_choice, warn
from vlgauge.leaderboard.record import Record
from vlgauge.leaderboard.record_groups import RecordGroups, record_groups
from vlgauge.leaderboard.record_tables import tables
from vlgauge.leaderboard.recorded_scores import Checked, scores_of_records
from vlgauge.leaderboard.runs import Run
from vlgauge.leaderboard.score_files import file_name, score_file, score_path

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

ORGANIZATION = "vlgauge"
LOWER_IS_BETTER = ("skip", "negate")
MARKERS = ("<!-- leaderboard:start -->", "<!-- leaderboard:end -->")
_STORIES = ("groovist", "rovist", "d_hm")


@dataclass(frozen=True)
class Export:
    """File for a repository of the Hub."""

    kind: str
    repository: str
    path: str
    content: str | bytes


def eval_results(records: Sequence[Record], *, lower_is_better: str = "skip") -> list[Export]:
    """Return the file `.eval_results/vlgauge-<dataset>.yaml` for the repository of each model.

    Args:
        records: Records of results.
        lower_is_better: Treatment of records for which lower is better, "skip" or "negate".

    Raises:
        ValueError: If a record has the embedded profile, or two records have the same model, dataset and metric, for
            which the Hub stores one value.
    """
    _check_no_embedded(records, "eval-results")
    check_version("huggingface_hub", "1.4", "the export eval-results")
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    entries: dict[tuple[str, str], dict[tuple[str, str], EvalResultEntry]] = {}
    for record, task, value in _rank_from_high(records, lower_is_better):
        entry = EvalResultEntry(
            dataset_id=record.dataset.id,
            task_id=task,
            value=value,
            dataset_revision=record.dataset.revision,
            date=record.date,
            **_source(record, "url", "name", "user", "org"),
            notes="; ".join(
                filter(None, [record.signature, "" if record.higher_is_better else "negated", record.notes])
            ),
        )
        own = entries.setdefault((record.model.id, file_name(record.dataset.name)), {})
        _put_once(own, (record.dataset.id, task), entry, record)
    contents = {key: _yaml(eval_result_entries_to_yaml([*own.values()])) for key, own in entries.items()}
    return [
        Export("model", model, f".eval_results/vlgauge-{name}.yaml", content)
        for (model, name), content in contents.items()
    ]


def model_index(records: Sequence[Record]) -> list[Export]:
    """Return the front matter ``model-index`` for the card of each model, with unchanged values.

    Args:
        records: Records of results.

    Raises:
        ValueError: If a record has the embedded profile, or two records of the same model and dataset differ in their
            sources or dataset names, of which `huggingface_hub` keeps only the first.
    """
    from huggingface_hub import ModelCardData

    _check_no_embedded(records, "model-index")
    results: dict[str, list[EvalResult]] = {}
    first: dict[tuple[Any, ...], Record] = {}
    for record in records:
        on = record.dataset
        sibling = first.setdefault((record.model.id, on.id, on.config, on.split, on.revision), record)
        for what in ("source", "dataset"):
            if getattr(sibling, what) != getattr(record, what):
                raise UsageError.about(
                    "records",
                    f"must have one {what} per model and dataset for model-index, got two for {record.model.id} and "
                    f"{on.id}",
                )
        task = "Visual storytelling" if sibling.metric.startswith(_STORIES) else "Image captioning"
        results.setdefault(record.model.id, []).append(_eval_result(record, task))
    names = {record.model.id: record.model.name for record in reversed(records)}
    cards = {model: ModelCardData(model_name=names[model], eval_results=own) for model, own in results.items()}
    return [Export("model", model, "README.md", f"---\n{_yaml(card.to_dict())}---\n") for model, card in cards.items()]


def _eval_result(record: Record, task: str) -> EvalResult:
    from huggingface_hub import EvalResult

    on = record.dataset
    return EvalResult(
        task_type="image-to-text",
        task_name=task,
        dataset_type=on.id,
        dataset_name=on.name,
        dataset_config=on.config,
        dataset_split=on.split,
        dataset_revision=on.revision,
        metric_type=f"{ORGANIZATION}/{record.metric}",
        metric_value=record.value,
        # The format has no direction, and readers would assume that higher is better.
        metric_name=record.title + ("" if record.higher_is_better else " (lower is better)"),
        metric_args={"signature": record.signature},
        **_source(record, "url", "name"),
    )


def eval_yaml(
    records: Sequence[Record], *, description: str | None = None, lower_is_better: str = "skip"
) -> list[Export]:
    """Return the file `eval.yaml` for the repository of each dataset, with one task per metric.

    The Hub stores one value per task.

    Args:
        records: Records of results.
        description: Description of the leaderboard. None uses a default one.
        lower_is_better: Treatment of records for which lower is better, "skip" or "negate".

    Raises:
        ValueError: If a record has the embedded profile.
    """
    _check_no_embedded(records, "eval-yaml")
    found: dict[str, dict[str, Any]] = {}
    for record, task, _ in _rank_from_high(records, lower_is_better):
        on = record.dataset
        about = description or f"Generated text for {on.name}, by the metrics of vlgauge"
        new = {"name": on.name, "description": about, "evaluation_framework": "vlgauge", "tasks": []}
        content = found.setdefault(on.id, new)
        entry = {"id": task, "config": on.config, "split": on.split}
        if entry not in content["tasks"]:
            content["tasks"].append(entry)
    return [Export("dataset", identity, "eval.yaml", _yaml(content)) for identity, content in found.items()]


def results_repository(
    records: Sequence[Record],
    repository: str,
    runs: Mapping[str, Sequence[Run]] | None = None,
    *,
    by: str | None = None,
) -> list[Export]:
    """Return the files of a dataset of results: the records, tables of them, and the scores of each row.

    Args:
        records: Records of results.
        repository: Id of the dataset.
        runs: Scores in the format of `vlgauge score --output`, by id of the model. Each run is checked against its
            record. The tables include the rank groups computed from them.
        by: Metric by which the tables are sorted. None uses the first one.

    Raises:
        ValueError: If scores do not belong to a record (see `vlgauge.leaderboard.recorded_scores`), or two records
            would have the same file.
    """
    files: dict[str, Export] = {}
    scored = scores_of_records(records, runs or {})
    for one in scored:
        path = score_path(one.record)
        content = score_file(one.run, one.record.metric)
        _put_once(files, path, Export("dataset", repository, path, content), one.record)
    lines = "".join(record.line() for record in records)
    metrics = dict.fromkeys(path.split("/")[1] for path in files)
    matter: dict[str, Any] = {"pretty_name": "Results", "tags": ["leaderboard"]}
    if metrics:
        matter["configs"] = [{"config_name": one, "data_files": f"data/{one}/*/*.parquet"} for one in metrics]
    groups = _groups(records, scored)
    readme = f"---\n{_yaml(matter)}---\n\n# Results\n\n{tables(records, by=by, split_signatures=True, groups=groups)}\n"
    return [
        Export("dataset", repository, "results.jsonl", lines),
        Export("dataset", repository, "README.md", readme),
        *files.values(),
    ]


def dataset_card(
    records: Sequence[Record],
    card: str,
    runs: Mapping[str, Sequence[Run]] | None = None,
    *,
    by: str | None = None,
    split_signatures: bool = False,
) -> list[Export]:
    """Return the card of a dataset with the tables of its results between the two markers and otherwise unchanged text.

    Args:
        records: Records, all of the same dataset.
        card: Text of the card.
        runs: Scores by id of the model, for rank groups, as for `results_repository`.
        by: Metric by which the tables are sorted. None uses the first one.
        split_signatures: Whether results of one metric with different signatures get separate columns.

    Raises:
        ValueError: If a marker is missing or repeated or the markers are swapped, the records have several datasets, or
            several signatures of one metric without `split_signatures`, or scores do not belong to a record.
    """
    identities = list(dict.fromkeys(record.dataset.id for record in records))
    if len(identities) != 1:
        raise UsageError.about(
            "records", f"must be of one dataset, got {', '.join(identities) or 'none'}", "choose with --dataset"
        )
    start, end = MARKERS
    if card.count(start) != 1 or card.count(end) != 1 or card.index(start) > card.index(end):
        raise UsageError(
            f"`card` must have the line {start} and, below it, the line {end}, each once, got {card.count(start)} and "
            f"{card.count(end)} of them" + (", swapped" if card.count(start) == card.count(end) == 1 else "")
        )
    before, after = card[: card.index(start) + len(start)], card[card.index(end) :]
    groups = _groups(records, scores_of_records(records, runs or {}))
    text = tables(records, by=by, split_signatures=split_signatures, groups=groups)
    return [Export("dataset", identities[0], "README.md", f"{before}\n{text}\n{after}")]


# -- Shared by several formats ----------------------------------------------------------------------------------------
def _groups(records: Sequence[Record], scored: Sequence[Checked]) -> RecordGroups | None:
    """Return the rank groups computed from scores, or None without scores."""
    return record_groups(records, {one.record.key: one.run for one in scored}, {}) if scored else None


def _check_no_embedded(records: Iterable[Record], form: str) -> None:
    if demo := next((record for record in records if record.profile == "embedded"), None):
        problem = f"must be of the paper profile for {form}, got {demo.metric} of {demo.model.id} with demo models"
        raise UsageError.about("records", problem, "select records with --profile paper")


def _rank_from_high(records: Sequence[Record], lower_is_better: str) -> list[tuple[Record, str, float]]:
    """Return records with the name of their task and a value for which higher is better."""
    check_choice("lower_is_better", lower_is_better, LOWER_IS_BETTER)
    found = []
    for record in records:
        if record.higher_is_better:
            found.append((record, record.metric, record.value))
        elif lower_is_better == "negate":
            found.append((record, f"{record.metric}_neg", 0.0 - record.value))  # no -0.0
    left_out = [f"{record.metric} of {record.model.id}" for record in records if not record.higher_is_better]
    if left_out and lower_is_better == "skip":
        warn(
            f"skipped, because the Hub ranks from high to low and lower is better here: {', '.join(left_out)}; negate "
            "them with --lower-is-better=negate"
        )
    return found


def _source(record: Record, *names: str) -> dict[str, Any]:
    return {f"source_{name}": getattr(record.source, name, None) for name in names}


def _put_once(files: dict[Any, Any], key: Any, value: Any, record: Record) -> None:
    if key in files:
        raise UsageError.about(
            "records",
            f"must have one result per model, dataset and metric here, got two for {record.model.id}, "
            f"{record.dataset.id} and {record.metric}",
            "leave one out",
        )
    files[key] = value


def _yaml(content: Any) -> str:
    import yaml

    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000))
