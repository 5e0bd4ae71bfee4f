"""Train the demo CLIP on synthetic scenes, or evaluate the shipped one on held-out scenes.

    python scripts/make/train_demo_clip.py --overwrite  # trains, replaces the two shipped files, evaluates
    python scripts/make/train_demo_clip.py --evaluate   # evaluates the files that are there

The file is bitwise reproducible for the same seed, machine and number of threads. Other machines may round differently.
"""

import argparse
import hashlib
import json
import math
import time
from pathlib import Path
from typing import Any

import torch
from demo_clip.figures import figures, table
from demo_clip.material import KINDS, material
from demo_clip.training import PROMPT, SHARES, Batches, train
from safetensors.torch import save

from vlgauge.core.writing import write
from vlgauge.models.clip.demo import DEMO_MODEL, DEMO_NAME, DEMO_ROW, compact_tensors, demo_file, demo_state
from vlgauge.research.training.options import add_overwrite, keep_finished

WEIGHTS = "demo_clip.safetensors"
RECORD = "demo_clip.json"


def train_clip(options: argparse.Namespace) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Train, and return the tensors for the file and the record of the training."""
    started = time.monotonic()
    examples = material(options.scenes, options.seed)
    print(f"{len(examples.pixels)} images drawn in {time.monotonic() - started:.0f} s", flush=True)
    batches = Batches(examples, options.batch, options.seed)
    losses: dict[int, float] = {}
    with torch.random.fork_rng():
        torch.manual_seed(options.seed)

        def report(step: int, loss: float, seconds: float) -> None:
            losses[step] = round(loss, 4)
            print(f"step {step}: loss {loss:.4f}, {seconds:.0f} s", flush=True)

        state = train(batches, options.steps, options.rate, report)
    record = {
        "pictures": {kind: int((examples.kinds == index).sum()) for index, kind in enumerate(KINDS)},
        "shares of a batch": SHARES,
        "scenes": options.scenes,
        "seed": options.seed,
        "batch": options.batch,
        "steps": options.steps,
        "optimizer": f"AdamW, learning rate {options.rate}, warm-up, cosine, weight decay 0.05 on matrices",
        "loss": losses,
        "minutes": round((time.monotonic() - started) / 60, 1),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    return compact_tensors(state, torch.from_numpy(batches.ids)), record


def write_model(folder: Path, tensors: dict[str, torch.Tensor], training: dict[str, Any]) -> None:
    """Write both files of the model."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / WEIGHTS
    # Several metadata entries would have a random order, and the file would not be reproducible.
    write(weights, save(tensors, metadata={"format": "pt"}))
    record = {
        "name": DEMO_NAME,
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "model": DEMO_MODEL,
        "preprocessing": {
            "size": DEMO_ROW.size,
            "resize": "shorter side, centre crop",
            "interpolation": DEMO_ROW.interpolation,
            "mean": DEMO_ROW.mean,
            "std": DEMO_ROW.std,
        },
        "prompt": PROMPT,
        "tokens": len(tensors["token_embedding.ids"]),
        "training": training,
        "held out": figures(demo_state(weights)),
    }
    write(folder / RECORD, json.dumps(record, indent=1) + "\n")


def check_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with a message if a training cannot work, or would replace the shipped model with a different one."""
    for name, least in (("scenes", 2), ("steps", 1), ("batch", 2), ("threads", 1)):
        if getattr(options, name) < least:
            parser.error(f"`--{name}` must be at least {least}, got {getattr(options, name)}")
    if not 0 < options.rate < math.inf:
        parser.error(f"`--rate` must be a positive number, got {options.rate}")
    if options.folder is not None:
        if not (options.folder if options.evaluate else options.folder.parent).is_dir():
            parser.error(f"`--folder` must be a folder or be in one, got {str(options.folder)!r}")
        return
    settings = ("scenes", "steps", "batch", "rate", "seed")
    other = [name for name in settings if getattr(options, name) != parser.get_default(name)]
    if other and not options.evaluate:
        parser.error(
            f"`--folder` must be given with --{other[0]}, or the shipped demo model would be replaced by another one"
        )


def main(arguments: list[str] | None = None) -> None:
    """Train and write, or evaluate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluate", action="store_true", help="only print the figures of the files in the folder")
    add_overwrite(parser.add_argument)
    parser.add_argument("--folder", metavar="DIR", type=Path, help="of the two files (default: the package's)")
    parser.add_argument("--scenes", metavar="N", type=int, default=20_000, help="scenes to draw (default: %(default)s)")
    parser.add_argument("--steps", metavar="N", type=int, default=6_000, help="steps (default: %(default)s)")
    parser.add_argument("--batch", metavar="N", type=int, default=128, help="images per step (default: %(default)s)")
    parser.add_argument("--rate", metavar="X", type=float, default=1.5e-3, help="learning rate (default: %(default)s)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed of everything (default: %(default)s)")
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="threads of torch (default: %(default)s)")
    options = parser.parse_args(arguments)
    check_options(parser, options)
    options.folder = options.folder or demo_file().parent
    torch.set_num_threads(options.threads)
    if not options.evaluate:
        try:
            keep_finished("--folder", (options.folder / WEIGHTS, options.folder / RECORD), overwrite=options.overwrite)
        except ValueError as error:
            parser.error(str(error))
        write_model(options.folder, *train_clip(options))
    print(table(figures(demo_state(options.folder / WEIGHTS))))


if __name__ == "__main__":
    main()
