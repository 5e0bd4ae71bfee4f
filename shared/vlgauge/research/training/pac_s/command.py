"""Training of PAC-S weights: comparison with the base, and all outputs."""

import argparse
import hashlib
import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vlgauge.checkpoints.tensors import write_tensors
from vlgauge.core.errors import UsageError
from vlgauge.core.run_locks import exclusive_run
from vlgauge.models.clip.heads import adapter_of, heads_digest, write_adapter
from vlgauge.models.clip.loading import ClipEncoder, clip_encoder, clip_with_checkpoint
from vlgauge.research.training.loop import Progressed
from vlgauge.research.training.options import clip_options
from vlgauge.research.training.pac_s.data import (
    CaptionMaterial,
    Foil,
    all_batches,
    epoch_batches,
    material_of,
    test_pairs,
    training_rows,
)
from vlgauge.research.training.pac_s.learners import HeadLearner, Learner, TowerLearner, hidden_features
from vlgauge.research.training.pac_s.options import checkpoint_of
from vlgauge.research.training.pac_s.report import (
    WeightsComparison,
    comparison_line,
    comparisons,
    draw_curve,
    margins,
    write_card,
    write_log,
)
from vlgauge.research.training.pac_s.rounds import LOSS, train_learner
from vlgauge.research.training.row_files import MISSING

# Extensions of the other output files.
LOG, CARD, CURVE = ".log.jsonl", ".md", ".svg"
# Attributes that the command line adds to the options. The other tuples are settings that do not affect the result,
# and settings that may change when an interrupted training is resumed.
ADDED = ("words", "command", "recipe", "run")
UNTOLD_SETTINGS = (*ADDED, "out", "resume", "overwrite", "plot", "device", "feature_cache", "encode_batch_size")
# Options of a single call, which are left out of the command in the card.
ONCE = ("--resume", "--overwrite")
FREE_SETTINGS = (*UNTOLD_SETTINGS, "max_iterations")


def learner_of(options: argparse.Namespace, material: CaptionMaterial, encoder: ClipEncoder) -> Learner:
    """Build the learner that the options select.

    Raises:
        ValueError: If `--attention-pool` does not fit the backbone.
    """
    how: dict[str, Any] = {
        "weights": (options.image_weight, options.text_weight),
        "train_scale": options.train_scale,
    }
    if options.lora is not None:
        return TowerLearner(material, encoder, rank=options.lora, seed=options.seed, prompt=options.prompt, **how)
    if encoder.row.resnet != options.attention_pool:
        raise UsageError.about(
            "--attention-pool",
            "is required for a ResNet (0.4 MB of memory per image) and not supported for other backbones, got "
            f"{encoder.row.name}",
        )
    images, texts = hidden_features(encoder, material, options.prompt, options.encode_batch_size)
    visual: Any = encoder.model.visual
    pool = visual.attnpool if options.attention_pool else None
    return HeadLearner(material, images, texts, encoder.model.state_dict(), pool=pool, **how)


def fingerprint(options: argparse.Namespace, material: CaptionMaterial, encoder: ClipEncoder) -> str:
    """Return a digest of data, base and settings."""
    digest, m = hashlib.sha256(encoder.digest.encode()), material
    settings = {name: str(value) for name, value in vars(options).items() if name not in FREE_SETTINGS}
    digest.update(json.dumps(settings, sort_keys=True).encode())
    digest.update(b"".join(image.key for image in m.images))
    digest.update(json.dumps(m.texts).encode())
    for part in (m.image, m.caption, m.generated_image, m.generated_caption, m.group):
        digest.update(part.tobytes())
    return digest.hexdigest()


def train_model(
    options: argparse.Namespace, material: CaptionMaterial, encoder: ClipEncoder
) -> tuple[Learner, Progressed, str]:
    """Train and restore the best parameters.

    Returns:
        The learner with its best parameters, the progress, and the fingerprint.

    Raises:
        ValueError: If the validation loss never falls below the loss of the base.
    """
    learner = learner_of(options, material, encoder)
    identity = fingerprint(options, material, encoder)
    rows, held_out = material.train, material.validation
    batches = all_batches(rows, material.image[rows], material.group[rows], options.batch_size, options.seed)
    rng = np.random.default_rng(options.seed)
    dealt = epoch_batches(material.image[held_out], material.group[held_out], options.batch_size, rng, keep_rest=True)
    validation = [held_out[batch] for batch in dealt]
    log = options.out.with_suffix(LOG)
    state = train_learner(learner, batches, validation, options, identity, lambda now: write_log(log, now.rounds))
    if state.best == 0:
        # There is no better state to resume from. The log is kept.
        checkpoint_of(options.out).unlink(missing_ok=True)
        raise UsageError.about(
            "--learning-rate",
            f"must reduce the validation loss below the loss of the base ({state.rounds[0][LOSS]:.6f}), got no fall "
            f"in {state.rounds[-1]['iteration']} iterations",
            "no weights are written",
        )
    return learner, state, identity


