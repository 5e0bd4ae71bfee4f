"""Convert a released CLIP checkpoint, such as PAC-S, to a small adapter, or a Polos checkpoint to a head."""

import argparse
from pathlib import Path

from vlgauge.checkpoints.files import sha256_of
from vlgauge.cli.inputs import declare
from vlgauge.core.errors import UsageError, WeightsNotFoundError
from vlgauge.core.results import to_table
from vlgauge.core.writing import resolve_target
from vlgauge.models.clip.architectures import ClipArchitecture
from vlgauge.models.clip.backbones import architecture_of
from vlgauge.models.clip.checkpoints import read_state
from vlgauge.models.clip.conversion import Conversion, convert
from vlgauge.models.clip.files import find_given_file, find_weights, paper_adapter_path
from vlgauge.models.clip.loading import DEFAULT
from vlgauge.models.rated.conversion import convert_polos
from vlgauge.models.rated.files import write_head
from vlgauge.models.rated.models import head_place, text_encoder_of

KINDS = ("pac_s", "polos", "custom")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    declare(parser, "checkpoint CHECKPOINT", "released file, or the folder that contains it")
    declare(parser, "--backbone NAME", "backbone, such as ViT-B/32 (default for polos)")
    declare(parser, "--base FILE", "weights of the backbone (default: from the Hub)")
    declare(parser, "--kind", "kind of the weights (default: pac_s)", choices=KINDS, default="pac_s")
    declare(parser, "--text-encoder NAME", "text encoder of polos: folder or Hub id (default: SimCSE)")
    declare(parser, "-o, --output FILE", "safetensors file to write (default: the path that metrics load)")


def run(options: argparse.Namespace) -> None:
    """Run the command: compare the checkpoint with its base, write the difference, and print a summary.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    if options.backbone is None and options.kind != "polos":
        raise UsageError("--backbone is required: the CLIP that the checkpoint was trained from, such as ViT-B/32")
    row = architecture_of(options.backbone or DEFAULT)
    if options.output is None and options.kind == "custom":
        raise UsageError("--output is required for --kind custom; only weights of PAC-S and Polos have a default path")
    target = resolve_target(options.output, "--output", [options.checkpoint], "CHECKPOINT") if options.output else None
    base = _base(row, options.base)
    base_state = read_state(base, row, setting="--base")
    checkpoint = Path(options.checkpoint)
    if options.kind == "polos":
        text = text_encoder_of(options.text_encoder, profile="paper", device="cpu")
        head = convert_polos(checkpoint, row, base_state, text)
        target = target or head_place()
        target.parent.mkdir(parents=True, exist_ok=True)
        write_head(target, head)
        print(f"its encoders equal {row.name} and {text.identity}\n{_describe_file(target)}: head {head.digest[:8]}")
        return
    if checkpoint.is_dir():
        checkpoint = find_given_file(checkpoint, "CHECKPOINT")
    found = convert(checkpoint, row, base_state, base_sha256=sha256_of(base), kind=options.kind)
    if target is None:
        # Weights with low-rank updates are for PAC-S++.
        target = paper_adapter_path(row, "pac_s++" if found.lora else "pac_s")
        target.parent.mkdir(parents=True, exist_ok=True)
    found.write(target)
    print(report(found, row, target))


def _base(row: ClipArchitecture, base: str | None) -> Path:
    if base is not None:
        return find_weights(row, base, setting="--base")
    try:
        return find_weights(row, None)
    except WeightsNotFoundError as error:
        raise WeightsNotFoundError(f"the base weights are not available, pass them as --base FILE: {error}") from error


def report(found: Conversion, row: ClipArchitecture, target: Path) -> str:
    """Describe the differences from the base and the file that was written."""
    changed = found.changed
    rows = [[name, f"{value:.3g}"] for name, value in changed.items()]
    equal = len(found.differences) - len(changed)
    kind = "adapter" if found.adapter is not None else "whole CLIP, because more than the projections differs"
    return (
        f"{to_table(['tensor', 'largest difference'], rows)}\n"
        f"{equal} other tensors equal those of {row.name}\n"
        f"{_describe_file(target)}: {kind}"
    )


def _describe_file(target: Path) -> str:
    return f"wrote {target} ({target.stat().st_size / 1e6:.1f} MB)"
