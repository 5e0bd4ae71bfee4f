"""Fit a head of Polos to ratings of captions (Wada et al., CVPR 2024).

    vlgauge train polos OUT --rows ratings.jsonl --scale 1 5
    vlgauge train polos OUT --scenes 4000 --profile embedded --hidden 128 64 --learning-rate 1e-3

Each row has an image, a caption, its references and a rating. The encoders are frozen, and by default they encode every
text and image once. `--variant released` follows the authors' code: layers are normalized over a batch, dropout of the
text encoder is active, and all rows of a batch are cut to the smallest number of references. The command writes the
head (safetensors), training.json, training.svg and a card to OUT. Repeating the command resumes an interrupted run.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vlgauge.checkpoints.torch_runtime import CLIP_PACKAGES, PAIR_PACKAGES
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import PROFILES
from vlgauge.research.training.options import (
    Recipe,
    add_run_options,
    check_at_least,
    check_packages,
    check_scene_options,
)

PURPOSE = "a head for polos, fitted to ratings"
PACKAGES = tuple(dict.fromkeys((*CLIP_PACKAGES, *PAIR_PACKAGES)))
VARIANTS = ("itemwise", "released")


@dataclass(frozen=True)
class PolosRecipe(Recipe):
    """Settings of a training over epochs, and of the head.

    Attributes:
        hidden: Units of the first two linear layers.
        dropout: Probability with which a unit of these layers is dropped.
        layer_dropout: Probability with which a layer of the text encoder is dropped for a batch of texts.
        accumulate: Batches per step of Adam.
        clip_norm: Maximum norm of the gradient.
    """

    hidden: Sequence[int] = field(
        default=(2304, 1152),
        metadata={"type": int, "nargs": 2, "help": "units of the head's layers (default: 2304 1152)"},
    )
    dropout: float = field(default=0.1, metadata={"help": "dropout of the head (default: %(default)s)"})
    layer_dropout: float = field(default=0.1, metadata={"help": "dropout of whole layers (default: %(default)s)"})
    accumulate: int = field(default=4, metadata={"help": "batches per step of Adam (default: %(default)s)"})
    clip_norm: float = field(default=1.0, metadata={"help": "maximum gradient norm (default: %(default)s)"})


# Configuration of the authors, which does not state the number of epochs.
DEFAULTS = PolosRecipe(learning_rate=3e-5, decay=1.0, weight_decay=0.0, batch_size=64, epochs=30, patience=5)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the recipe."""
    parser.add_argument("output", metavar="OUT", type=Path, help="folder for the head")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--rows", type=Path, metavar="FILE", help="image, caption, references, rating: JSON lines, or CSV (.csv)"
    )
    source.add_argument("--scenes", type=int, metavar="N", help="generate N scenes, with simulated ratings")
    parser.add_argument("--validation", type=Path, metavar="FILE", help="default: a tenth of the images of --rows")
    parser.add_argument("--test", type=Path, metavar="FILE", help="held-out rows; generated with --scenes")
    parser.add_argument(
        "--image-folder", type=Path, metavar="DIR", help="base folder of relative paths (default: folder of the file)"
    )
    parser.add_argument(
        "--scale",
        type=float,
        nargs=2,
        default=(0.0, 1.0),
        metavar=("LOW", "HIGH"),
        help="lowest and highest rating (default: 0 1)",
    )
    parser.add_argument("--backbone", help="CLIP (default: ViT-B/32)")
    parser.add_argument("--weights", type=Path, metavar="FILE", help="weights of the backbone (default: from the Hub)")
    parser.add_argument("--text-encoder", metavar="NAME", help="text encoder: folder or Hub id (default: SimCSE)")
    parser.add_argument("--profile", choices=PROFILES, default="paper", help="embedded: the demo CLIP and MiniLM")
    parser.add_argument("--feature-cache", type=Path, metavar="DIR", help="folder of cached CLIP features")
    parser.add_argument("--variant", choices=VARIANTS, default="itemwise", help="default: itemwise")
    add_run_options(parser, DEFAULTS)


def check_options(options: argparse.Namespace) -> None:
    """Check all options before anything is read.

    Raises:
        ValueError: If an option cannot work.
        ImportError: If a package is missing.
    """
    low, high = options.scale
    if not (np.isfinite([low, high]).all() and low < high):
        raise UsageError.about("--scale", f"must be two numbers, the lower first, got {low:g} and {high:g}")
    check_at_least(options, {"batch_size": 1, "epochs": 1, "patience": 1, "accumulate": 1, "scenes": 4})
    if min(options.hidden) < 1:
        raise UsageError.about("--hidden", f"must be two numbers of at least 1, got {min(options.hidden)}")
    for name in ("dropout", "layer_dropout"):
        if not 0 <= getattr(options, name) < 1:
            raise UsageError.about(
                f"--{name.replace('_', '-')}", f"must be from 0 to below 1, got {getattr(options, name)}"
            )
    if not options.clip_norm > 0:
        raise UsageError.about("--clip-norm", f"must be above 0, got {options.clip_norm:g}")
    check_scene_options(options)
    check_packages("polos", PACKAGES, plot=options.plot)
