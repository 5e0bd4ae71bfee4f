"""Export records in formats of the Hub, to standard output, to files, or as pull requests."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from vlgauge.cli.inputs import declare
from vlgauge.cli.outputs import write_output
from vlgauge.cli.record import add_scores_option, read_scores
from vlgauge.core.errors import UsageError
from vlgauge.core.files import decode_text, read_bytes
from vlgauge.core.results import printable
from vlgauge.core.validation import PROFILES
from vlgauge.leaderboard import exporters
from vlgauge.leaderboard.record import Record
from vlgauge.leaderboard.records import read_all_records
from vlgauge.leaderboard.score_files import SCORE_FILES
from vlgauge.leaderboard.sending import card_of_dataset, plan, send

_PURPOSES = {
    "eval-results": "files .eval_results/*.yaml of models",
    "model-index": "front matter of model cards",
    "dataset-card": "tables between the two markers of a dataset card",
    "eval-yaml": "eval.yaml of datasets: tasks of their leaderboards",
    "results-repository": "a dataset with the records, tables and row scores",
}
_WITH_DIRECTION = ("eval-results", "eval-yaml")
_WITH_TABLES = ("dataset-card", "results-repository")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    forms = parser.add_subparsers(dest="form", required=True, metavar="FORM")
    for form, purpose in _PURPOSES.items():
        command = forms.add_parser(form, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
        declare(command, "files FILE", "one or more files of records (results.jsonl)", nargs="+")
        for name in ("metric", "model", "dataset"):
            declare(command, f"--{name} {name.upper()}", f"only the records of this {name}")
        declare(command, "--profile", "only the records of this profile", choices=PROFILES)
        if form in _WITH_DIRECTION:
            words = "scores for which lower is better, because the Hub ranks from high to low (default: skip)"
            declare(command, "--lower-is-better", words, choices=exporters.LOWER_IS_BETTER, default="skip")
        if form in _WITH_TABLES:
            declare(command, "--by METRIC", "metric to sort the tables by")
        if form == "dataset-card":
            declare(command, "--card README.md", "the card (default with --send: from the Hub)")
            words = "show results of one metric with different signatures in separate columns"
            declare(command, "--split-signatures", words)
        if form == "eval-yaml":
            declare(command, "--description DESCRIPTION", "description of the leaderboard")
        if form == "results-repository":
            declare(command, "--repository OWNER/NAME", "id of the dataset", required=True)
        if form in _WITH_TABLES:
            add_scores_option(command, "for rank groups")
        declare(command, "--output DIR", "write the files below this folder, by repository")
        declare(command, "--send", "open a pull request in every repository")


def run(options: argparse.Namespace) -> None:
    """Run the command: read and select records, export them, and print, write or send the result.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    records = _choose_records(read_all_records(options.files), options)
    exports = _exports(records, options)
    if not exports:
        named = " and ".join(map(repr, options.files))
        raise UsageError(f"FILE must have a record for {options.form}, got no suitable record in {named}")
    if options.output:
        _write(exports, Path(options.output), whole=options.form == "results-repository")
    if options.send:
        whole = options.form == "results-repository"
        for address in send(exports, merged=options.form == "model-index", whole=whole):
            print(printable(address))
    elif not options.output:
        _print(exports)
    if not options.send:
        sys.stderr.write("".join(f"would be sent with --send: {printable(line)}\n" for line in plan(exports)))


def _write(exports: Sequence[exporters.Export], folder: Path, *, whole: bool) -> None:
    """Write files below a folder.

    Args:
        exports: Files to write.
        folder: The folder.
        whole: Whether these are all files of their repository. If so, score files of an earlier export are deleted,
            because no record refers to them anymore.
    """
    for export in exports:
        target = folder / export.repository / export.path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_output(target, export.content)
    if not whole:
        return
    written = {folder / export.repository / export.path for export in exports}
    for root in sorted({folder / export.repository for export in exports}):
        for older in sorted(set(root.glob(SCORE_FILES)) - written):
            older.unlink()
            sys.stderr.write(f"removed, because this export has no such scores: {printable(str(older))}\n")


def _choose_records(records: Sequence[Record], options: argparse.Namespace) -> list[Record]:
    wanted = (options.metric, options.model, options.dataset, options.profile)
    chosen = []
    for record in records:
        own = (record.metric, record.model.id, record.dataset.id, record.profile)
        if all(one in (None, its) for one, its in zip(wanted, own, strict=True)):
            chosen.append(record)
    if not chosen:
        raise UsageError(
            f"FILE must have a record that matches the options, got none in {' and '.join(map(repr, options.files))}"
        )
    return chosen


def _exports(records: Sequence[Record], options: argparse.Namespace) -> list[exporters.Export]:
    if options.form == "eval-results":
        return exporters.eval_results(records, lower_is_better=options.lower_is_better)
    if options.form == "model-index":
        return exporters.model_index(records)
    if options.form == "eval-yaml":
        return exporters.eval_yaml(records, description=options.description, lower_is_better=options.lower_is_better)
    runs = read_scores(records, options.scores) if options.form in _WITH_TABLES else {}
    if options.form == "results-repository":
        return exporters.results_repository(records, options.repository, runs, by=options.by)
    if options.card is None and not options.send:
        raise UsageError("--card is required: the dataset card, such as README.md; or pass --send to download it")
    card = card_of_dataset(records[0].dataset.id) if options.card is None else _card(options.card)
    return exporters.dataset_card(records, card, runs, by=options.by, split_signatures=options.split_signatures)


def _card(path: str) -> str:
    """Read a card without changing any byte, including a byte order mark."""
    data = read_bytes(path, "--card")
    decode_text(data, "--card", path)
    return data.decode("utf-8")


def _print(exports: Sequence[exporters.Export]) -> None:
    for export in exports:
        if len(exports) > 1:
            print(f"# {export.kind} {export.repository}: {export.path}")
        if isinstance(export.content, bytes):
            print(f"# {len(export.content)} bytes; --output DIR writes them")
        else:
            sys.stdout.write(export.content)
