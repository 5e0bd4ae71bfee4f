"""`vlgauge convert`: a released CLIP checkpoint, such as that of PAC-S, to a small adapter."""

from __future__ import annotations

import argparse
from pathlib import Path

from vlgauge.encoders.clip.architectures import ClipArchitecture
from vlgauge.encoders.clip.backbones import architecture_of
from vlgauge.encoders.clip.checkpoints import read_state
from vlgauge.encoders.clip.conversion import Conversion, convert
from vlgauge.encoders.clip.files import find_weights, given_file, paper_adapter_path
from vlgauge.results import to_table
from vlgauge.weights.files import WeightsNotFound, sha256_of
from vlgauge.writing import checked_target

KINDS = ("pac_s", "custom")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="the released file, or a folder with it")
    parser.add_argument("--backbone", metavar="NAME", required=True, help="such as ViT-B/32")
    parser.add_argument("--base", metavar="FILE", help="weights of the backbone (default: those of the Hub)")
    parser.add_argument("--kind", choices=KINDS, default="pac_s", help="kind of the weights (default: pac_s)")
    parser.add_argument("-o", "--output", metavar="FILE", help="safetensors to write (default: where pac_s finds it)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, write, and tell what differs."""
    row = architecture_of(options.backbone)
    if options.output is None and options.kind != "pac_s":
        raise ValueError("--output is needed for --kind custom: only the weights of PAC-S have a place of their own")
    target = checked_target(options.output, "--output", [options.checkpoint], "CHECKPOINT") if options.output else None
    base = _base(row, options.base)
    base_state = read_state(base, row, setting="--base")
    checkpoint = Path(options.checkpoint)
    if checkpoint.is_dir():
        checkpoint = given_file(checkpoint, "CHECKPOINT")
    found = convert(checkpoint, row, base_state, base_sha256=sha256_of(base), kind=options.kind)
    if target is None:
        target = paper_place(row, found)
    found.write(target)
    print(report(found, row, target))
    return 0


def _base(row: ClipArchitecture, base: str | None) -> Path:
    if base is not None:
        return find_weights(row, base, setting="--base")
    try:
        return find_weights(row, None)
    except WeightsNotFound as error:
        raise WeightsNotFound(f"the base cannot be compared with, give it as --base FILE: {error}") from error


def paper_place(row: ClipArchitecture, found: Conversion) -> Path:
    """Where pac_s finds weights by itself; those with low-rank updates are of PAC-S++."""
    target = paper_adapter_path(row, "pac_s++" if found.lora else "pac_s")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def report(found: Conversion, row: ClipArchitecture, target: Path) -> str:
    """What differs from the base, and what was written."""
    changed = found.changed
    rows = [[name, f"{value:.3g}"] for name, value in changed.items()]
    equal = len(found.differences) - len(changed)
    kind = "adapter" if found.adapter is not None else "whole CLIP, because more than the projections differs"
    return (
        f"{to_table(['tensor', 'largest difference'], rows)}\n"
        f"{equal} other tensors equal those of {row.name}\n"
        f"wrote {target} ({target.stat().st_size / 1e6:.1f} MB): {kind}"
    )
