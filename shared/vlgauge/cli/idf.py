"""`vlgauge idf`: the table of idf weights of a corpus of stories, for rovist_vg and groovist."""

from __future__ import annotations

import argparse

from vlgauge.cli.inputs import add_limits
from vlgauge.cli.outputs import check_target
from vlgauge.media.tables import READERS, read_rows, take_column
from vlgauge.text.story_idf import IdfTable, fit_idf, read_pickled

COLUMN = "story"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Count words of stories for rovist_vg and groovist, or convert the authors' pickle (Wang et al., 2022, Eq. 1). "
        "A story is a text or a list of sentences. A pickle is a plain dictionary of finished values; nothing in it is "
        "executed."
    )
    parser.add_argument("output", metavar="OUT", help="JSON file to write")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--stories", metavar="FILE", help=f"one story per row: {', '.join(READERS)}, or - for JSONL")
    source.add_argument("--pickle", metavar="FILE", help="a pickled {word: idf}")
    parser.add_argument("--input-format", choices=list(READERS), help="where the ending of --stories does not tell it")
    parser.add_argument("--column", metavar="NAME", help=f"of the stories (default: {COLUMN})")
    parser.add_argument("--lowercase", action="store_true", help="words that differ only in case are the same")
    add_limits(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Count or convert, and write."""
    check_target(options.output, [options.stories or options.pickle], "OUT")
    table = _table(options)
    table.save(options.output)
    print(f"{len(table.df)} words of {table.n_stories or 'an unknown number of'} stories: {options.output}")
    return 0


def _table(options: argparse.Namespace) -> IdfTable:
    if options.stories:
        stories = take_column(read_rows(options.stories, options.input_format), options.column or COLUMN)
        return fit_idf(stories, lowercase=options.lowercase)
    if options.column or options.input_format or options.lowercase:
        raise ValueError("--column, --input-format and --lowercase must come with --stories, which was left out")
    return read_pickled(options.pickle)
