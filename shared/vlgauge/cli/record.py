"""`vlgauge record check FILE`: whether a file holds records of results, and of what."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vlgauge.cli.outputs import check_target
from vlgauge.leaderboard.record import Dataset, Model, Record, Source
from vlgauge.leaderboard.records import append_records, read_records, record_of
from vlgauge.results import printable, to_table

ENDINGS = (".jsonl",)
_NEEDED = ("model", "dataset", "split")
_OTHERS = {
    "model_name": "name of the model for people (default: the end of its id)",
    "model_revision": "commit of the model",
    "dataset_name": "name of the data set for people (default: the end of its id)",
    "dataset_config": "configuration of the data set (default: default)",
    "dataset_revision": "commit of the data set",
    "source_url": "where more is to be seen, such as the scores per example",
    "source_name": "name of that for people",
    "source_user": "who published it on the Hub",
    "source_org": "which organization published it on the Hub",
    "notes": "anything else",
    "date": "when, by ISO 8601 (default: today)",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    command = actions.add_parser("check", help="check a file of records", description=__doc__)
    command.add_argument("file", metavar="FILE", help="results.jsonl")
    command.set_defaults(run=run_check)


def run_check(options: argparse.Namespace) -> int:
    """Read every record, and list them."""
    records = read_records(options.file)
    if not records:
        raise ValueError(f"FILE must hold at least one record, got none in {options.file!r}")
    rows = [[one.metric, one.model.id, one.dataset.id, one.dataset.split, one.profile, one.value] for one in records]
    print(to_table(["metric", "model", "data set", "split", "profile", "value"], rows))
    print(f"\n{len(records)} records, all of them right" if len(records) != 1 else "\n1 record, which is right")
    return 0


def add_record_options(parser: argparse.ArgumentParser) -> None:
    """The options by which a command records what it scored."""
    group = parser.add_argument_group("records", "what is added to a file of results, for exports and leaderboards")
    group.add_argument("--record", metavar="FILE", help="add a record per metric to this file, results.jsonl")
    group.add_argument("--model", metavar="OWNER/NAME", help="whose predictions they are, on the Hub")
    group.add_argument("--dataset", metavar="OWNER/NAME", help="data set that they are of, on the Hub")
    group.add_argument("--split", help="its split, also that of hub:OWNER/NAME")
    for name, words in _OTHERS.items():
        group.add_argument(f"--{name.replace('_', '-')}", metavar=name.rpartition("_")[2].upper(), help=words)


def check_record_options(options: argparse.Namespace, source: str) -> None:
    """Refuse what cannot be recorded, before the work is done.

    Raises:
        ValueError: If an option is missing or wrong, or the file holds something else.
    """
    given = [name for name in (*_NEEDED, *_OTHERS) if getattr(options, name) is not None]
    if options.record is None:
        if given:
            raise ValueError(f"--{given[0].replace('_', '-')} must come with --record FILE, which was left out")
        return
    lacking = [f"--{name}" for name in _NEEDED if name not in given]
    if lacking:
        raise ValueError(
            f"--record must come with {', '.join(lacking)}, which {'was' if len(lacking) == 1 else 'were'} left out"
        )
    check_target(options.record, [source], "--record", ENDINGS)
    if options.source_url is None and any(name.startswith("source_") for name in given):
        raise ValueError(
            "--source-name, --source-user and --source-org must come with --source-url, which was left out"
        )
    # The numbers are made up; whatever else is wrong with the record is told here.
    made_up = {"trm_scores": [0.0], "trm_signature": "trm|v:0|profile:paper"}
    _record(made_up, "trm", options)
    if Path(options.record).exists():
        read_records(options.record)


def record_results(results: Mapping[str, Mapping[str, Any]], options: argparse.Namespace) -> None:
    """Add a record per metric to the file of the options, and say so."""
    if options.record is None:
        return
    added = append_records(options.record, [_record(result, name, options) for name, result in results.items()])
    names = ", ".join(record.metric for record in added) or "nothing, as all was there already"
    sys.stderr.write(f"recorded in {printable(options.record)}: {names}\n")


def _record(result: Mapping[str, Any], metric: str, options: argparse.Namespace) -> Record:
    def named(given: str | None, identity: str) -> str:
        return given if given is not None else identity.rpartition("/")[2]

    source = None
    if options.source_url is not None:
        source = Source(options.source_url, options.source_name, options.source_user, options.source_org)
    dataset = Dataset(
        id=options.dataset,
        name=named(options.dataset_name, options.dataset),
        config=options.dataset_config or "default",
        split=options.split,
        revision=options.dataset_revision,
    )
    return record_of(
        result,
        metric,
        Model(options.model, named(options.model_name, options.model), options.model_revision),
        dataset,
        date=options.date or f"{datetime.now(UTC):%Y-%m-%d}",
        source=source,
        notes=options.notes,
    )
