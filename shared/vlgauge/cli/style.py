"""Fit style tables, and report how well they recognize styles (`vlgauge style-fit` and `vlgauge style-report`)."""

import argparse
import re
import sys
from pathlib import Path

from vlgauge.cli.inputs import add_limits, declare, parse_number
from vlgauge.cli.outputs import check_target
from vlgauge.core.errors import UsageError
from vlgauge.core.results import to_json, to_table
from vlgauge.families.style import StyleTable
from vlgauge.inputs.tables.files import MissingColumnError
from vlgauge.research.studies.style_corpora import READERS, StyledCaptions, read_table
from vlgauge.research.studies.style_report import split_by_group, style_report

SHARE = 0.15

KINDS = ("table", "personality-captions", "flickrstyle", "senticap", "goemotions")

_COLUMNS = {
    "captions": "captions",
    "mean_onlystyle": "OnlyStyle",
    "eq9": "Eq. 9",
    "eq9_pairs": "pairs",
    "eq10": "Eq. 10",
    "eq10_pairs": "pairs",
    "eq10_pooled": "pooled",
}


def add_fit_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    _add_corpus(parser)
    declare(parser, "-o, --output TABLE", "Parquet file to write", required=True)
    declare(parser, "--tokenizer", "default: words-1", choices=("words-1", "whitespace"))
    for option in ("name", "source", "licence"):
        declare(parser, f"--{option} TEXT", f"{option} to write into the table")
    parser.set_defaults(run=run_fit)


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Measure how often style metrics recognize the style of a corpus: in sample, leaving one out, held out, and "
        "with shuffled styles."
    )
    _add_corpus(parser)
    declare(parser, "--test FILE", "held-out captions, in a file of the same kind")
    declare(parser, "--held-out SHARE", f"share of held-out captions; 0 for none (default: {SHARE})", type=float)
    declare(parser, "--group-column COLUMN", "keep rows with equal values in this column together, such as the image")
    declare(parser, "--seed", "seed of the held-out share (default: 0)", type=int, default=0)
    declare(parser, "--shuffle-seed SEED", "seed of the shuffled control; none for no control", type=seed, default=0)
    declare(parser, "--variant", "default: paper", choices=("paper", "released"), default="paper")
    declare(parser, "--json", "print JSON instead of a table")
    parser.set_defaults(run=run_report)


def _add_corpus(parser: argparse.ArgumentParser) -> None:
    declare(parser, "corpus FILE", "captions with styles; for --kind flickrstyle its folder")
    declare(parser, "--kind", "kind of FILE (default: table)", choices=KINDS, default="table")
    declare(parser, "--input-format FORMAT", "format of a table (default: by extension)")
    add_limits(parser)
    declare(parser, "--caption COLUMN", "column of a table (default: caption)")
    declare(parser, "--style COLUMN", "column of a table (default: style)")
    declare(parser, "--no-progress", "disable progress bars")


def run_fit(options: argparse.Namespace) -> None:
    """Run `vlgauge style-fit`: read the captions, count n-grams, and write the table.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    check_target(options.output, [options.corpus], endings=(".parquet",))
    corpus = _read(options, options.corpus, None)
    about = {"name": options.name, "source": options.source, "licence": options.licence}
    table = StyleTable.fit(corpus.captions, corpus.styles, tokenizer=options.tokenizer, progress=None, **about)
    table.save(options.output)
    facts = {
        "captions": sum(table.captions),
        "styles": len(table.styles),
        "n-grams": sum(len(counts.keys) for counts in table.orders),
        "tokenizer": table.tokenizer,
        "fingerprint": table.fingerprint,
    }
    print(to_table(["table", options.output], list(facts.items())))


def run_report(options: argparse.Namespace) -> None:
    """Run `vlgauge style-report`: read the captions, score them, and print the report.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    share = SHARE if options.held_out is None else options.held_out
    if not 0.0 <= share < 1.0:
        raise UsageError(f"--held-out must be at least 0 and below 1, got {share}")
    if options.test and (options.held_out is not None or options.group_column):
        raise UsageError("--test cannot be combined with --held-out and --group-column, which split FILE")
    corpus = _read(options, options.corpus, options.group_column)
    test = _read(options, options.test, None, "--test FILE") if options.test else None
    held_out = None
    if test is None and share:
        held_out = split_by_group(corpus.groups or range(len(corpus)), share, options.seed)
    report = style_report(
        corpus.captions,
        corpus.styles,
        held_out=held_out,
        test=(test.captions, test.styles) if test else None,
        shuffle_seed=options.shuffle_seed,
        variant=options.variant,
    )
    records = {name: row.record() for name, row in report.items()}
    if options.json:
        print(to_json(records))
    else:
        rows = [[name, *(record[key] for key in _COLUMNS)] for name, record in records.items()]
        print(to_table([f"share of captions won ({options.variant})", *_COLUMNS.values()], rows))


def seed(text: str) -> int | None:
    """Parse an integer, or None for "none". See `parse_number`."""
    return None if text.lower() == "none" else parse_number(text, int, "an integer or none")


def _read(options: argparse.Namespace, path: str, group: str | None, name: str = "FILE") -> StyledCaptions:
    """Return the captions of a file of the kind that the options select. Print the number of captions left out."""
    try:
        corpus = _corpus(options, path, group)
    except UsageError as error:
        raise error.with_message(re.sub("^FILE", name, str(error))) from error
    if corpus.dropped:
        counts = ", ".join(f"{count} with {reason}" for reason, count in corpus.dropped.items())
        sys.stderr.write(f"read {len(corpus)} captions from {path}, left out {counts}\n")
    if name == "FILE" and len(set(corpus.styles)) < 2:
        raise UsageError(
            f"FILE must have captions of at least two styles, which are contrasted, got only {corpus.styles[0]!r}"
        )
    return corpus


def _corpus(options: argparse.Namespace, path: str, group: str | None) -> StyledCaptions:
    if options.kind == "table":
        try:
            return read_table(path, options.caption or "caption", options.style or "style", group, options.input_format)
        except MissingColumnError as error:
            choices = "--caption and --style" + (" and --group-column" if group else "")
            raise UsageError(f"{error}; choose columns with {choices}, or --kind for a published corpus") from error
    for option in ("caption", "style", "input_format"):
        if getattr(options, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')} requires --kind table; {options.kind} has only one format")
    if group is not None:
        raise UsageError(f"--group-column requires --kind table; {options.kind} has its own groups, if any")
    if options.kind != "flickrstyle" and Path(path).is_dir():
        raise UsageError(f"FILE must be a file for --kind {options.kind}, got the folder {path!r}")
    return READERS[options.kind](path)
