"""Fit a scale for a backbone to pairs of captions and images."""

import argparse
from typing import Any

import vlgauge
from vlgauge.cli.inputs import add_limits, add_shared, declare
from vlgauge.cli.outputs import check_target
from vlgauge.families.clip_score.calibration import fit_on_metric
from vlgauge.inputs.tables.files import READERS, make_paths_absolute, read_rows, take_column
from vlgauge.stats.drawing import check_resampling


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Fit w and an offset to the cosines of a backbone, so that matching pairs have mean 1 and shuffled pairs mean "
        "0, for clip_s(calibration=OUT). The order of captions does not change, and nothing is clamped."
    )
    declare(parser, "backbone BACKBONE", "see `vlgauge backbones`")
    declare(parser, "file FILE", f"matching captions and images: {', '.join(READERS)}")
    declare(parser, "-o, --output OUT", "file to write, .json", required=True)
    declare(parser, "--predictions NAME", "column of the captions", default="predictions")
    declare(parser, "--images NAME", "column of the images", default="images")
    declare(parser, "--weights FILE", "weights of the backbone (default: from the Hub)")
    add_shared(parser, "profile", profile="embedded: the demo CLIP, with BACKBONE vlgauge-toy-clip")
    declare(parser, "--device DEVICE", "auto, cpu, cuda (default: auto)", default="auto")
    changed = {"resamples": {"default": 1000}, "seed": "seed of the samples (default: 0)"}
    add_shared(parser, "level", "resamples", "seed", "no_progress", **changed)
    add_limits(parser)


def run(options: argparse.Namespace) -> None:
    """Run the command: encode the pairs, fit the scale, write it, and print a summary.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    check_target(options.output, [options.file], endings=(".json",))
    check_resampling(options.level, options.resamples, least=0)
    profile = {"profile": options.profile} if options.profile else {}
    metric = vlgauge.load(
        "clip_s", backbone=options.backbone, weights=options.weights, device=options.device, **profile
    )
    table = read_rows(options.file)
    columns: dict[str, list[Any] | None] = {
        "predictions": take_column(table, options.predictions),
        "images": take_column(table, options.images),
    }
    rows = list(metric.as_computed(make_paths_absolute(columns, options.file)))
    found = fit_on_metric(metric, rows, level=options.level, resamples=options.resamples, seed=options.seed)
    found.save(options.output)
    percent = f"{100 * options.level:g}%"
    for name in ("w", "offset"):
        low, high = getattr(found, f"{name}_interval")
        print(f"{name} {getattr(found, name):.4f} ({percent} interval {low:.4f} to {high:.4f})")
    print(
        f"{found.n_rows} captions of {found.n_images} images, {found.backbone}: matching pairs have mean 1, "
        f"shuffled pairs mean 0; {options.output}"
    )
