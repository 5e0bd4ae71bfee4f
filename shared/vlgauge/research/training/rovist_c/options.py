"""Train a classifier of sentence order for rovist_c, by the recipe of RoViST-C (Wang et al., 2022).

    vlgauge train rovist_c OUT --vist train.story-in-sequence.json --rocstories ROCStories_winter2017.csv
    vlgauge train rovist_c OUT --scenes 4000 --fresh --learning-rate 5e-4

Each pair of neighboring sentences of a story yields two samples, in order and swapped. 85% of the stories are used for
training, and the others select the epoch. The command writes weights (safetensors), configuration, tokenizer,
training.json, training.svg and a card to OUT. Repeating the command resumes an interrupted run. --overwrite replaces a
finished one.
"""

import argparse
from pathlib import Path

from vlgauge.research.training.options import Recipe, add_run_options, check_packages
from vlgauge.research.training.rovist_c.stories import READERS

PURPOSE = "a classifier of sentence order for rovist_c"
PACKAGES = ("torch", "transformers", "tokenizers", "safetensors")
DEFAULTS = Recipe()
BASE = "albert/albert-large-v1"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the recipe."""
    parser.add_argument("output", metavar="OUT", type=Path, help="folder for the model")
    for kind in READERS:
        parser.add_argument(f"--{kind}", metavar="FILE", action="append", default=[], help="a corpus of this kind")
    parser.add_argument("--scenes", metavar="N", type=int, default=0, help="number of stories about synthetic scenes")
    parser.add_argument("--test", metavar="FILE", help="held-out stories (jsonl); generated with --scenes")
    parser.add_argument("--base", metavar="MODEL", default=BASE, help=f"folder or Hub id (default: {BASE})")
    parser.add_argument("--fresh", action="store_true", help="a small new model with a new tokenizer instead")
    add_run_options(parser, DEFAULTS)


def check_options(options: argparse.Namespace) -> None:
    """Check that all packages are installed.

    Raises:
        ImportError: If a package is missing.
    """
    check_packages("rovist_c", PACKAGES, plot=options.plot)
