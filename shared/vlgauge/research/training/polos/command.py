"""Training of a head of Polos: rows, epochs, the test, and all outputs."""

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import kendalltau

from vlgauge.checkpoints.torch_runtime import resolve_device
from vlgauge.core.errors import UsageError
from vlgauge.models.clip.loading import ClipEncoder, clip_encoder
from vlgauge.models.hidden_layers import AllLayersEncoder
from vlgauge.models.rated.files import head_of, metadata_of, read_head, write_head
from vlgauge.models.rated.head import Head
from vlgauge.models.rated.models import text_encoder_of
from vlgauge.research.training.loop import Figures, train_epochs
from vlgauge.research.training.options import (
    clip_options,
    one_training,
    recipe_of,
)
from vlgauge.research.training.polos.network import (
    RatedMaterial,
    compute_squared_error,
    material_of,
    new_network,
    tensors_of,
)
from vlgauge.research.training.polos.options import DEFAULTS, PolosRecipe
from vlgauge.research.training.polos.ratings import Rated, draw_rows, read_rows
from vlgauge.research.training.report import RECORD, epoch_facts, write_report

Floats = npt.NDArray[np.float64]

N_TEST_SCENES = 300
# Seeds of the synthetic rows of training, validation and test, which belong to different splits.
SCENES_SEED, VALIDATION_SEED, TEST_SEED = 1, 2, 3
# Output files of a finished training with fixed names.
HEAD = "head.safetensors"
MAIN_FILES = (HEAD, RECORD, "README.md")

FIGURES = ("training_loss", "validation_loss", "validation_tau_c")


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
    training, validation = (material_of(side, clip, text, options.variant, device=device) for side in sides[:2])
    recipe = recipe_of(options, DEFAULTS)
    torch.manual_seed(recipe.seed)
    n_in = 4 * text.width + 6 * clip.row.embed_width
    dropout = {"layer_dropout": recipe.layer_dropout, "dropout": recipe.dropout}
    network: Any = new_network(text.n_layers, n_in, recipe.hidden, **dropout)
    about = {
        **metadata_of(clip.model.state_dict(), clip.architecture, text),
        "variant": options.variant,
        "profile": options.profile,
    }

    def keep() -> None:
        options.output.mkdir(parents=True, exist_ok=True)
        write_head(options.output / HEAD, head_of(tensors_of(network), about, "the network"), half=options.half)

    def run_epoch(optimizer: Any, epoch: int) -> Figures:
        return one_epoch(network, training, optimizer, recipe, epoch)

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
    return {
        **about,
        "rows": str(options.rows.name) if options.rows else f"{options.scenes} synthetic scenes, simulated ratings",
        **counts,
        **found,
        **epoch_facts(state, asdict(recipe)),
    }


def one_epoch(network: Any, training: RatedMaterial, optimizer: Any, recipe: PolosRecipe, epoch: int) -> Figures:
    """Train on all rows in a random order and return the mean squared error during the epoch."""
    network.train()
    # The order depends on seed and epoch alone, so that a resumed run uses the same order.
    order = np.random.default_rng([recipe.seed, epoch]).permutation(len(training.caption))
    batches = [order[start : start + recipe.batch_size] for start in range(0, len(order), recipe.batch_size)]
    total = 0.0
    for number, batch in enumerate(batches, 1):
        loss = compute_squared_error(training.scores(network, batch), training.ratings[batch])
        (loss / recipe.accumulate).backward()
        total += loss.item()
        if number % recipe.accumulate == 0 or number == len(batches):
            torch.nn.utils.clip_grad_norm_(network.parameters(), recipe.clip_norm)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    return {"training_loss": total / len(order)}


def rate_rows(network: Any, rows: RatedMaterial, batch_size: int) -> tuple[Floats, Floats]:
    """Compute the scores of rows without dropout.

    Returns:
        Scores and ratings, shape ``(n,)`` each, float64.
    """
    network.eval()
    every = np.arange(len(rows.caption))
    with torch.no_grad():
        parts = [
            rows.scores(network, every[start : start + batch_size]).double().cpu().numpy()
            for start in range(0, len(every), batch_size)
        ]
    return np.concatenate(parts), rows.ratings.double().cpu().numpy()


def tau_c(scores: Floats, ratings: Floats) -> float:
    """Compute Kendall's tau-c of scores and ratings, shape ``(n,)`` each, range [-1, 1]. 0 if all ratings are equal."""
    if len(set(ratings.tolist())) < 2:
        return 0.0
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
    """Return a digest of rows, their scale and encoders."""
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    digest.update(json.dumps(options.scale).encode())
    for row in (row for side in sides for row in side):
        digest.update(row.image.key + json.dumps([row.caption, row.references, row.rating]).encode())
    return digest.hexdigest()
