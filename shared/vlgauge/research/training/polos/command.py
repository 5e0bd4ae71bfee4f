"""Fit a head of Polos to ratings of captions (Wada et al., CVPR 2024).

    vlgauge train polos OUT --rows ratings.jsonl --scale 1 5
    vlgauge train polos OUT --scenes 4000 --profile embedded --hidden 128 64 --learning-rate 1e-3

Each row has an image, a caption, its references and a rating. The encoders are frozen, and by default they encode every
text and image once. `--variant released` follows the authors' code: layers are normalized over a batch, dropout of the
text encoder is active, and all rows of a batch are cut to the smallest number of references. The command writes the
head (safetensors), training.json, training.svg and a card to OUT. Repeating the command resumes an interrupted run.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.checkpoints.torch_runtime import CLIP_PACKAGES, PAIR_PACKAGES, resolve_device
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import PROFILES
from vlgauge.models.clip.loading import ClipEncoder, clip_encoder
from vlgauge.models.hidden_layers import AllLayersEncoder
from vlgauge.models.rated.files import head_of, metadata_of, read_head, write_head
from vlgauge.models.rated.head import Head
from vlgauge.models.rated.models import text_encoder_of
from vlgauge.research.training.loop import Figures, Recipe, train_epochs
from vlgauge.research.training.options import (
    add_run_options,
    check_at_least,
    check_packages,
    check_scene_options,
    clip_options,
    one_training,
    recipe_of,
)
from vlgauge.research.training.polos.network import (
    RandomKeeps,
    RatedMaterial,
    compute_squared_error,
    material_of,
    new_network,
    tensors_of,
)
from vlgauge.research.training.polos.ratings import Rated, draw_rows, read_rows
from vlgauge.research.training.report import RECORD, epoch_facts, write_report

Floats = npt.NDArray[np.float64]

PURPOSE = "a head for polos, fitted to ratings"
PACKAGES = tuple(dict.fromkeys((*CLIP_PACKAGES, *PAIR_PACKAGES)))
# Configuration of the authors, which does not state the number of epochs.
DEFAULTS = Recipe(learning_rate=3e-5, decay=1.0, weight_decay=0.0, batch_size=64, epochs=30, patience=5)
HIDDEN = (2304, 1152)
VARIANTS = ("itemwise", "released")
N_TEST_SCENES = 300
# Seeds of the synthetic rows of training, validation and test, which belong to different splits.
SCENES_SEED, VALIDATION_SEED, TEST_SEED = 1, 2, 3
# Output files of a finished training with fixed names.
HEAD = "head.safetensors"
MAIN_FILES = (HEAD, RECORD, "README.md")

FIGURES = ("training_loss", "validation_loss", "validation_tau_c")


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
    parser.add_argument(
        "--hidden",
        type=int,
        nargs=2,
        default=HIDDEN,
        metavar="N",
        help="units of the head's layers (default: 2304 1152)",
    )
    parser.add_argument("--dropout", type=float, default=0.1, metavar="P", help="dropout of the head (default: 0.1)")
    parser.add_argument(
        "--layer-dropout", type=float, default=0.1, metavar="P", help="dropout of whole layers (default: 0.1)"
    )
    parser.add_argument("--accumulate", type=int, default=4, metavar="N", help="batches per step of Adam (default: 4)")
    parser.add_argument(
        "--clip-norm", type=float, default=1.0, metavar="X", help="maximum gradient norm (default: 1.0)"
    )
    add_run_options(parser, DEFAULTS)


def check_options(options: argparse.Namespace) -> None:
    """Check all options before anything is read.

    Raises:
        ValueError: If an option cannot work.
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


