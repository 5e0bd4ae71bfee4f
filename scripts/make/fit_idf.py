"""Write the idf table of a corpus of stories as JSON, for rovist_vg and groovist (Wang et al., 2022, Eq. 1).

    fit_idf.py idf.json --stories corpus.jsonl --column story
    fit_idf.py idf.json --pickle idf.pkl

A story is a text or a list of sentences. A pickle is a plain dictionary of finished values, the form in which the
authors of RoViST keep theirs; it is read by what knows no classes, and nothing in it is executed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from vlgauge.media.tables import read_rows, take_column
from vlgauge.text.story_idf import fit_idf, read_pickled


def main(arguments: Sequence[str] | None = None) -> int:
    """Count or convert, and write; 0, or 2 after an error, which is one line on standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", metavar="OUT", type=Path, help="JSON file")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--stories", metavar="FILE", help=".jsonl, .json, .csv, .tsv or .parquet")
    source.add_argument("--pickle", metavar="FILE", type=Path, help="a pickled {word: idf}")
    parser.add_argument("--column", default="story", metavar="NAME", help="of the stories (default: story)")
    parser.add_argument("--lowercase", action="store_true", help="words that differ only in case are the same")
    options = parser.parse_args(arguments)
    try:
        if options.pickle:
            table = read_pickled(options.pickle)
        else:
            stories = take_column(read_rows(options.stories), options.column)
            table = fit_idf(stories, lowercase=options.lowercase)
        table.save(options.output)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"fit_idf: error: {' '.join(str(error).split())}\n")
        return 2
    print(f"{len(table.df)} words of {table.n_stories or 'an unknown number of'} stories: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
