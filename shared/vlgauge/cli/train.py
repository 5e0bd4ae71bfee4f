"""Train weights with the recipes of the papers."""

import argparse
import os
import sys
from importlib import import_module

from vlgauge.cli.inputs import add_limits
from vlgauge.research.training.pac_s import options as pac_s
from vlgauge.research.training.polos import options as polos
from vlgauge.research.training.rovist_c import options as rovist_c
from vlgauge.research.training.rovist_vg import options as rovist_vg

RECIPES = {"pac_s": pac_s, "polos": polos, "rovist_c": rovist_c, "rovist_vg": rovist_vg}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add a parser per recipe."""
    parser.description = __doc__
    recipes = parser.add_subparsers(dest="recipe", required=True, metavar="RECIPE")
    for name, recipe in RECIPES.items():
        one = recipes.add_parser(
            name,
            help=recipe.PURPOSE,
            description=recipe.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        recipe.add_options(one)
        add_limits(one)


def run(options: argparse.Namespace) -> int:
    """Run the training. Print advice if it is interrupted.

    Returns:
        Exit code: 0, or 130 after an interrupt.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    try:
        RECIPES[options.recipe].check_options(options)
        # Imports torch, which the help and wrong options do not need.
        import_module(f"vlgauge.research.training.{options.recipe}.command").run(options, say)
    except KeyboardInterrupt:
        advice = pac_s.advice(options) if options.recipe == "pac_s" else "repeat the command to continue"
        sys.stderr.write(f"vlgauge train: interrupted; {advice}\n")
        return 130
    return 0


def say(text: str) -> None:
    """Print a progress message immediately. Training continues if the reader of a pipe, such as `head`, closes it."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