def rows_of(options: argparse.Namespace) -> tuple[list[Rated], list[Rated], list[Rated]]:
    """Read or sample the rows that the options select.

    Returns:
        Rows for training, for the selection of the epoch, and for the test, which may be empty.

    Raises:
        ValueError: If a file is not valid.
    """
    if options.scenes is not None:
        few = max(options.scenes // 10, 2)
        return (
            draw_rows(options.scenes, SCENES_SEED, "train"),
            draw_rows(few, VALIDATION_SEED, "validation"),
            draw_rows(min(N_TEST_SCENES, options.scenes), TEST_SEED, "test"),
        )
    read = [
        read_rows(path, options.scale, options.image_folder) if path is not None else []
        for path in (options.rows, options.validation, options.test)
    ]
    if options.validation is None:
        read[0], read[1] = _split(read[0], options.seed)
    return read[0], read[1], read[2]


def _split(rows: Sequence[Rated], seed: int) -> tuple[list[Rated], list[Rated]]:
    """Split the rows into 90% and 10% of the images."""
    groups = list(dict.fromkeys(row.group for row in rows))
    if len(groups) < 2:
        raise UsageError.about("--rows", "must have rows of at least 2 images, got one", "or pass --validation")
    order = np.random.default_rng(seed).permutation(len(groups))
    held_out = {groups[number] for number in order[: max(1, len(groups) // 10)]}
    return [row for row in rows if row.group not in held_out], [row for row in rows if row.group in held_out]


def run(options: argparse.Namespace, say: Callable[[str], object]) -> None:
    """Read, encode, train, measure, and write all outputs."""
    check_options(options)
    check_packages("polos", PACKAGES, plot=options.plot)
    with one_training(options, MAIN_FILES, say):
        _run(options, say)


def _run(options: argparse.Namespace, say: Callable[[str], object]) -> None:
    sides = rows_of(options)
    device = resolve_device(options.device)
    clip = clip_encoder(options.backbone, **clip_options(options) | {"device": device})
    text = text_encoder_of(options.text_encoder, profile=options.profile, device=device, extra="train")
    counts = [len(side) for side in sides]
    say(f"{clip.row.name} and {text.identity} on {device}: {counts[0]} training rows, {counts[1]} validation rows")
    record = train_model(options, sides, clip, text, device, say)
    more = ', profile="embedded"' if options.profile == "embedded" else ""
    write_report(options, record, "polos", FIGURES, head=HEAD, more=more)


def train_model(
    options: argparse.Namespace,
    sides: Sequence[Sequence[Rated]],
    clip: ClipEncoder,
    text: AllLayersEncoder,
    device: str,
    say: Callable[[str], object],
) -> dict[str, Any]:
    """Train, keep the head of the best epoch, measure it on the test rows, and return the record.

    Returns:
        Values of the record by name: sources, numbers of rows, digest of the head, results, and facts of the epochs.
    """
    import torch

    training, validation = (material_of(side, clip, text, options.variant, device=device) for side in sides[:2])
    recipe = recipe_of(options)
    torch.manual_seed(recipe.seed)
    n_in = 4 * text.width + 6 * clip.row.embed_width
    network: Any = new_network(text.n_layers, n_in, options.hidden)
    about = {
        **metadata_of(clip.model.state_dict(), clip.architecture, text),
        "variant": options.variant,
        "profile": options.profile,
    }

    def keep() -> None:
        options.output.mkdir(parents=True, exist_ok=True)
        write_head(options.output / HEAD, head_of(tensors_of(network), about, "the network"), half=options.half)

    def run_epoch(optimizer: Any, epoch: int) -> Figures:
        return one_epoch(network, training, optimizer, recipe, epoch, options)

    def validated() -> Figures:
        scores, ratings = rate_rows(network, validation, recipe.batch_size)
        return {"validation_loss": float(np.mean((scores - ratings) ** 2)), "validation_tau_c": tau_c(scores, ratings)}

    data = _digest(options, sides[:2], about)
    state = train_epochs(network, recipe, run_epoch, validated, options, data=data, device=device, keep=keep, say=say)
    counts = dict(zip(("training_rows", "validation_rows", "test_rows"), map(len, sides), strict=True))
    head = read_head(options.output / HEAD)
    found = {"head": head.digest, **_measure_head(options, sides[2], clip, text, head, device)}
    for name, value in found.items():
        say(f"{name.replace('_', ' ')}: {value}")
    chosen = ("hidden", "dropout", "layer_dropout", "accumulate", "clip_norm")
    return {
        **about,
        "rows": str(options.rows.name) if options.rows else f"{options.scenes} synthetic scenes, simulated ratings",
        **counts,
        **found,
        **epoch_facts(state, {**asdict(recipe), **{name: getattr(options, name) for name in chosen}}),
    }


def one_epoch(
    network: Any, training: RatedMaterial, optimizer: Any, recipe: Recipe, epoch: int, options: argparse.Namespace
) -> Figures:
    """Train on all rows in a random order and return the mean squared error during the epoch."""
    import torch

    keeps = RandomKeeps(options.layer_dropout, options.dropout)
    # The order depends on seed and epoch alone, so that a resumed run uses the same order.
    order = np.random.default_rng([recipe.seed, epoch]).permutation(len(training.caption))
    batches = [order[start : start + recipe.batch_size] for start in range(0, len(order), recipe.batch_size)]
    total = 0.0
    for number, batch in enumerate(batches, 1):
        loss = compute_squared_error(training.scores(network, batch, keeps), training.ratings[batch])
        (loss / options.accumulate).backward()
        total += loss.item()
        if number % options.accumulate == 0 or number == len(batches):
            torch.nn.utils.clip_grad_norm_(network.parameters(), options.clip_norm)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    return {"training_loss": total / len(order)}


def rate_rows(network: Any, rows: RatedMaterial, batch_size: int) -> tuple[Floats, Floats]:
    """Compute the scores of rows without dropout.

    Returns:
        Scores and ratings, shape ``(n,)`` each, float64.
    """
    import torch

    every = np.arange(len(rows.caption))
    with torch.no_grad():
        parts = [
            rows.scores(network, every[start : start + batch_size], None).double().cpu().numpy()
            for start in range(0, len(every), batch_size)
        ]
    return np.concatenate(parts), rows.ratings.double().cpu().numpy()


def tau_c(scores: Floats, ratings: Floats) -> float:
    """Compute Kendall's tau-c of scores and ratings, shape ``(n,)`` each, range [-1, 1]. 0 if all ratings are equal."""
    if len(set(ratings.tolist())) < 2:
        return 0.0
    from scipy.stats import kendalltau  # slow to import

    return float(kendalltau(scores, ratings, variant="c").statistic)


def _measure_head(
    options: argparse.Namespace,
    rows: Sequence[Rated],
    clip: ClipEncoder,
    text: AllLayersEncoder,
    head: Head,
    device: str,
) -> dict[str, float]:
    """Measure the agreement of the stored head with the ratings of the test rows. Empty if there are no rows."""
    import torch

    if not rows:
        return {}
    test = material_of(rows, clip, text, options.variant, device=device)
    network: Any = new_network(len(head.scalars), head.matrices[0].shape[1], options.hidden).to(device)
    with torch.no_grad():
        network.scalars.copy_(torch.from_numpy(head.scalars))
        network.gamma.fill_(head.gamma)
        for linear, matrix, bias in zip(network.linear, head.matrices, head.biases, strict=True):
            linear.weight.copy_(torch.from_numpy(matrix))
            linear.bias.copy_(torch.from_numpy(bias))
    scores, ratings = rate_rows(network, test, options.batch_size)
    return {"test_loss": float(np.mean((scores - ratings) ** 2)), "test_tau_c": tau_c(scores, ratings)}


def _digest(options: argparse.Namespace, sides: Sequence[Sequence[Rated]], about: dict[str, str]) -> str:
    """Return a digest of rows, encoders and the settings that are not part of `Recipe`."""
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    names = ("hidden", "dropout", "layer_dropout", "accumulate", "clip_norm", "scale")
    digest.update(json.dumps([list(np.atleast_1d(getattr(options, name)).tolist()) for name in names]).encode())
    for row in (row for side in sides for row in side):
        digest.update(row.image.key + json.dumps([row.caption, row.references, row.rating]).encode())
    return digest.hexdigest()