def record_of(
    options: argparse.Namespace,
    command: str,
    learner: Learner,
    state: Progressed,
    base: ClipEncoder,
) -> dict[str, str]:
    """Return the facts about the training for the metadata and the card."""
    material = learner.material
    first, best, last = state.rounds[0], state.rounds[state.best], state.rounds[-1]
    rows = {"training": material.n_train, "validation": len(material.image) - material.n_train}
    generated = {
        "images": int(np.count_nonzero(material.generated_image != MISSING)),
        "captions": int(np.count_nonzero(material.generated_caption != MISSING)),
    }
    settings = {
        name: value
        for name, value in vars(options).items()
        if value is not None and name not in UNTOLD_SETTINGS and not (name.endswith("_column") and options.scenes)
    }
    return {
        "backbone": base.row.name,
        "architecture": base.architecture,
        "base_weights": base.digest,
        "base_projections_sha256": heads_digest(base.model.state_dict()),
        "rows": json.dumps(rows),
        "generated": json.dumps(generated),
        "recipe": json.dumps(settings, default=str),
        "scale": f"{learner.scale().item():.4f}, {'trained' if options.train_scale else 'from the base'}",
        "iterations": f"{last['iteration']}, weights of iteration {best['iteration']}",
        "validation_loss": f"{first[LOSS]:.6f} before, {best[LOSS]:.6f} after",
        "seconds": f"{last['seconds']:.0f}",
        "torch": torch.__version__,
        "command": command,
    }


def write_weights(path: Path, learner: Learner, metadata: dict[str, str]) -> None:
    """Write the adapter, or for low-rank updates the whole merged CLIP.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    if isinstance(learner, TowerLearner):
        write_tensors(path, learner.state(), metadata)
    else:
        write_adapter(path, adapter_of(learner.parameters, metadata))


def compare_weights(
    options: argparse.Namespace, foils: Sequence[Foil], encoder: ClipEncoder
) -> list[WeightsComparison]:
    """Compare the base with the written weights, which are loaded in the same way as in a metric."""
    after, adapter = clip_with_checkpoint(options.backbone, options.out, **clip_options(options))
    return comparisons(foils, margins(encoder, None, foils), margins(after, adapter, foils), options.seed)


def run(options: argparse.Namespace, say: Callable[[str], object]) -> None:
    """Train, compare, and write all outputs.

    Raises:
        ValueError: If a file is not valid, or the loss is not finite.
    """
    others = [checkpoint_of(options.out), *(options.out.with_suffix(end) for end in (LOG, CARD, CURVE))]
    with exclusive_run(options.out, "--out", folder=False, others=others):
        _run(options, say)


def _run(options: argparse.Namespace, say: Callable[[str], object]) -> None:
    encoder = clip_encoder(options.backbone, **clip_options(options))
    material = material_of(*training_rows(options))
    foils = test_pairs(options, material)
    learner, state, digest = train_model(options, material, encoder)
    command = shlex.join(["vlgauge", *(word for word in options.words if word not in ONCE)])
    facts = record_of(options, command, learner, state, encoder)
    metadata = {"kind": "pac_s", "w": "2.0", "training_sha256": digest, **facts}
    write_weights(options.out, learner, metadata)
    found = compare_weights(options, foils, encoder)
    metadata["comparison"] = json.dumps([asdict(comparison) for comparison in found])
    write_weights(options.out, learner, metadata)
    settings = {name: value for name, value in facts.items() if name != "command"}
    write_card(options.out.with_suffix(CARD), options.out.stem, command, settings, found)
    if options.plot:
        draw_curve(options.out.with_suffix(CURVE), state)
    checkpoint_of(options.out).unlink(missing_ok=True)
    say(f"{options.out}: {facts['iterations']}; validation loss {facts['validation_loss']}")
    for comparison in found:
        say(comparison_line(comparison))
