"""Train PAC-S weights for a CLIP backbone by the positive-augmented contrastive recipe (Sarto et al., CVPR 2023).

Each row has an image and a caption, and optionally an image generated from the caption and a caption generated from
the image. By default only the two projections are trained, on features that the backbone computes once. `--lora 4`
trains low-rank updates of both towers instead (PAC-S++). The command writes the weights, a model card, the log as JSON
lines, and the loss curve. `--scenes 20000 --profile embedded` requires no data and no download.
"""

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

from vlgauge.core.errors import UsageError
from vlgauge.core.validation import PROFILES, check_float, check_int
from vlgauge.research.training.options import (
    add_overwrite,
    check_at_least,
    check_packages,
    check_scene_options,
    keep_finished,
)

PURPOSE = "projections of a CLIP, or low-rank updates of both towers, for pac_s"
PACKAGES = ("torch", "torchvision", "open_clip", "safetensors")

IMAGE_WEIGHT = 0.05  # lambda_v
TEXT_WEIGHT = 0.1  # lambda_t


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a file."""

    image: str = "image"
    caption: str = "caption"
    generated_image: str = "generated_image"
    generated_caption: str = "generated_caption"
    group: str = "group"
    foil: str = "foil"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the recipe."""
    source = parser.add_argument_group("rows").add_mutually_exclusive_group(required=True)
    source.add_argument("--train", type=Path, metavar="FILE", help="JSON lines, or CSV if the name ends in .csv")
    source.add_argument("--scenes", type=int, metavar="N", help="generate N scenes instead of reading a file")
    rows = parser.add_argument_group("more about rows")
    rows.add_argument("--validation", type=Path, metavar="FILE", help="default: 5%% of the images of --train")
    rows.add_argument("--test", type=Path, metavar="FILE", help="pairs to compare with: image, caption, foil")
    rows.add_argument("--test-scenes", type=int, default=1_024, metavar="N", help="(default: %(default)s)")
    rows.add_argument("--test-draws", type=int, default=1, metavar="N", help="images per scene of --test-scenes (1)")
    rows.add_argument("--variants", type=int, default=0, metavar="N", help="modified scenes per scene of --scenes (0)")
    rows.add_argument(
        "--image-folder", type=Path, metavar="DIR", help="base folder of relative paths (default: folder of the file)"
    )
    for name, default in asdict(Columns()).items():
        rows.add_argument(f"--{name.replace('_', '-')}-column", default=default, metavar="NAME", help="(%(default)s)")
    base = parser.add_argument_group("base")
    base.add_argument("--backbone", help="such as ViT-B/32 (default), RN50, laion/ViT-L-14")
    base.add_argument("--weights", type=Path, metavar="FILE", help="weights of the backbone (default: from the Hub)")
    base.add_argument("--profile", choices=PROFILES, default="paper", help="embedded: the demo CLIP")
    base.add_argument("--device", default="auto")
    base.add_argument("--feature-cache", type=Path, metavar="DIR", help="cache the features of the backbone")
    base.add_argument("--encode-batch-size", type=int, default=64, metavar="N")
    recipe = parser.add_argument_group("recipe")
    # The defaults follow the paper, except for the weight decay, which it does not state.
    for name, kind, default, note in (
        ("learning-rate", float, 1e-4, "of AdamW"),
        ("weight-decay", float, 0.01, "of AdamW"),
        ("batch-size", int, 256, "rows per batch, with distinct images"),
        ("image-weight", float, IMAGE_WEIGHT, "lambda_v"),
        ("text-weight", float, TEXT_WEIGHT, "lambda_t"),
        ("patience", int, 1_500, "stop after this many iterations without a lower validation loss"),
        ("validate-every", int, 100, "iterations"),
        ("max-iterations", int, 100_000, "iterations"),
        ("seed", int, 0, "random seed"),
        ("prompt", str, "", "prefix of every caption"),
    ):
        recipe.add_argument(f"--{name}", type=kind, default=default, help=f"{note} (default: %(default)r)")
    recipe.add_argument("--train-scale", action="store_true", help="train 1/tau too, up to 100 (default: the base's)")
    recipe.add_argument("--lora", type=int, metavar="R", help="low-rank updates of both towers instead of the heads")
    recipe.add_argument("--attention-pool", action="store_true", help="for ResNets: 0.4 MB of memory per image")
    out = parser.add_argument_group("output")
    out.add_argument("--out", type=Path, required=True, metavar="FILE.safetensors")
    out.add_argument("--resume", action="store_true", help="continue from the checkpoint of an interrupted training")
    add_overwrite(out.add_argument)
    out.add_argument("--no-plot", dest="plot", action="store_false", help="do not plot the losses")


def check_options(options: argparse.Namespace) -> None:
    """Check all options before anything is read.

    Raises:
        ValueError: If an option cannot work.
        ImportError: If a package is missing.
    """
    if options.out.suffix != ".safetensors":
        raise UsageError.about("--out", f"must end in .safetensors, got {str(options.out)!r}")
    if not options.out.parent.is_dir():
        raise UsageError.about("--out", f"must be in an existing folder, got {str(options.out)!r}")
    ones = dict.fromkeys(("patience", "validate_every", "max_iterations", "encode_batch_size", "lora", "test_draws"), 1)
    check_int("seed", options.seed, 0, 2**63 - 1)
    check_at_least(options, {"batch_size": 2, **ones, "scenes": 2, "test_scenes": 2})
    for name in ("learning_rate", "weight_decay", "image_weight", "text_weight"):
        check_float(f"--{name.replace('_', '-')}", getattr(options, name), "a non-negative number", 0)
    check_scene_options(options)
    checkpoint = checkpoint_of(options.out)
    if options.resume != checkpoint.is_file():
        there = "exists; pass --resume to continue, or delete it" if checkpoint.is_file() else "is missing"
        raise UsageError.about(
            "--resume", f"requires a checkpoint and is required by one, but {str(checkpoint)!r} {there}"
        )
    if not options.resume:
        keep_finished("--out", (options.out, options.out.with_suffix(".md")), overwrite=options.overwrite)
    check_packages("pac_s", PACKAGES, plot=options.plot)


def checkpoint_of(out: Path) -> Path:
    """Return the path of the checkpoint of an unfinished training."""
    return out.with_name(f"{out.stem}.checkpoint")


def advice(options: argparse.Namespace) -> str:
    """Return a hint on how to continue after an interruption."""
    there = checkpoint_of(options.out).is_file()
    return "repeat the command with --resume to continue" if there else "no checkpoint was written yet"
