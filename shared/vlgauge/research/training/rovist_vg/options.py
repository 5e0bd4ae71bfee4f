"""Train the heads of rovist_vg on pairs of a region and a phrase, by the recipe of RoViST-VG (Wang et al., 2022).

    vlgauge train rovist_vg OUT --glove glove.6B.300d.txt --flickr30k DIR --images DIR
    vlgauge train rovist_vg OUT --glove glove.6B.300d.txt --csv pairs.csv --crops DIR
    vlgauge train rovist_vg OUT --scenes 400 --learning-rate 1e-3 --width 16

Flickr30k Entities is a folder with Annotations and Sentences. The CSV has the columns image_id, noun_phrase and bbox,
and its crops are named {image_id}_{bbox}.jpg. All weights of the vision transformer are trained, whereas a CLIP is
frozen and its embeddings are computed once. The command writes weights (safetensors), configuration, training.json,
training.svg and a card to OUT. Repeating the command resumes an interrupted run. --overwrite replaces a finished one.
"""

import argparse
from pathlib import Path

from vlgauge.models.grounding.vit import VIT_NAME
from vlgauge.research.training.options import Recipe, add_run_options, check_packages

PURPOSE = "heads of images and words for rovist_vg"
PACKAGES = ("torch", "torchvision", "open_clip", "safetensors", "transformers", "spacy")
N_TEST_STORIES = 200
DEFAULTS = Recipe(learning_rate=5e-5, batch_size=64, patience=3)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the recipe."""
    parser.add_argument("output", metavar="OUT", type=Path, help="folder for the checkpoint")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="pairs as a table, with --crops")
    parser.add_argument("--crops", type=Path, metavar="DIR", help="folder of the crops of --csv")
    parser.add_argument("--flickr30k", type=Path, metavar="DIR", help="Flickr30k Entities, with --images")
    parser.add_argument("--images", type=Path, metavar="DIR", help="folder of the images of Flickr30k")
    parser.add_argument("--scenes", type=int, metavar="N", default=0, help="number of stories about synthetic scenes")
    parser.add_argument(
        "--test", type=int, metavar="N", default=N_TEST_STORIES, help="generated test stories with --scenes"
    )
    parser.add_argument(
        "--glove", type=Path, metavar="FILE", help="word embeddings; with --scenes, small ones are generated"
    )
    parser.add_argument(
        "--encoder", metavar="NAME", help=f"a CLIP, frozen, or {VIT_NAME} (default; --scenes: the demo CLIP)"
    )
    parser.add_argument("--vit", metavar="PATH", help="file or folder with the weights of the vision transformer")
    parser.add_argument(
        "--width", type=int, default=1024, metavar="D", help="dimension of the common space (default: 1024)"
    )
    add_run_options(parser, DEFAULTS)


def check_options(options: argparse.Namespace) -> None:
    """Check that all packages are installed.

    Raises:
        ImportError: If a package is missing.
    """
    check_packages("rovist_vg", PACKAGES, plot=options.plot)
