"""Compute word weights from a corpus of stories, or n-gram counts from references."""

import argparse

from vlgauge.cli.inputs import add_limits, declare
from vlgauge.cli.outputs import check_target
from vlgauge.core.errors import UsageError
from vlgauge.families.base.columns import References
from vlgauge.families.ngram.cider import DocumentFrequency
from vlgauge.inputs.tables.files import READERS, read_rows, take_column, take_columns
from vlgauge.inputs.text.story_idf import IdfTable, fit_idf, read_pickled
from vlgauge.inputs.text.tokenizers import DEFAULT, NAMES, check_installed

COLUMN, REFERENCES = "story", "references"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Count words of stories for rovist_vg and groovist (Wang et al., 2022, Eq. 1), or n-grams of references, one "
        "document per row, for the setting df of cider and trm; or convert the authors' pickle of words. A story is a "
        "text or a list of sentences. A pickle is a plain dictionary of finished values; nothing in it is executed."
    )
    declare(parser, "output OUT", "file to write: .json; with --references .gz")
    source = parser.add_mutually_exclusive_group(required=True)
    declare(source, "--stories FILE", f"one story per row: {', '.join(READERS)}, or - for JSONL")
    declare(source, "--references FILE", "references of one caption per row, in the same formats")
    declare(source, "--pickle FILE", "a pickled {word: idf}")
    declare(parser, "--input-format", "format of FILE (default: by extension)", choices=list(READERS))
    declare(parser, "--column NAME", f"of the stories (default: {COLUMN}) or the references (default: {REFERENCES})")
    tokens = f"tokenizer of the references, as in the setting of cider and trm (default: {DEFAULT})"
    declare(parser, "--tokenizer", tokens, choices=NAMES)
    declare(parser, "--lowercase", "ignore case")
    declare(parser, "--eos", "count an end token in each reference, for cider with eos=true")
    add_limits(parser)


def run(options: argparse.Namespace) -> None:
    """Run the command: count words or n-grams, or convert a pickle, and write the result.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    if options.references:
        _count_references(options)
        return
    if options.eos:
        raise UsageError("--eos requires --references; a story has no end token")
    if options.tokenizer:
        raise UsageError("--tokenizer requires --references")
    check_target(options.output, [options.stories or options.pickle], "OUT")
    table = _table(options)
    table.save(options.output)
    print(f"{len(table.df)} words of {table.n_stories or 'an unknown number of'} stories: {options.output}")


def _count_references(options: argparse.Namespace) -> None:
    if options.lowercase:
        raise UsageError("--lowercase requires --stories; references are always lowercase")
    check_installed(options.tokenizer or DEFAULT)
    check_target(options.output, [options.references], "OUT", (".gz",))
    cells = take_columns(read_rows(options.references, options.input_format), options.column or REFERENCES)
    references = References(REFERENCES).store_all(cells)
    if not any(references):
        raise UsageError("FILE must have a reference in at least one row, got none; choose their column with --column")
    table = DocumentFrequency.from_references(references, tokenizer=options.tokenizer, eos=options.eos)
    table.save(options.output)
    print(f"n-grams of the references of {table.n_documents} rows: {options.output}")


def _table(options: argparse.Namespace) -> IdfTable:
    if options.stories:
        stories = take_column(read_rows(options.stories, options.input_format), options.column or COLUMN)
        return fit_idf(stories, lowercase=options.lowercase)
    if options.column or options.input_format or options.lowercase:
        raise UsageError("--column, --input-format and --lowercase require --stories")
    return read_pickled(options.pickle)
