"""Check that a file contains valid records, and that their values match the scores."""

import argparse
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from vlgauge.api.recording import records_of
from vlgauge.cli.inputs import declare
from vlgauge.cli.outputs import check_target
from vlgauge.cli.scoring import names_in
from vlgauge.core.catalog import metric_of_score
from vlgauge.core.errors import UsageError
from vlgauge.core.results import printable, to_table
from vlgauge.core.validation import short_repr
from vlgauge.leaderboard.record import Dataset, Model, Record, RecordSource
from vlgauge.leaderboard.recorded_scores import Checked, scores_of_records
from vlgauge.leaderboard.records import append_records, read_records
from vlgauge.leaderboard.runs import Run, read_run, scores_in

ENDINGS = (".jsonl",)
_SHOWN_MODELS = 5  # models named in a message
_NEEDED = ("model", "dataset", "split")
_OTHERS = {
    "model_name": "display name of the model (default: last part of its id)",
    "model_revision": "commit of the model",
    "dataset_name": "display name of the dataset (default: last part of its id)",
    "dataset_config": "configuration of the dataset (default: default)",
    "dataset_revision": "commit of the dataset",
    "source_url": "URL with details, such as row scores",
    "source_name": "display name of the source",
    "source_user": "Hub user who published it",
    "source_org": "Hub organization that published it",
    "notes": "notes",
    "date": "date in ISO 8601 (default: today)",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    command = actions.add_parser("check", help="check a file of records", description=__doc__)
    declare(command, "file FILE", "results.jsonl")
    add_scores_option(command, "value, interval and counts are calculated from them once more")
    command.set_defaults(run=run_check)


def run_check(options: argparse.Namespace) -> None:
    """Run the command: read the records, compare them with their scores if these are passed, and list them.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    records = read_records(options.file)
    if not records:
        raise UsageError(f"FILE must contain at least one record, got none in {options.file!r}")
    scored = {one.record.key: one for one in scores_of_records(records, read_scores(records, options.scores))}
    rows = []
    for one in records:
        row = [one.metric, one.model.id, one.dataset.id, one.dataset.split, one.profile, one.value, one.n]
        rows.append([*row, one.undefined, _describe(scored.get(one.key), one)])
    header = ["metric", "model", "dataset", "split", "profile", "value", "n", "undefined", "scores"]
    print(to_table(header, rows))
    print("\n" + _summary(records, scored.values()))


def _describe(checked: Checked | None, record: Record) -> str:
    unsigned = "" if record.scores_sha256 else ", unsigned"
    if checked is None:
        return f"not given{unsigned}"
    return f"the same{unsigned}" + (f", interval not checked: {checked.interval}" if checked.interval else "")


def _summary(records: Sequence[Record], scored: Collection[Checked]) -> str:
    count = f"{len(records)} record{'s' if len(records) != 1 else ''}"
    held = f"{count}: all fields agree with metric and signature, and the values are consistent"
    if not scored:
        return f"{held}; pass --scores MODEL=FILE to compare them with the scores"
    whole = sum(not one.interval for one in scored)
    return f"{held}; {len(scored)} with the value and counts of their scores, {whole} of these with their interval"


def add_scores_option(command: argparse.ArgumentParser, purpose: str) -> None:
    """Add the option that names files of scores."""
    words = f"scores of a model per row, from `vlgauge score --output`; {purpose}"
    declare(command, "--scores MODEL=FILE", words, action="append", default=[])


def read_scores(records: Sequence[Record], given: Sequence[str]) -> dict[str, list[Run]]:
    """Return the files of scores by model ID, one or several per model.

    Raises:
        UsageError: If a text is not MODEL=FILE, or the file contains no scores.
    """
    runs: dict[str, list[Run]] = {}
    for text in given:
        model, equals, path = text.partition("=")
        known = dict.fromkeys(record.model.id for record in records)
        if not equals or model not in known:
            named = ", ".join(map(short_repr, [*known][:_SHOWN_MODELS])) or "none"
            more = f" and {len(known) - _SHOWN_MODELS} more" if len(known) > _SHOWN_MODELS else ""
            raise UsageError(
                f"--scores must be MODEL=FILE with a model of the records, got {text!r}; there are {named}{more}"
            )
        found = read_run(path, [])
        if found is None:
            raise UsageError(f"--scores must name a file that `vlgauge score --output` wrote, got {path!r}")
        runs.setdefault(model, []).append(found)
    return runs


def add_record_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that record their scores."""
    group = parser.add_argument_group("records", "lines in a file of results, for exports and leaderboards")
    declare(group, "--record FILE", "add a record per metric to this file (results.jsonl)")
    declare(group, "--model OWNER/NAME", "Hub id of the model that generated the predictions")
    declare(group, "--dataset OWNER/NAME", "Hub id of the dataset")
    declare(group, "--split SPLIT", "split of the dataset, including hub:OWNER/NAME")
    words = "scores to record, such as clip_s,ref_clip_s (default: the main score of each metric)"
    declare(group, "--record-scores SCORE,...", words)
    for name, words in _OTHERS.items():
        declare(group, f"--{name.replace('_', '-')} {name.rpartition('_')[2].upper()}", words)


def check_record_options(options: argparse.Namespace, source: str) -> None:
    """Check that the results can be recorded, before the work is done.

    Raises:
        ValueError: If an option is missing or invalid, or the file has other content.
    """
    given = [name for name in (*_NEEDED, *_OTHERS, "record_scores") if getattr(options, name) is not None]
    if options.record is None:
        if given:
            raise UsageError(f"--{given[0].replace('_', '-')} requires --record FILE")
        return
    lacking = [f"--{name}" for name in _NEEDED if name not in given]
    if lacking:
        raise UsageError(f"--record requires {', '.join(lacking)}")
    check_target(options.record, [source], "--record", ENDINGS)
    for name in names_in(options.record_scores):
        metric_of_score(name)
    if options.source_url is None and any(name.startswith("source_") for name in given):
        raise UsageError("--source-name, --source-user and --source-org require --source-url")
    # Build a record with made-up values, which raises an error if any other field is invalid.
    made_up = {"ids": [0], "trm_scores": [0.0], "trm_signature": "trm|v:0|profile:paper"}
    _records(made_up, ["trm"], options)
    if Path(options.record).exists():
        read_records(options.record)


def record_results(run: Run, metrics: Iterable[str], options: argparse.Namespace) -> None:
    """Append a record per metric, or per score of `--record-scores`, to the file of the options, and print a summary.

    Raises:
        ValueError: If a selected score is not in the result, or the file cannot be written.
    """
    if options.record is None:
        return
    names = names_in(options.record_scores) or list(metrics)
    for name in names:
        if f"{name}_signature" not in run or f"{name}_scores" not in run:
            there = ", ".join(scores_in(run))
            raise UsageError(f"--record-scores must be scores of the result, got {name!r}; there are {there}")
    added = append_records(options.record, _records(run, names, options))
    listed = ", ".join(record.metric for record in added) or "nothing, because all records exist already"
    sys.stderr.write(f"recorded in {printable(options.record)}: {listed}\n")


def _records(run: Run, names: Sequence[str], options: argparse.Namespace) -> list[Record]:
    def named(given: str | None, identity: str) -> str:
        return given if given is not None else identity.rpartition("/")[2]

    source = None
    if options.source_url is not None:
        source = RecordSource(options.source_url, options.source_name, options.source_user, options.source_org)
    name, config = named(options.dataset_name, options.dataset), options.dataset_config or "default"
    dataset = Dataset(options.dataset, name, config, options.split, options.dataset_revision)
    model = Model(options.model, named(options.model_name, options.model), options.model_revision)
    how: dict[str, Any] = {"split": options.split, "date": options.date, "notes": options.notes, "source": source}
    return records_of(run, names, model, dataset, **how)
